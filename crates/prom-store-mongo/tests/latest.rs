//! The latest event of each key, when the database refuses or lost a part of what was written about it.
#![allow(clippy::unwrap_used)]

mod support;

use std::time::Duration;

use mongodb::Client;
use mongodb::bson::{Document, doc};
use prom_store::{Commit, CompactPlan, Dedupe, LogName, LogOptions, Logs, Store};
use prom_store_mongo::{ACTIVE_BATCHES, MongoOptions, MongoStore};
use support::{append, collection, database, draft, log, open_with, read_all};

fn at_once(options: &mut MongoOptions) {
    options.times.keep_physically = Duration::ZERO;
}

async fn make_compacted(store: &MongoStore, log: &LogName) {
    let logs = vec![(log.clone(), LogOptions { compacted: true, versions: false })];
    store.commit(Commit { logs, ..Commit::default() }).await.unwrap();
}

async fn put(store: &MongoStore, log: &LogName, key: &str, value: &str) {
    let mut event = draft(value);
    event.key = Some(key.to_owned());
    store.commit(append(log, event, Dedupe::Fresh)).await.unwrap();
}

async fn latest(store: &MongoStore, log: &LogName, key: &str) -> Option<String> {
    let found = store.latest_by_key(log, &[key]).await.unwrap().remove(0);
    found.map(|record| record.payload().as_str().to_owned())
}

/// From now on the newest batches are others: compaction may rewrite those before.
async fn bury(store: &MongoStore, log: &LogName) {
    for n in 0..ACTIVE_BATCHES {
        put(store, log, "other", &n.to_string()).await;
    }
}

/// What the database accepts in `latest`, decided by the server itself.
async fn accept(url: &str, validator: Document) {
    let database = Client::with_uri_str(url).await.unwrap().default_database().unwrap();
    database.run_command(doc! { "collMod": "latest", "validator": validator }).await.unwrap();
}

#[tokio::test]
async fn a_latest_event_that_the_database_refuses_is_neither_forgotten_nor_compacted_away() {
    let url = database().await;
    let store = open_with(&url, at_once).await;
    let states = log("states");
    make_compacted(&store, &states).await;
    put(&store, &states, "a", "first").await;
    bury(&store, &states).await;
    store.compact(&states, CompactPlan::everything(Duration::ZERO)).await.unwrap();

    accept(&url, doc! { "event.payload": { "$ne": "second" } }).await;
    put(&store, &states, "a", "second").await;
    bury(&store, &states).await;
    let refused = store.compact(&states, CompactPlan::everything(Duration::ZERO)).await.unwrap_err().to_string();
    assert!(refused.contains("validation"), "{refused}");
    assert_eq!(latest(&store, &states, "a").await.as_deref(), Some("\"second\""));

    accept(&url, doc! {}).await;
    store.compact(&states, CompactPlan::everything(Duration::ZERO)).await.unwrap();
    assert_eq!(latest(&store, &states, "a").await.as_deref(), Some("\"second\""));
    let kept = read_all(&store, &states).await;
    let of_key: Vec<_> =
        kept.iter().filter(|record| record.key() == Some("a")).map(|record| record.payload()).collect();
    assert_eq!(of_key.iter().map(|payload| payload.as_str()).collect::<Vec<_>>(), ["\"second\""]);
}

#[tokio::test]
async fn compaction_removes_only_what_a_later_event_replaces() {
    let older = doc! { "$set": { "offset": 0i64 } };
    for lost in [Some(older), None] {
        let url = database().await;
        let store = open_with(&url, at_once).await;
        let states = log("states");
        make_compacted(&store, &states).await;
        put(&store, &states, "a", "first").await;
        put(&store, &states, "a", "second").await;
        bury(&store, &states).await;
        // All is young by now, so this only fills in the latest events.
        open_with(&url, |_| {}).await.compact(&states, CompactPlan::everything(Duration::ZERO)).await.unwrap();

        let entries = collection(&url, "latest").await;
        let of_key = doc! { "_id.key": "a" };
        match lost {
            Some(older) => drop(entries.update_one(of_key, older).await.unwrap()),
            None => drop(entries.delete_one(of_key).await.unwrap()),
        }
        store.compact(&states, CompactPlan::everything(Duration::ZERO)).await.unwrap();
        let kept = read_all(&store, &states).await;
        assert!(kept.iter().any(|record| record.payload().as_str() == "\"second\""), "the newest event is gone");
        assert_eq!(latest(&store, &states, "a").await.as_deref(), Some("\"second\""), "it is known again");
    }
}
