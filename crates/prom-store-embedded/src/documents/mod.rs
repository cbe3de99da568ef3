//! Everything that is not an event, as ordered keys and values: documents, cursors, what is known of
//! each log, the latest offset of each key, exact ids.
//!
//! ```text
//!   commit ──▶ overlay (memory: what changed since the checkpoint) ──checkpoint──▶ fjall database
//!                 ▲ reads look here first                                             ▲ then here
//! ```
//!
//! The journal makes changes durable; the database is only written at checkpoints, each as one atomic
//! batch that also says up to which frame it reaches. So it needs no log of its own and never holds
//! half a commit.

pub(crate) mod keys;
mod overlay;
mod renew;

use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use parking_lot::RwLock;
use prom_store::{Document, StoreError};

use crate::codec::{Put, Take};
use crate::disk::{Disk, create_private_dir};
use crate::fault::{documents as fault, io};
use overlay::Overlay;
pub(crate) use overlay::Writes;
pub(crate) use renew::renew;

/// Memory for blocks of the database; small, because recent changes are in the overlay.
const CACHE_BYTES: u64 = 8 << 20;
const MEMTABLE_BYTES: u64 = 8 << 20;
/// How many keys are looked up while changes wait.
const FORGET_AT_ONCE: usize = 64;

pub(crate) struct DocumentState {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    /// Gone once the store is closed, so that the directory is free although the store is still referred to.
    open: RwLock<Option<Open>>,
    overlay: RwLock<Overlay>,
}

#[derive(Clone)]
struct Open {
    database: Database,
    keys: Keyspace,
}

impl Open {
    fn new(disk: &dyn Disk, dir: &Path) -> Result<Self, StoreError> {
        // The database makes its files readable by everybody; the directory around them is not.
        create_private_dir(dir).map_err(io("making", dir))?;
        disk.renew_documents(dir).map_err(io("writing again the journal in", dir))?;
        let unusable = |error| {
            let dir = dir.display();
            fault(format!(
                "{dir} cannot be opened: {error}; if it is damaged, restore it from a copy or run `prom fsck --rebuild`"
            ))
        };
        let database = Database::builder(dir).cache_size(CACHE_BYTES).worker_threads(1).open().map_err(unusable)?;
        let options = || KeyspaceCreateOptions::default().max_memtable_size(MEMTABLE_BYTES);
        let keys = database.keyspace("state", options).map_err(fault)?;
        Ok(Self { database, keys })
    }
}

impl DocumentState {
    /// Whether a database was made in the directory. Opening makes one where there is none.
    pub(crate) fn is_there(dir: &Path) -> bool {
        dir.join("version").is_file()
    }

    pub(crate) fn open(disk: Arc<dyn Disk>, dir: &Path) -> Result<Self, StoreError> {
        let open = RwLock::new(Some(Open::new(&*disk, dir)?));
        Ok(Self { disk, dir: dir.to_path_buf(), open, overlay: RwLock::default() })
    }

    /// Closes the database and opens it again, as after a start. Readers wait meanwhile.
    pub(crate) fn reopen(&self) -> Result<(), StoreError> {
        let mut open = self.open.write();
        if open.take().is_some() {
            *open = Some(Open::new(&*self.disk, &self.dir)?);
        }
        Ok(())
    }

    pub(crate) fn close(&self) {
        *self.open.write() = None;
    }

    fn open_database(&self) -> Result<Open, StoreError> {
        self.open.read().clone().ok_or(StoreError::Closed)
    }

    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        if let Some(changed) = self.overlay.read().get(key) {
            return Ok(changed);
        }
        self.stored(key)
    }

    /// What the database has, which a change may have replaced.
    fn stored(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        let open = self.open.read();
        let keys = &open.as_ref().ok_or(StoreError::Closed)?.keys;
        let found = keys.get(key).map_err(fault)?;
        Ok(found.map(|value| Bytes::copy_from_slice(&value)))
    }

    /// The frame up to which everything is here; 0 before the first checkpoint.
    pub(crate) fn checkpoint(&self) -> Result<u64, StoreError> {
        let stored = self.get(keys::CHECKPOINT)?;
        Ok(stored.and_then(|bytes| Take::new(&bytes).u64().ok()).unwrap_or(0))
    }

    pub(crate) fn put(&self, key: Vec<u8>, value: Option<Bytes>) {
        self.overlay.write().put(key, value);
    }

    /// Several changes under one lock.
    pub(crate) fn put_all(&self, changes: impl IntoIterator<Item = (Vec<u8>, Option<Bytes>)>) {
        let mut overlay = self.overlay.write();
        changes.into_iter().for_each(|(key, value)| overlay.put(key, value));
    }

    /// Forgets each key that still has the value, in one step with looking: it may be written again at any moment.
    pub(crate) fn forget_unchanged(&self, known: &[(Vec<u8>, Bytes)]) -> Result<(), StoreError> {
        for known in known.chunks(FORGET_AT_ONCE) {
            let mut overlay = self.overlay.write();
            for (key, value) in known {
                let current = match overlay.get(key) {
                    Some(changed) => changed,
                    None => self.stored(key)?,
                };
                if current.as_ref() == Some(value) {
                    overlay.put(key.clone(), None);
                }
            }
        }
        Ok(())
    }

    /// Keys that begin with `prefix` and lie behind `after`, at most `limit`.
    pub(crate) fn scan(
        &self,
        prefix: &[u8],
        after: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<(Vec<u8>, Bytes)>, StoreError> {
        let from = after.map_or(Bound::Included(prefix.to_vec()), |after| Bound::Excluded(after.to_vec()));
        let changed = self.overlay.read().range(prefix, from.clone());
        let mut changed = changed.into_iter().peekable();
        let mut found = Vec::new();
        let open = self.open_database()?;
        let stored = open.keys.range::<Vec<u8>, _>((from, Bound::Unbounded));
        for guard in stored {
            let (key, value) = guard.into_inner().map_err(fault)?;
            if !key.starts_with(prefix) || found.len() >= limit {
                break;
            }
            let mut replaced = false;
            while let Some((next, change)) = changed.next_if(|(next, _)| next.as_slice() <= &key[..]) {
                replaced |= next.as_slice() == &key[..];
                found.extend(change.map(|value| (next, value)));
            }
            if !replaced {
                found.push((key.to_vec(), Bytes::copy_from_slice(&value)));
            }
        }
        if found.len() < limit {
            found.extend(changed.filter_map(|(key, change)| Some((key, change?))));
        }
        found.truncate(limit);
        Ok(found)
    }

    /// Takes what changed so far for a checkpoint; later changes go to the next one.
    pub(crate) fn begin_flush(&self) -> Writes {
        self.overlay.write().begin_flush()
    }

    /// Writes all of it and makes it durable, as one.
    pub(crate) fn flush(&self, writes: impl IntoIterator<Item = (Vec<u8>, Option<Bytes>)>) -> Result<(), StoreError> {
        let Open { database, keys } = self.open_database()?;
        let mut batch = database.batch();
        for (key, value) in writes {
            match value {
                Some(value) => batch.insert(&keys, key, &value[..]),
                None => batch.remove(&keys, key),
            }
        }
        batch.commit().map_err(fault)?;
        let mut sync = || database.persist(PersistMode::SyncAll).map_err(std::io::Error::other);
        self.disk.sync_documents(&self.dir, &mut sync).map_err(io("syncing", &self.dir))
    }

    /// The flush is durable: its changes need no memory any more.
    pub(crate) fn end_flush(&self) {
        self.overlay.write().end_flush();
    }

    pub(crate) fn document(&self, collection: &str, key: &str) -> Result<Option<Document>, StoreError> {
        let found = self.get(&keys::document(collection, key))?;
        found.map(|value| decode_document(key.to_owned(), value)).transpose()
    }

    pub(crate) fn documents(
        &self,
        collection: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Document>, StoreError> {
        let prefix = keys::document(collection, "");
        let after = after.map(|after| keys::document(collection, after));
        let found = self.scan(&prefix, after.as_deref(), limit)?;
        let decode = |(key, value): (Vec<u8>, Bytes)| {
            let key = String::from_utf8_lossy(&key[prefix.len()..]).into_owned();
            decode_document(key, value)
        };
        found.into_iter().map(decode).collect()
    }
}

/// A document as it is stored: revision, then the value.
pub(crate) fn encode_document(revision: u64, value: &[u8]) -> Bytes {
    let mut out = Vec::with_capacity(8 + value.len());
    out.put_u64(revision);
    out.extend_from_slice(value);
    out.into()
}

fn decode_document(key: String, stored: Bytes) -> Result<Document, StoreError> {
    let revision = Take::new(&stored).u64().map_err(fault)?;
    Ok(Document { key, revision, value: stored.slice(8..) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_written_while_its_old_value_is_forgotten_keeps_the_new_one() {
        let dir = tempfile::tempdir().unwrap();
        let state = DocumentState::open(Arc::new(crate::disk::RealDisk), dir.path()).unwrap();
        let (old, new) = (Bytes::from_static(b"old"), Bytes::from_static(b"new"));
        for round in 0..2_000u32 {
            let key = round.to_be_bytes().to_vec();
            state.put(key.clone(), Some(old.clone()));
            std::thread::scope(|scope| {
                scope.spawn(|| state.put(key.clone(), Some(new.clone())));
                state.forget_unchanged(&[(key.clone(), old.clone())]).unwrap();
            });
            assert_eq!(state.get(&key).unwrap(), Some(new.clone()), "round {round}");
        }
        state.forget_unchanged(&[(vec![0; 4], new.clone()), (vec![9], new)]).unwrap();
        assert_eq!(state.get(&[0; 4]).unwrap(), None);
    }
}
