//! The latest event of each key, for logs that keep it.
//!
//! ```text
//!   { _id: { topic, partition, key }, offset, tombstone, event? }      the event only where the log is compacted
//! ```
//!
//! Filled after the appends: the log's `latest_upto` says how far. A lookup combines the filled part with the rest of
//! the log, so it is never behind.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use mongodb::bson::error::Error as NotBson;
use mongodb::bson::{RawArrayBuf, RawBson, RawDocument, RawDocumentBuf, doc, rawdoc};
use prom_store::{CommitError, LogName, NewestOfKey, ReadLimit, Record, StoreError};
use prom_types::Offset;

use crate::codec::{StoredBatch, event_document};
use crate::fault::{self, FailedWrite, unreadable};
use crate::limits::{LATEST_BEHIND, LATEST_BYTES, LATEST_FILL, LATEST_STATEMENTS};
use crate::log::{LogHandle, ensure_loaded, reload};
use crate::read::read;
use crate::shared::{MongoShared, all};
use crate::{command, queries};

/// The latest event of a key, as it is stored.
pub struct Latest {
    pub offset: Offset,
    pub is_tombstone: bool,
    /// Missing where only offsets are kept, and where retention removed it.
    pub record: Option<Record>,
}

/// The newest events of some keys as far as `upto`.
#[derive(Default)]
pub struct NewestKeys {
    pub upto: Offset,
    found: HashMap<String, NewestOfKey>,
    /// Too much of the log is not in `latest` yet.
    is_behind: bool,
}

pub async fn latest_by_key(
    shared: &Arc<MongoShared>,
    name: &LogName,
    keys: &[&str],
) -> Result<Vec<Option<Record>>, StoreError> {
    shared.check_open()?;
    let log = shared.log(name);
    ensure_loaded(shared, &log).await?;
    if !log.lock().options.keeps_latest() {
        return Err(StoreError::NotCompacted { log: name.clone() });
    }
    // Asked for no key: all that is to be known becomes so.
    if keys.is_empty() {
        fill(shared, &log).await?;
        return Ok(Vec::new());
    }
    let (found, _) = up_to_head(shared, &log, keys).await?;
    // Another hub filled in what has not come here yet.
    if found.values().any(|latest| latest.offset >= log.bounds().next) {
        reload(shared, &log).await?;
    }
    let start = log.bounds().start;
    let mut picked = Vec::with_capacity(keys.len());
    for key in keys {
        let live = found.get(*key).filter(|latest| latest.offset >= start && !latest.is_tombstone);
        picked.push(match live {
            Some(Latest { record: Some(record), .. }) => Some(record.clone()),
            Some(latest) => one(shared, name, latest.offset).await?,
            None => None,
        });
    }
    Ok(picked)
}

async fn one(shared: &Arc<MongoShared>, name: &LogName, offset: Offset) -> Result<Option<Record>, StoreError> {
    let batch = read(shared, name, offset, ReadLimit::from(1)).await?;
    Ok(batch.records.into_iter().find(|record| record.offset() == offset))
}

/// The newest events of these keys, for a commit that expects something of them. What is too far behind is filled in the
/// background.
pub async fn newest(shared: &Arc<MongoShared>, log: &Arc<LogHandle>, keys: &[&str]) -> Result<NewestKeys, StoreError> {
    let (keeps_latest, behind, next) = {
        let known = log.lock();
        let filled = known.latest_upto.max(known.bounds.start);
        (known.options.keeps_latest(), known.bounds.next.saturating_sub(filled), known.bounds.next)
    };
    if !keeps_latest {
        return Ok(NewestKeys { upto: next, ..NewestKeys::default() });
    }
    if behind > LATEST_BEHIND {
        fill_soon(shared, log);
        return Ok(NewestKeys { upto: next, is_behind: true, ..NewestKeys::default() });
    }
    let (found, upto) = up_to_head(shared, log, keys).await?;
    let from = log.lock().latest_from();
    let newest = |(key, latest): (String, Latest)| {
        (key, NewestOfKey { offset: latest.offset, is_tombstone: latest.is_tombstone })
    };
    let found = found.into_iter().filter(|(_, latest)| latest.offset >= from).map(newest).collect();
    Ok(NewestKeys { upto, found, is_behind: false })
}

impl NewestKeys {
    /// Fails where it is not known yet.
    pub fn get(&self, log: &LogName, key: &str) -> Result<Option<NewestOfKey>, CommitError> {
        if self.is_behind {
            return Err(CommitError::VersionsUnknown { log: log.clone() });
        }
        Ok(self.found.get(key).copied())
    }
}

/// The latest events of these keys, and up to which offset that is so.
async fn up_to_head(
    shared: &Arc<MongoShared>,
    log: &Arc<LogHandle>,
    keys: &[&str],
) -> Result<(HashMap<String, Latest>, Offset), StoreError> {
    loop {
        let upto = log.lock().latest_upto;
        let mut found = filled(shared, &log.name, keys).await?;
        let end = lay_over(shared, &log.name, upto, &mut found, keys).await?;
        let mut known = log.lock();
        if known.bounds.start <= upto {
            return Ok((found, end));
        }
        // Another hub trimmed what was to be laid over. It filled that in before.
        known.latest_upto = known.latest_upto.max(known.bounds.start);
    }
}

/// The entries of `latest` for these keys.
pub async fn filled(
    shared: &MongoShared,
    name: &LogName,
    keys: &[&str],
) -> Result<HashMap<String, Latest>, StoreError> {
    let mut found = HashMap::new();
    for keys in keys.chunks(LATEST_STATEMENTS) {
        let documents = shared
            .read(async || all(shared.collections.latest.find(queries::latest(name, keys).filter).await?).await)
            .await?;
        for document in documents {
            let (key, latest) =
                read_latest(&document).ok_or_else(|| unreadable(format!("a latest event of {name}")))?;
            found.insert(key, latest);
        }
    }
    Ok(found)
}

fn read_latest(document: &RawDocument) -> Option<(String, Latest)> {
    let key = document.get_document("_id").ok()?.get_str("key").ok()?.to_owned();
    let offset = document.get_i64("offset").ok()? as Offset;
    let record = match document.get_document("event") {
        Ok(event) => Some(StoredBatch::read_single(event)?),
        Err(_) => None,
    };
    let said = document.get_bool("tombstone").unwrap_or(false);
    let is_tombstone = record.as_ref().map_or(said, Record::is_tombstone);
    Some((key, Latest { offset, is_tombstone, record }))
}

async fn lay_over(
    shared: &Arc<MongoShared>,
    name: &LogName,
    upto: Offset,
    found: &mut HashMap<String, Latest>,
    keys: &[&str],
) -> Result<Offset, StoreError> {
    let keys: HashSet<&str> = keys.iter().copied().collect();
    let mut from = upto;
    loop {
        let batch = read(shared, name, from, LATEST_FILL).await?;
        for record in batch.records {
            let Some(key) = record.key().filter(|key| keys.contains(key)) else { continue };
            let (key, is_tombstone) = (key.to_owned(), record.is_tombstone());
            found.insert(key, Latest { offset: record.offset(), is_tombstone, record: Some(record) });
        }
        if batch.next >= batch.bounds.next {
            return Ok(batch.next);
        }
        from = batch.next;
    }
}

/// Fills in the background, one task per log at a time.
pub fn fill_soon(shared: &Arc<MongoShared>, log: &Arc<LogHandle>) {
    {
        let mut known = log.lock();
        if !known.options.keeps_latest() || known.filling_latest || known.latest_upto >= known.bounds.next {
            return;
        }
        known.filling_latest = true;
    }
    let (shared, log) = (shared.clone(), log.clone());
    shared.clone().runtime.spawn(async move {
        let _end = FillEnd(&log);
        match fill(&shared, &log).await {
            Ok(()) => {}
            Err(StoreError::Closed) => {}
            // Lookups still combine it with the rest of the log; the next append tries again.
            Err(error) => tracing::warn!(log = %log.name, %error, "the latest events could not be filled in"),
        }
    });
}

/// However filling ends, the next append can start it again.
struct FillEnd<'a>(&'a LogHandle);

impl Drop for FillEnd<'_> {
    fn drop(&mut self) {
        self.0.lock().filling_latest = false;
    }
}

/// Brings `latest` up to the head.
pub async fn fill(shared: &Arc<MongoShared>, log: &Arc<LogHandle>) -> Result<(), StoreError> {
    loop {
        let (from, next) = {
            let known = log.lock();
            (known.latest_upto.max(known.bounds.start), known.bounds.next)
        };
        if from >= next || shared.is_closed() {
            return Ok(());
        }
        let batch = read(shared, &log.name, from, LATEST_FILL).await?;
        let text = if log.lock().options.compacted { WithText::Yes } else { WithText::No };
        put(shared, &log.name, batch.records.iter(), text).await?;
        let upto = doc! { "$max": { "latest_upto": batch.next as i64 } };
        shared
            .read(|| async { shared.collections.logs.update_one(queries::log(&log.name).filter, upto.clone()).await })
            .await?;
        let mut known = log.lock();
        known.latest_upto = known.latest_upto.max(batch.next);
    }
}

/// Whether the event itself goes into `latest`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WithText {
    Yes,
    No,
}

/// Only newer events win, so filling twice, even from two hubs, changes nothing.
pub async fn put<'a>(
    shared: &MongoShared,
    name: &LogName,
    records: impl Iterator<Item = &'a Record>,
    text: WithText,
) -> Result<(), StoreError> {
    let mut newest: HashMap<&str, &Record> = HashMap::new();
    for record in records {
        if let Some(key) = record.key() {
            newest.insert(key, record);
        }
    }
    let (mut statements, mut count, mut bytes) = (RawArrayBuf::new(), 0, 0);
    for (key, record) in newest {
        let event = (text == WithText::Yes).then(|| event_document(record));
        let length = event.as_ref().map_or(0, Vec::len);
        if count == LATEST_STATEMENTS || bytes + length > LATEST_BYTES {
            update(shared, std::mem::take(&mut statements)).await?;
            (count, bytes) = (0, 0);
        }
        count += 1;
        bytes += length;
        let statement = statement(name, key, record, event);
        statements.push(statement.map_err(|_| unreadable(format!("an event of {name}")))?);
    }
    update(shared, statements).await
}

async fn update(shared: &MongoShared, statements: RawArrayBuf) -> Result<(), StoreError> {
    if statements.is_empty() {
        return Ok(());
    }
    let done = shared.read(|| async {
        let update = rawdoc! {
            "update": shared.collections.latest.name(),
            "updates": statements.clone(),
            "ordered": false,
            "writeConcern": { "w": "majority", "j": true },
        };
        match command::run(shared.collections.database.run_raw_command(update)).await {
            // Two hubs created an entry at once: the second finds that of the first.
            Err(error) if fault::of_write(&error) == FailedWrite::Duplicate => Err(fault::timed_out()),
            done => done,
        }
    });
    done.await.map(drop)
}

/// Replaces an older entry, creates a missing one, leaves a newer one alone.
fn statement(name: &LogName, key: &str, record: &Record, event: Option<Vec<u8>>) -> Result<RawDocumentBuf, NotBson> {
    let key = RawDocumentBuf::try_from(&queries::latest_key(name, key))?;
    let offset = record.offset() as i64;
    let is_newer = rawdoc! { "$lt": [{ "$ifNull": ["$offset", -1i64] }, offset] };
    let or_as_it_is = |value: RawBson, now: &str| rawdoc! { "$cond": [is_newer.clone(), { "$literal": value }, now] };
    let tombstone = or_as_it_is(record.is_tombstone().into(), "$tombstone");
    // An older event with its text must not stay beside the newer offset.
    let event = match event {
        Some(event) => or_as_it_is(RawDocumentBuf::from_bytes(event)?.into(), "$event"),
        None => rawdoc! { "$cond": [is_newer.clone(), "$$REMOVE", "$event"] },
    };
    let set = rawdoc! { "event": event, "tombstone": tombstone };
    let offset = rawdoc! { "offset": or_as_it_is(offset.into(), "$offset") };
    Ok(rawdoc! { "q": { "_id": key }, "u": [{ "$set": set }, { "$set": offset }], "upsert": true })
}

/// Forgets a key that has no event left.
pub async fn forget(shared: &MongoShared, name: &LogName, key: &str, offset: Offset) -> Result<(), StoreError> {
    let filter = || doc! { "_id": queries::latest_key(name, key), "offset": offset as i64 };
    shared.read(|| async { shared.collections.latest.delete_one(filter()).await }).await?;
    Ok(())
}
