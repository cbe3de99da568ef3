//! What happens to old batches: they are merged and removed, but never while a hub could still rely on them.
#![allow(clippy::unwrap_used)]

mod support;

use std::time::Duration;

use mongodb::bson::doc;
use prom_store::{Bounds, Commit, CompactPlan, Dedupe, LogOptions, Logs, Store};
use prom_store_mongo::MongoOptions;
use support::{append, batches, collection, database, draft, log, open, open_with, read_all};

fn at_once(options: &mut MongoOptions) {
    options.times.keep_physically = Duration::ZERO;
}

#[tokio::test]
async fn small_batches_are_merged_and_everything_reads_as_before() {
    let url = database().await;
    let store = open_with(&url, at_once).await;
    let orders = log("orders");
    for n in 0..600 {
        store.commit(append(&orders, draft(&n.to_string()), Dedupe::Fresh)).await.unwrap();
    }
    let before = read_all(&store, &orders).await;
    assert_eq!(batches(&url).await, 600);
    store.sweep_now().await.unwrap();
    let merged = batches(&url).await;
    assert!(merged < 150, "{merged} batches are left");
    let fresh = open(&url).await;
    assert_eq!(read_all(&fresh, &orders).await, before);
    assert_eq!(read_all(&store, &orders).await, before);
    let next = fresh.commit(append(&orders, draft("next"), Dedupe::Window)).await.unwrap();
    assert_eq!(next.stored[0].offset, 600);
    let again = fresh.commit(append(&orders, draft("7"), Dedupe::Window)).await.unwrap();
    assert_eq!((again.stored[0].offset, again.stored[0].duplicate), (7, true), "merged ids are still known");
}

#[tokio::test]
async fn the_log_continues_where_it_ended_after_retention_removed_everything() {
    let url = database().await;
    let store = open_with(&url, at_once).await;
    let orders = log("orders");
    for n in 0..5 {
        store.commit(append(&orders, draft(&n.to_string()), Dedupe::Fresh)).await.unwrap();
    }
    store.trim(&orders, 5).await.unwrap();
    store.sweep_now().await.unwrap();
    assert_eq!(batches(&url).await, 0);
    let fresh = open(&url).await;
    assert_eq!(fresh.bounds(&orders).await.unwrap(), Bounds { start: 5, next: 5 });
    let next = fresh.commit(append(&orders, draft("next"), Dedupe::Window)).await.unwrap();
    assert_eq!(next.stored[0].offset, 5);
}

#[tokio::test]
async fn nothing_young_is_removed_merged_or_compacted() {
    let url = database().await;
    let store = open(&url).await;
    let states = log("states");
    let logs = vec![(states.clone(), LogOptions { compacted: true, versions: false })];
    store.commit(Commit { logs, ..Commit::default() }).await.unwrap();
    for n in 0..40 {
        let mut event = draft(&n.to_string());
        event.key = Some("same".to_owned());
        store.commit(append(&states, event, Dedupe::Fresh)).await.unwrap();
    }
    store.compact(&states, CompactPlan::everything(Duration::ZERO)).await.unwrap();
    store.trim(&states, 10).await.unwrap();
    store.sweep_now().await.unwrap();
    assert_eq!(batches(&url).await, 40, "nothing was merged or removed");
    assert_eq!(read_all(&store, &states).await.len(), 30);
}

#[tokio::test]
async fn people_find_events_in_the_view() {
    let url = database().await;
    let store = open(&url).await;
    let mut commit = Commit::default();
    for total in 0..3 {
        let mut event = draft(&total.to_string());
        event.payload = serde_json::json!({ "total": total }).into();
        event.key = Some(format!("customer-{total}"));
        commit.appends.extend(append(&log("orders"), event, Dedupe::Fresh).appends);
    }
    store.commit(commit).await.unwrap();
    let events = collection(&url, "events").await;
    let found = events.find_one(doc! { "topic": "orders", "payload.total": 2 }).await.unwrap().unwrap();
    assert_eq!(found.get_str("key").unwrap(), "customer-2");
    assert_eq!((found.get_i64("offset").unwrap(), found.get_i32("partition").unwrap()), (2, 0));
    assert!(found.get_i64("stored_ts").unwrap() > 0);
}

/// The document says where a log ended once its batches are gone. Without it, offsets would be given again.
#[tokio::test]
async fn a_log_without_its_document_is_not_trimmed_and_keeps_its_batches() {
    let url = database().await;
    let store = open_with(&url, at_once).await;
    let orders = log("orders");
    for n in 0..5 {
        store.commit(append(&orders, draft(&n.to_string()), Dedupe::Fresh)).await.unwrap();
    }
    collection(&url, "logs").await.delete_many(doc! {}).await.unwrap();
    let refused = store.trim(&orders, 3).await.unwrap_err();
    assert!(refused.to_string().contains("not trimmed"), "{refused}");
    assert_eq!(store.bounds(&orders).await.unwrap(), Bounds { start: 0, next: 5 });
}
