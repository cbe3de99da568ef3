//! The primary is killed under load, twice, and comes back: nothing acknowledged is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use prom_store::{Commit, CommitError, Dedupe, EncodedEvent, LogName, Logs, Outcome, ReadLimit, Record, Store};
use prom_store_mongo::{MongoOptions, MongoStore};
use prom_testkit::mongo::ReplicaSet;
use prom_types::{EventId, Json, NewEvent, Offset, TopicName};

const PUBLISHERS: usize = 4;

fn log() -> LogName {
    LogName::new(TopicName::parse("orders").unwrap(), 0)
}

fn append(name: &str) -> Commit {
    let event = NewEvent::new(log().topic, Json::from_value(&name).unwrap());
    let encoded = EncodedEvent::encode(&event, EventId::derived(name), 0).unwrap();
    Commit::append(log(), encoded, Dedupe::Window)
}

/// Publishes until told to stop; returns the acknowledged events in order. An unknown outcome is retried with the same id.
async fn publish(store: Arc<MongoStore>, number: usize, stop: Arc<AtomicBool>) -> Vec<(EventId, Offset)> {
    let mut acknowledged = Vec::new();
    let mut count = 0;
    while !stop.load(Ordering::Relaxed) {
        let name = format!("{number}-{count}");
        match store.commit(append(&name)).await {
            Ok(committed) => {
                acknowledged.push((EventId::derived(&name), committed.stored[0].offset));
                count += 1;
            }
            Err(CommitError::Failed { outcome: Outcome::NotStored | Outcome::Unknown, .. }) => {}
            Err(other) => panic!("{other}"),
        }
    }
    acknowledged
}

async fn everything(store: &MongoStore) -> Vec<Record> {
    let (mut records, mut from) = (Vec::new(), 0);
    loop {
        let batch = store.read(&log(), from, ReadLimit::default()).await.unwrap();
        records.extend(batch.records);
        if batch.next >= batch.bounds.next {
            return records;
        }
        from = batch.next;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_acknowledged_is_lost_when_the_primary_is_killed_under_load_twice() {
    let mut set = ReplicaSet::start(3).await.unwrap();
    let mut stores = Vec::new();
    for _ in 0..2 {
        stores.push(MongoStore::open(&set.url("prom"), MongoOptions::default()).await.unwrap());
    }
    let stop = Arc::new(AtomicBool::new(false));
    let publishers: Vec<_> =
        (0..PUBLISHERS).map(|number| tokio::spawn(publish(stores[number % 2].clone(), number, stop.clone()))).collect();
    for _ in 0..2 {
        tokio::time::sleep(Duration::from_millis(1500)).await;
        let primary = set.primary().await.unwrap();
        set.members[primary].kill();
        // Publishing works under the next primary before the old one comes back.
        let before = stores[0].bounds(&log()).await.unwrap().next;
        set.primary().await.unwrap();
        until(async || stores[0].bounds(&log()).await.unwrap().next > before + 50).await;
        set.members[primary].restart().unwrap();
    }
    tokio::time::sleep(Duration::from_millis(1500)).await;
    stop.store(true, Ordering::Relaxed);
    let mut acknowledged = Vec::new();
    for publisher in publishers {
        let own = publisher.await.unwrap();
        assert!(own.is_sorted_by_key(|(_, offset)| *offset), "a publisher's events are out of order");
        acknowledged.extend(own);
    }
    let fresh = MongoStore::open(&set.url("prom"), MongoOptions::default()).await.unwrap();
    let records = everything(&fresh).await;
    assert!(records.iter().map(Record::offset).eq(0..records.len() as u64), "offsets have gaps or repeat");
    for (id, offset) in &acknowledged {
        assert_eq!(records[*offset as usize].id(), *id, "offset {offset} holds another event");
    }
    let mut ids: Vec<_> = records.iter().map(Record::id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), records.len(), "an event is there twice");
    eprintln!("{} acknowledged, {} stored", acknowledged.len(), records.len());
}

async fn until(condition: impl AsyncFn() -> bool) {
    let waiting = async {
        while !condition().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(90), waiting).await.expect("it did not happen");
}
