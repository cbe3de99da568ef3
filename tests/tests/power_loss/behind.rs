//! What lies behind the journal is never ahead of it, and the journal is freed only for what is durable behind it.

use std::sync::Arc;

use prom_store::{Commit, Dedupe, DocumentWrite, Documents, EncodedEvent, Expect, LogName, Logs, ReadLimit, Store};
use prom_store_embedded::{EmbeddedOptions, EmbeddedStore, Sizes, Sync};
use prom_testkit::{FailsOn, FaultScope, Faults, FaultyDisk, PowerLossDisk, Survival};
use prom_types::{EventId, Json, NewEvent, TopicName};

struct Machine {
    disk: PowerLossDisk,
    faults: Arc<Faults>,
    store: Arc<EmbeddedStore>,
}

impl Machine {
    async fn start(disk: PowerLossDisk, sync: Sync) -> Self {
        let (faulty, faults) = FaultyDisk::over(Arc::new(disk.clone()));
        let options =
            EmbeddedOptions { disk: Arc::new(faulty), sync, sizes: Sizes::tiny(), ..EmbeddedOptions::default() };
        let store = EmbeddedStore::open_with(disk.root(), options).await.unwrap();
        Self { disk, faults, store }
    }

    async fn lose_power(self, sync: Sync) -> Self {
        let found = self.disk.power_loss(Survival::Strict).unwrap();
        drop(self.store);
        Self::start(found, sync).await
    }
}

/// An event and a document with the same number, which belong together.
fn pair(number: u64) -> Commit {
    let event = NewEvent::new(log().topic, Json::from_value(&"x".repeat(300)).unwrap());
    let event = EncodedEvent::encode(&event, id(number), 0).unwrap();
    let document = DocumentWrite {
        collection: "numbers".into(),
        key: format!("{number:05}"),
        value: Some(b"{}".to_vec().into()),
        expect: Expect::Anything,
    };
    Commit { documents: vec![document], ..Commit::append(log(), event, Dedupe::Window) }
}

fn log() -> LogName {
    LogName::new(TopicName::parse("orders").unwrap(), 0)
}

fn id(number: u64) -> EventId {
    EventId::derived(&number.to_string())
}

/// How many events there are, and how many documents.
async fn count(store: &EmbeddedStore) -> (usize, usize) {
    let (mut events, mut from) = (0, 0);
    loop {
        let batch = store.read(&log(), from, ReadLimit::default()).await.unwrap();
        assert_eq!(batch.damage, None);
        events += batch.records.len();
        if batch.next >= batch.bounds.next {
            break;
        }
        from = batch.next;
    }
    (events, store.documents("numbers", None, usize::MAX).await.unwrap().len())
}

#[tokio::test]
async fn a_failed_sync_of_the_database_frees_no_journal_that_is_needed_later() {
    let machine = Machine::start(PowerLossDisk::new().unwrap(), Sync::Fsync).await;
    for number in 0..20 {
        machine.store.commit(pair(number)).await.unwrap();
        if number == 10 {
            machine.store.checkpoint().await.unwrap();
        }
    }
    machine.faults.fail_syncs(FaultScope::Documents, FailsOn::Nth(1));
    assert!(machine.store.checkpoint().await.is_err());
    // Many checkpoints, each of which frees journal files.
    for number in 20..400 {
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
        // Events are refused until a checkpoint has succeeded.
        while machine.store.commit(pair(number)).await.is_err() {
            assert!(std::time::Instant::now() < deadline, "refused for good");
            machine.store.checkpoint().await.ok();
        }
    }
    machine.store.checkpoint().await.unwrap();
    let machine = machine.lose_power(Sync::Fsync).await;
    assert_eq!(machine.store.damage(), []);
    assert_eq!(count(&machine.store).await, (400, 400));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_fsync_the_database_is_not_ahead_of_the_journal_after_a_power_loss() {
    let machine = Machine::start(PowerLossDisk::new().unwrap(), Sync::Os).await;
    machine.store.commit(pair(0)).await.unwrap();
    let (store, runtime) = (machine.store.clone(), tokio::runtime::Handle::current());
    // While the checkpoint is under way: its sync of the journal has just covered everything before.
    machine.faults.after_next_sync(FaultScope::Journal, move || {
        runtime.block_on(store.commit(pair(1))).unwrap();
    });
    machine.store.checkpoint().await.unwrap();
    assert_eq!(count(&machine.store).await, (2, 2));
    let machine = machine.lose_power(Sync::Os).await;
    let (events, documents) = count(&machine.store).await;
    assert_eq!(events, documents, "a commit is there whole or not at all");
    assert!(events >= 1, "what the checkpoint covered is there");
}
