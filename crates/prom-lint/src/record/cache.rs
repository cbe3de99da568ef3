//! Records by the contents of their files, so that a file that did not change is not parsed again.
//!
//! One file in a folder of its own. It is a cache: when it cannot be read, everything is parsed; when it cannot be written,
//! the next run parses again.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{xxh3_64_with_seed, xxh3_128};

use super::FileRecord;
use crate::limits;

const FILE: &str = "records.json";

/// Raised whenever a record of the same text may look different.
const VERSION: u32 = 2;

#[derive(Default, Serialize, Deserialize)]
struct Stored {
    /// Of the program and of what it looks for.
    version: u64,
    records: HashMap<String, FileRecord>,
}

pub struct RecordCache {
    folder: Option<PathBuf>,
    version: u64,
    before: HashMap<String, FileRecord>,
    used: Mutex<HashMap<String, FileRecord>>,
    hits: AtomicU64,
    misses: AtomicU64,
}

impl RecordCache {
    /// `folder` is `None` where nothing is kept. `looked_for` are the names of the calls that records hold.
    pub fn open<'n>(folder: Option<&Path>, looked_for: impl Iterator<Item = &'n String>) -> Self {
        let names = looked_for.fold(String::new(), |names, name| names + name + "\n");
        let version = xxh3_64_with_seed(format!("{}\n{names}", env!("CARGO_PKG_VERSION")).as_bytes(), VERSION.into());
        let stored = folder.and_then(|folder| std::fs::read(folder.join(FILE)).ok());
        let stored: Stored = stored.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        Self {
            folder: folder.map(Path::to_path_buf),
            version,
            before: if stored.version == version { stored.records } else { HashMap::new() },
            used: Mutex::new(HashMap::new()),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    pub fn get_or_read(&self, path: &Path, text: &str, read: impl FnOnce() -> FileRecord) -> FileRecord {
        if self.folder.is_none() {
            self.misses.fetch_add(1, Ordering::Relaxed);
            return read();
        }
        // The ending decides the dialect.
        let ending = path.extension().map_or(String::new(), |ending| ending.to_string_lossy().into_owned());
        let key = format!("{:032x}.{ending}", xxh3_128(text.as_bytes()));
        let record = match self.before.get(&key) {
            Some(record) => {
                self.hits.fetch_add(1, Ordering::Relaxed);
                record.clone()
            }
            None => {
                self.misses.fetch_add(1, Ordering::Relaxed);
                read()
            }
        };
        self.used.lock().unwrap_or_else(PoisonError::into_inner).insert(key, record.clone());
        record
    }

    /// How many records came from the cache, and how many were made.
    pub fn counts(&self) -> (u64, u64) {
        (self.hits.load(Ordering::Relaxed), self.misses.load(Ordering::Relaxed))
    }

    /// Keeps what was used, and of the rest as much as the limit allows. Nothing is written if nothing is new.
    pub fn save(self) -> std::io::Result<()> {
        let Some(folder) = &self.folder else {
            return Ok(());
        };
        if self.misses.load(Ordering::Relaxed) == 0 {
            return Ok(());
        }
        let mut records = self.used.into_inner().unwrap_or_else(PoisonError::into_inner);
        for (key, record) in self.before {
            if records.len() >= limits::CACHED_RECORDS {
                break;
            }
            records.entry(key).or_insert(record);
        }
        std::fs::create_dir_all(folder)?;
        let ignore = folder.join(".gitignore");
        if !ignore.exists() {
            std::fs::write(ignore, "*\n")?;
        }
        let bytes = serde_json::to_vec(&Stored { version: self.version, records })?;
        let unfinished = folder.join(format!("{FILE}.{}", std::process::id()));
        std::fs::write(&unfinished, bytes)?;
        std::fs::rename(unfinished, folder.join(FILE))
    }
}
