//! The journal's thread commits, or a caller that is alone. Either way a caller's events keep their order, and what was
//! answered stays.

use std::sync::Arc;
use std::time::Duration;

use prom_store::{Commit, Dedupe, EncodedEvent, LogName, Logs, PendingCommit, ReadLimit, Store};
use prom_store_embedded::EmbeddedStore;
use prom_types::{EventId, NewEvent, Offset, TopicName};
use serde_json::json;
use tempfile::TempDir;

const CALLERS: u64 = 4;
const STEPS: u64 = 300;

fn log() -> LogName {
    LogName::new(TopicName::parse("orders.placed").expect("a name"), 0)
}

fn publish(store: &EmbeddedStore, number: u64) -> PendingCommit {
    let event = NewEvent::new(log().topic, json!({ "number": number }));
    let event = EncodedEvent::encode(&event, EventId::derived(&format!("event {number}")), 0).expect("a sound event");
    store.commit(Commit::append(log(), event, Dedupe::Fresh))
}

async fn offset(pending: PendingCommit) -> Offset {
    pending.await.expect("it is durable").stored[0].offset
}

/// Pauses of all lengths, so that callers are alone at times and in each other's way at others.
async fn call(store: Arc<EmbeddedStore>, caller: u64) -> Vec<Offset> {
    let mut offsets = Vec::new();
    for step in 0..STEPS {
        let (first, second) = (publish(&store, step * 2), publish(&store, step * 2 + 1));
        offsets.extend([offset(first).await, offset(second).await]);
        let pause = (step * 7 + caller * 13) % 40;
        tokio::time::sleep(Duration::from_micros(pause * pause)).await;
    }
    offsets
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_second_commit_never_overtakes_the_first_of_the_same_caller() {
    let dir = TempDir::new().unwrap();
    let store = EmbeddedStore::open(dir.path()).await.unwrap();
    let callers: Vec<_> = (0..CALLERS).map(|caller| tokio::spawn(call(store.clone(), caller))).collect();
    let mut all = Vec::new();
    for caller in callers {
        let offsets = caller.await.unwrap();
        assert!(offsets.is_sorted(), "{offsets:?}");
        all.extend(offsets);
    }
    all.sort_unstable();
    assert_eq!(all, (0..CALLERS * STEPS * 2).collect::<Vec<_>>());
    store.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn what_a_lone_caller_was_answered_is_there_after_closing_under_it() {
    let dir = TempDir::new().unwrap();
    for round in 1..=8 {
        let store = EmbeddedStore::open(dir.path()).await.unwrap();
        let before = store.bounds(&log()).await.unwrap().next;
        let caller = tokio::spawn({
            let store = store.clone();
            async move {
                let mut answered = 0;
                while publish(&store, answered).await.is_ok() {
                    answered += 1;
                }
                answered
            }
        });
        tokio::time::sleep(Duration::from_millis(round)).await;
        store.close().await.unwrap();
        let answered = caller.await.unwrap();
        drop(store);
        let store = EmbeddedStore::open(dir.path()).await.unwrap();
        let next = store.bounds(&log()).await.unwrap().next;
        assert_eq!(next, before + answered, "round {round}");
        let last = store.read(&log(), next.saturating_sub(1), ReadLimit::default()).await.unwrap();
        assert_eq!(last.records.len(), usize::from(next > 0));
        store.close().await.unwrap();
    }
}
