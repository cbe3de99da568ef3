//! Ids of events that retention and compaction removed: known for their window, and then no longer on the disk.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use prom_store::contract::TestClock;
use prom_store::{Commit, CompactPlan, Dedupe, EncodedEvent, LogName, LogOptions, Logs, Store, Stored};
use prom_store_embedded::{Drive, EmbeddedOptions, EmbeddedStore, Sizes};
use prom_types::limits::DEDUPE_WINDOW_MS;
use prom_types::{EventId, Json, NewEvent, TopicName};
use tempfile::TempDir;

const MINUTE: Duration = Duration::from_secs(60);
const WINDOW: Duration = Duration::from_millis(DEDUPE_WINDOW_MS.unsigned_abs());

struct Scene {
    dir: TempDir,
    clock: Arc<TestClock>,
}

impl Scene {
    fn new() -> Self {
        Self { dir: TempDir::new().unwrap(), clock: Arc::new(TestClock::new()) }
    }

    async fn open(&self) -> Arc<EmbeddedStore> {
        let options = EmbeddedOptions {
            clock: self.clock.clone(),
            drive: Drive::Inline,
            sizes: Sizes::tiny(),
            ..EmbeddedOptions::default()
        };
        EmbeddedStore::open_with(self.dir.path(), options).await.unwrap()
    }

    /// The files of the only log with one of these endings.
    fn files(&self, endings: &[&str]) -> usize {
        let has_ending = |path: &Path| endings.iter().any(|ending| path.extension().is_some_and(|end| end == *ending));
        let listed = std::fs::read_dir(self.dir.path().join("segments/0")).unwrap();
        listed.filter(|entry| has_ending(&entry.as_ref().unwrap().path())).count()
    }

    /// Ids of removed events are in files of this ending, also after a restart, until their window is over.
    async fn knows_them_for_the_window(&self, store: Arc<EmbeddedStore>, ending: &str) {
        assert!(self.files(&[ending]) > 1);
        drop(store);
        let store = self.open().await;
        for number in [0, 77, 199] {
            assert!(publish(&store, number).await.duplicate, "{number} is stored again");
        }
        self.clock.advance(WINDOW + MINUTE);
        assert!(!publish(&store, 77).await.duplicate);
        store.checkpoint().await.unwrap();
        assert_eq!(self.files(&[ending]), 0);
    }
}

fn log() -> LogName {
    LogName::new(TopicName::parse("states").unwrap(), 0)
}

async fn publish(store: &EmbeddedStore, number: u64) -> Stored {
    let mut event = NewEvent::new(log().topic, Json::from_value(&"·".repeat(100)).unwrap());
    event.key = Some(format!("k{}", number % 3));
    let event = EncodedEvent::encode(&event, EventId::derived(&number.to_string()), 0).unwrap();
    store.commit(Commit::append(log(), event, Dedupe::Window)).await.unwrap().stored[0]
}

#[tokio::test]
async fn ids_that_retention_removed_leave_the_disk_after_their_window() {
    let scene = Scene::new();
    let store = scene.open().await;
    for number in 0..200 {
        publish(&store, number).await;
    }
    store.trim(&log(), 200).await.unwrap();
    assert_eq!(scene.files(&["seg", "idx", "ids"]), 0, "the events take no room");
    scene.knows_them_for_the_window(store, "trimmed").await;
}

#[tokio::test]
async fn ids_that_compaction_removed_leave_the_disk_after_their_window() {
    let scene = Scene::new();
    let store = scene.open().await;
    let logs = vec![(log(), LogOptions { compacted: true, versions: false })];
    store.commit(Commit { logs, ..Commit::default() }).await.unwrap();
    for number in 0..200 {
        publish(&store, number).await;
    }
    let report = store.compact(&log(), CompactPlan::everything(MINUTE)).await.unwrap();
    assert!(report.events_after < 100, "{report:?}");
    scene.knows_them_for_the_window(store, "compacted").await;
}

#[tokio::test]
async fn an_id_that_came_again_after_its_window_is_known_by_its_newer_event() {
    let scene = Scene::new();
    let store = scene.open().await;
    publish(&store, 0).await;
    scene.clock.advance(WINDOW + MINUTE);
    let newer = publish(&store, 0).await;
    assert!(!newer.duplicate);
    for number in 1..100 {
        publish(&store, number).await;
    }
    store.checkpoint().await.unwrap();
    drop(store);
    let store = scene.open().await;
    let again = publish(&store, 0).await;
    assert_eq!((again.duplicate, again.offset), (true, newer.offset));
}
