//! Cursors: one document each, changed by compare-and-set, fenced by their epoch.
//!
//! ```text
//!   { _id: "topic::partition::group", topic, partition, group, epoch, version, floor,
//!     above: [[from, to]…], failures: [{ attempts, returns, reason, offsets: [[from, to]…] }…], deleted_at? }
//! ```
//!
//! `version` grows with every write; a writer compares it with the one it read. A deleted cursor keeps its epoch for
//! some days, so that an earlier holder cannot settle in a new cursor of the same name.

use std::sync::Arc;

use hashbrown::HashMap;
use mongodb::ClientSession;
use mongodb::bson::{Bson, DateTime, Document, RawDocument, RawDocumentBuf, doc};
use mongodb::options::ReturnDocument;
use parking_lot::Mutex;
use prom_store::{CommitError, Committed, CursorChange, CursorName, CursorState, LogName, Outcome, StoreError};
use prom_types::{GroupName, Offset, TopicName};
use tokio::time::Instant;

use crate::codec::{read_failures, read_ranges, whole, write_failures};
use crate::commit::{TransactionError, WaitingCommit};
use crate::fault::{self, FailedWrite, unreadable};
use crate::limits::CACHED_CURSORS;
use crate::log::ensure_loaded;
use crate::queries;
use crate::shared::{MongoShared, RetryPause, all, commit_error};

/// A cursor as it is stored.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StoredCursor {
    state: CursorState,
    /// 0: there is no document.
    version: i64,
    is_deleted: bool,
}

/// The cursors that this store changed last.
#[derive(Default)]
pub struct CursorCache(Mutex<HashMap<CursorName, StoredCursor>>);

impl CursorCache {
    /// Out of the cache: a cursor may be large, and what a failed write left of it must not be found.
    fn take(&self, name: &CursorName) -> Option<StoredCursor> {
        self.0.lock().remove(name)
    }

    fn put(&self, name: &CursorName, stored: StoredCursor) {
        let mut cached = self.0.lock();
        if cached.len() >= CACHED_CURSORS {
            cached.clear();
        }
        cached.insert(name.clone(), stored);
    }
}

impl StoredCursor {
    fn exists(&self) -> bool {
        self.version > 0 && !self.is_deleted
    }

    /// Applies a change, or says why not and changes nothing. Returns whether there is something to write.
    fn apply(&mut self, name: &CursorName, change: &CursorChange) -> Result<bool, CommitError> {
        match change {
            CursorChange::Create { .. } if self.exists() => return Ok(false),
            CursorChange::Create { floor } => self.begin(self.state.epoch, *floor),
            CursorChange::Reset { floor } if self.exists() => self.begin(self.state.epoch + 1, *floor),
            CursorChange::Reset { floor } => self.begin(self.state.epoch, *floor),
            CursorChange::Delete if self.exists() => {
                self.begin(self.state.epoch + 1, 0);
                self.is_deleted = true;
            }
            CursorChange::Delete => return Ok(false),
            CursorChange::Settle { epoch, .. } if !self.exists() || *epoch != self.state.epoch => {
                return Err(CommitError::Fenced { cursor: name.clone(), given: *epoch, current: self.state.epoch });
            }
            CursorChange::Settle { settled, failures, .. } => self.state.apply(settled, failures),
        }
        Ok(true)
    }

    fn begin(&mut self, epoch: u64, floor: Offset) {
        self.state = CursorState { epoch, ..CursorState::at(floor) };
        self.is_deleted = false;
        // The cursor exists from now on.
        self.version = self.version.max(1);
    }

    fn document(&self, name: &CursorName) -> Document {
        let above: Vec<Bson> =
            self.state.above.iter().map(|range| vec![range.start as i64, range.end as i64].into()).collect();
        let mut document = doc! {
            "_id": name.to_string(),
            "topic": name.log.topic.as_str(),
            "partition": name.log.partition as i32,
            "group": name.group.as_str(),
            "epoch": self.state.epoch as i64,
            "version": self.version,
            "floor": self.state.floor as i64,
            "above": above,
            "failures": write_failures(name, &self.state.failures),
        };
        if self.is_deleted {
            document.insert("deleted_at", DateTime::now());
        }
        document
    }

    fn read(document: &RawDocument) -> Option<Self> {
        let mut state = CursorState::at(document.get_i64("floor").ok()? as Offset);
        state.epoch = whole(document.get("epoch").ok()??)? as u64;
        for range in read_ranges(document.get_array("above").ok()?) {
            state.above.insert(range?);
        }
        state.failures = read_failures(document.get_array("failures").ok()?)?;
        let version = whole(document.get("version").ok()??)?;
        Some(Self { state, version, is_deleted: document.get("deleted_at").ok()?.is_some() })
    }
}

fn read_or_none(name: &CursorName, document: Option<RawDocumentBuf>) -> Result<StoredCursor, StoreError> {
    match document {
        Some(document) => StoredCursor::read(&document).ok_or_else(|| unreadable(format!("cursor {name}"))),
        None => Ok(StoredCursor::default()),
    }
}

/// One turn of a cursor's lane: everything that waits becomes one write.
pub async fn change(shared: &MongoShared, name: &CursorName, waiting: Vec<WaitingCommit>) {
    let deadline = Instant::now() + shared.options.times.commit;
    let mut pause = RetryPause::default();
    let mut outcome = Outcome::NotStored;
    let failure = loop {
        let mut cursor = match current(shared, name).await {
            Ok(cursor) => cursor,
            Err(error) => break commit_error(error),
        };
        let version = cursor.version;
        let (is_changed, answers) = apply_each(&mut cursor, name, &waiting);
        if !is_changed {
            return answer(shared, waiting, answers);
        }
        match replace(shared, name, version, cursor).await {
            Ok(Replaced::Done) => return answer(shared, waiting, answers),
            Ok(Replaced::ByAnother) => {}
            Err(error) => {
                let failed = fault::of_write(&error);
                if failed == FailedWrite::Unknown {
                    outcome = Outcome::Unknown;
                }
                if failed == FailedWrite::Refused || Instant::now() >= deadline {
                    break fault::commit_failed(&error, outcome);
                }
                pause.wait().await;
            }
        }
    };
    waiting.into_iter().for_each(|waiting| shared.lanes.answer(waiting, Err(failure.clone())));
}

type Answers = Vec<Result<Committed, CommitError>>;

/// Each commit as a whole or not at all. Says whether there is something to write.
fn apply_each(cursor: &mut StoredCursor, name: &CursorName, waiting: &[WaitingCommit]) -> (bool, Answers) {
    let mut is_changed = false;
    let mut answers = Answers::new();
    for waiting in waiting {
        let applied = match waiting.commit.cursors.as_slice() {
            [(_, change)] => cursor.apply(name, change),
            changes => {
                let mut tried = cursor.clone();
                let applied =
                    changes.iter().try_fold(false, |before, (_, change)| Ok(tried.apply(name, change)? | before));
                if applied.is_ok() {
                    *cursor = tried;
                }
                applied
            }
        };
        is_changed |= applied == Ok(true);
        answers.push(applied.map(|_| Committed::default()));
    }
    (is_changed, answers)
}

fn answer(shared: &MongoShared, waiting: Vec<WaitingCommit>, answers: Answers) {
    for (waiting, answer) in waiting.into_iter().zip(answers) {
        shared.lanes.answer(waiting, answer);
    }
}

async fn current(shared: &MongoShared, name: &CursorName) -> Result<StoredCursor, StoreError> {
    match shared.cursors.take(name) {
        Some(cached) => Ok(cached),
        None => stored(shared, name).await,
    }
}

async fn stored(shared: &MongoShared, name: &CursorName) -> Result<StoredCursor, StoreError> {
    let id = name.to_string();
    let found =
        shared.read(|| async { shared.collections.cursors.find_one(queries::cursor(&id).filter).await }).await?;
    read_or_none(name, found)
}

enum Replaced {
    Done,
    /// Read it again.
    ByAnother,
}

async fn replace(
    shared: &MongoShared,
    name: &CursorName,
    version: i64,
    mut after: StoredCursor,
) -> Result<Replaced, mongodb::error::Error> {
    after.version = version + 1;
    let document = RawDocumentBuf::try_from(&after.document(name))?;
    let cursors = &shared.collections.cursors;
    let begun = Instant::now();
    let is_done = match version {
        0 => match shared.call(async { cursors.insert_one(&document).await }).await {
            Ok(_) => true,
            Err(error) if fault::of_write(&error) == FailedWrite::Duplicate => false,
            Err(error) => return Err(error),
        },
        version => {
            let filter = doc! { "_id": name.to_string(), "version": version };
            let replaced = shared.call(async { cursors.replace_one(filter, &document).await }).await?;
            replaced.matched_count == 1
        }
    };
    if !is_done {
        return Ok(Replaced::ByAnother);
    }
    shared.sync_ms.record(begun.elapsed());
    shared.cursors.put(name, after);
    Ok(Replaced::Done)
}

/// The changes of a commit inside its transaction.
pub async fn change_within(
    shared: &MongoShared,
    session: &mut ClientSession,
    changes: &[(CursorName, CursorChange)],
) -> Result<(), TransactionError> {
    let mut states: HashMap<&CursorName, StoredCursor> = HashMap::new();
    for (name, change) in changes {
        if !states.contains_key(name) {
            drop(shared.cursors.take(name));
            let query = queries::cursor(&name.to_string());
            let found = shared.collections.cursors.find_one(query.filter).session(&mut *session).await?;
            let stored = read_or_none(name, found).map_err(|error| TransactionError::Refused(commit_error(error)))?;
            states.insert(name, stored);
        }
        if let Some(state) = states.get_mut(name) {
            state.apply(name, change).map_err(TransactionError::Refused)?;
        }
    }
    for (name, mut state) in states {
        // A cursor that never existed was deleted: nothing to write.
        if state.version == 0 {
            continue;
        }
        state.version += 1;
        let document = RawDocumentBuf::try_from(&state.document(name)).map_err(mongodb::error::Error::from)?;
        let filter = doc! { "_id": name.to_string() };
        shared.collections.cursors.replace_one(filter, &document).upsert(true).session(&mut *session).await?;
    }
    Ok(())
}

pub async fn take_cursor(
    shared: &Arc<MongoShared>,
    name: &CursorName,
    floor_if_new: Offset,
) -> Result<CursorState, StoreError> {
    shared.check_open()?;
    // A taker reads the log next.
    let log = shared.log(&name.log);
    ensure_loaded(shared, &log).await?;
    let begun = log.lock().begun;
    let id = name.to_string();
    let update = take_over(name, floor_if_new.max(begun));
    let taken = shared
        .read(|| async {
            let take = shared.collections.cursors.find_one_and_update(doc! { "_id": &id }, update.clone());
            let taken = take.upsert(true).return_document(ReturnDocument::After).await;
            match taken {
                // Two hubs created it at once: the second takes it from the first.
                Err(error) if fault::of_write(&error) == FailedWrite::Duplicate => Err(fault::timed_out()),
                taken => taken,
            }
        })
        .await?;
    let stored = read_or_none(name, taken)?;
    shared.cursors.put(name, stored.clone());
    Ok(stored.state)
}

/// Raises the epoch and keeps the rest, or starts at the floor; one atomic step on the server.
fn take_over(name: &CursorName, floor_if_new: Offset) -> Vec<Document> {
    let is_there = doc! { "$and": [
        { "$ne": [{ "$type": "$version" }, "missing"] },
        { "$eq": [{ "$type": "$deleted_at" }, "missing"] },
    ] };
    let kept_or = |field: &str, new: Bson| doc! { "$cond": [is_there.clone(), field, { "$literal": new }] };
    let one_more = |field: &str| doc! { "$add": [{ "$ifNull": [field, 0i64] }, 1i64] };
    let set = doc! {
        "topic": name.log.topic.as_str(),
        "partition": name.log.partition as i32,
        "group": name.group.as_str(),
        "epoch": one_more("$epoch"),
        "version": one_more("$version"),
        "floor": kept_or("$floor", (floor_if_new as i64).into()),
        "above": kept_or("$above", Bson::Array(Vec::new())),
        "failures": kept_or("$failures", Bson::Array(Vec::new())),
    };
    vec![doc! { "$set": set }, doc! { "$unset": "deleted_at" }]
}

pub async fn cursor(shared: &MongoShared, name: &CursorName) -> Result<Option<CursorState>, StoreError> {
    shared.check_open()?;
    let stored = stored(shared, name).await?;
    Ok(stored.exists().then_some(stored.state))
}

pub async fn cursors(
    shared: &MongoShared,
    topic: Option<&TopicName>,
) -> Result<Vec<(CursorName, CursorState)>, StoreError> {
    shared.check_open()?;
    let documents = shared
        .read(async || {
            let query = queries::cursors(topic);
            all(shared.collections.cursors.find(query.filter).sort(query.sort).await?).await
        })
        .await?;
    let mut found = Vec::new();
    for document in documents {
        let named = named(&document).zip(StoredCursor::read(&document));
        let (name, stored) = named.ok_or_else(|| unreadable(format!("cursor {:?}", document.get("_id"))))?;
        if stored.exists() {
            found.push((name, stored.state));
        }
    }
    Ok(found)
}

fn named(document: &RawDocument) -> Option<CursorName> {
    let topic = TopicName::parse(document.get_str("topic").ok()?).ok()?;
    let group = GroupName::parse(document.get_str("group").ok()?).ok()?;
    let partition = u32::try_from(document.get_i32("partition").ok()?).ok()?;
    Some(CursorName::new(LogName::new(topic, partition), group))
}
