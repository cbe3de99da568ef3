//! A store on a faulty disk in a real directory, and helpers for the tests.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use prom_store::{
    Commit, CommitError, CursorChange, CursorName, Cursors, Damage, Dedupe, EncodedEvent, LogName, Logs, ReadLimit,
    Store, StoreError,
};
use prom_store_embedded::{Disk, EmbeddedOptions, EmbeddedStore, RealDisk, Sizes};
use prom_testkit::{Faults, FaultyDisk};
use prom_types::{EventId, GroupName, Json, NewEvent, Offset, TopicName};
use tempfile::TempDir;

const PAYLOAD_BYTES: usize = 300;
const DEADLINE: Duration = Duration::from_secs(20);

pub struct FaultScene {
    pub dir: TempDir,
    pub disk: Arc<dyn Disk>,
    pub faults: Arc<Faults>,
}

impl FaultScene {
    pub fn new() -> Self {
        let (disk, faults) = FaultyDisk::over(Arc::new(RealDisk));
        Self { dir: TempDir::new().unwrap(), disk: Arc::new(disk), faults }
    }

    pub async fn open(&self) -> Arc<EmbeddedStore> {
        self.try_open().await.unwrap()
    }

    pub async fn try_open(&self) -> Result<Arc<EmbeddedStore>, StoreError> {
        let options = EmbeddedOptions { disk: self.disk.clone(), sizes: Sizes::tiny(), ..EmbeddedOptions::default() };
        EmbeddedStore::open_with(self.dir.path(), options).await
    }

    /// Files below the directory whose names have this ending, in order.
    pub fn files(&self, below: &str, ending: &str) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut waiting = vec![self.dir.path().join(below)];
        while let Some(dir) = waiting.pop() {
            for entry in std::fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    waiting.push(path);
                } else if path.to_string_lossy().ends_with(ending) {
                    found.push(path);
                }
            }
        }
        found.sort();
        found
    }
}

pub fn log() -> LogName {
    LogName::new(TopicName::parse("orders").unwrap(), 0)
}

pub fn cursor() -> CursorName {
    CursorName::new(log(), GroupName::parse("billing").unwrap())
}

pub fn id(number: u64) -> EventId {
    EventId::derived(&number.to_string())
}

pub async fn publish(store: &EmbeddedStore, number: u64) -> Result<Offset, CommitError> {
    let payload = format!("\"{}\"", "x".repeat(PAYLOAD_BYTES));
    let event = NewEvent::new(log().topic, Json::trusted(payload.into()));
    let event = EncodedEvent::encode(&event, id(number), 0).unwrap();
    let committed = store.commit(Commit::append(log(), event, Dedupe::Window)).await?;
    Ok(committed.stored[0].offset)
}

pub async fn publish_all(store: &EmbeddedStore, numbers: std::ops::Range<u64>) {
    for number in numbers {
        publish(store, number).await.unwrap();
    }
}

/// Publishes until one is refused; returns the accepted numbers, and why the next was refused.
pub async fn publish_until_refused(store: &EmbeddedStore, from: u64) -> (Vec<u64>, CommitError) {
    let started = Instant::now();
    let mut taken = Vec::new();
    for number in from.. {
        match publish(store, number).await {
            Ok(_) => taken.push(number),
            Err(refused) => return (taken, refused),
        }
        assert!(started.elapsed() < DEADLINE, "nothing was refused after {number}");
    }
    unreachable!("numbers do not end")
}

/// Publishes until it is accepted again.
pub async fn publish_until_taken(store: &EmbeddedStore, number: u64) -> Offset {
    let started = Instant::now();
    loop {
        match publish(store, number).await {
            Ok(offset) => return offset,
            Err(refused) => assert!(started.elapsed() < DEADLINE, "still refused: {refused}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

pub async fn settle(store: &EmbeddedStore, offset: Offset) -> Result<(), CommitError> {
    let state = store.cursor(&cursor()).await.unwrap();
    let epoch = state.map_or(0, |state| state.epoch);
    let range = offset..offset + 1;
    let change = CursorChange::Settle { epoch, settled: vec![range], failures: Vec::new() };
    store.commit(Commit::cursor(cursor(), change)).await.map(|_| ())
}

pub struct Everything {
    pub ids: Vec<EventId>,
    pub offsets: Vec<Offset>,
    pub damage: Vec<Damage>,
}

pub async fn read_all(store: &EmbeddedStore) -> Everything {
    let mut all = Everything { ids: Vec::new(), offsets: Vec::new(), damage: Vec::new() };
    let mut from = 0;
    loop {
        let batch = store.read(&log(), from, ReadLimit::default()).await.unwrap();
        all.ids.extend(batch.records.iter().map(|record| record.id()));
        all.offsets.extend(batch.records.iter().map(|record| record.offset()));
        all.damage.extend(batch.damage);
        if batch.next >= batch.bounds.next {
            return all;
        }
        assert!(batch.next > from, "reading makes no progress at {from}");
        from = batch.next;
    }
}

/// All of these are there, once, in order; others may be between them only if allowed.
pub fn assert_holds(found: &Everything, numbers: &[u64]) {
    let expected: Vec<_> = numbers.iter().map(|number| id(*number)).collect();
    let kept: Vec<_> = found.ids.iter().filter(|id| expected.contains(id)).copied().collect();
    assert_eq!(kept, expected, "acknowledged events are there, once, in order");
}
