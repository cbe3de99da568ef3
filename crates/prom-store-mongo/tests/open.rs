//! Opening while the servers are not ready, and what an open store says when its data is taken away.
#![allow(clippy::unwrap_used)]

mod support;

use std::time::{Duration, Instant};

use mongodb::Client;
use prom_store::{Dedupe, Store, StoreError};
use prom_store_mongo::{MongoOptions, MongoStore};
use prom_testkit::mongo::ReplicaSet;
use support::{append, database, draft, log, open, soon};

async fn refusal(url: &str) -> String {
    match MongoStore::open(url, MongoOptions::default()).await {
        Err(error @ StoreError::Server { .. }) => error.to_string(),
        other => panic!("{:?}", other.map(drop)),
    }
}

#[tokio::test]
async fn a_set_that_was_never_initiated_is_refused_at_once_in_one_line() {
    let (_member, _folder, url) = ReplicaSet::not_initiated().await.unwrap();
    for url in [url.clone(), format!("{url}?replicaSet=prom")] {
        let begun = Instant::now();
        let said = soon(refusal(&url)).await;
        assert!(said.contains("rs.initiate()"), "{said}");
        assert!(said.lines().count() == 1 && !said.contains("Topology"), "{said}");
        assert!(begun.elapsed() < Duration::from_secs(4), "after {:?}", begun.elapsed());
    }
}

#[tokio::test]
async fn a_set_of_another_name_is_refused_at_once() {
    let set = ReplicaSet::start(1).await.unwrap();
    let begun = Instant::now();
    let said = soon(refusal(&set.url("prom").replace("replicaSet=prom", "replicaSet=other"))).await;
    assert!(said.contains("replicaSet"), "{said}");
    assert!(begun.elapsed() < Duration::from_secs(4), "after {:?}", begun.elapsed());
}

#[tokio::test]
async fn opening_waits_for_a_primary() {
    let mut set = ReplicaSet::start(3).await.unwrap();
    set.until_whole().await.unwrap();
    let primary = set.primary().await.unwrap();
    let others = [(primary + 1) % 3, (primary + 2) % 3];
    set.members[primary].kill();
    set.members[others[0]].kill();
    let url = format!("{}&serverSelectionTimeoutMS=300&heartbeatFrequencyMS=500", set.url("prom"));
    let opening = MongoStore::open(&url, MongoOptions::default());
    tokio::pin!(opening);
    let early = tokio::time::timeout(Duration::from_secs(3), &mut opening).await;
    assert!(early.is_err(), "it did not wait: {:?}", early.unwrap().map(drop));
    set.members[others[0]].restart().unwrap();
    let store = soon(opening).await.unwrap();
    assert_eq!(store.trouble(), None);
    store.commit(append(&log("orders"), draft("first"), Dedupe::Fresh)).await.unwrap();
}

#[tokio::test]
async fn a_store_whose_collections_are_gone_says_so_for_good() {
    for whole in [false, true] {
        let url = database().await;
        let store = open(&url).await;
        let orders = log("orders");
        store.commit(append(&orders, draft("first"), Dedupe::Fresh)).await.unwrap();
        assert_eq!(store.trouble(), None);
        let database = Client::with_uri_str(&url).await.unwrap().default_database().unwrap();
        if whole {
            database.drop().await.unwrap();
        } else {
            database.collection::<mongodb::bson::Document>("event_batches").drop().await.unwrap();
        }
        let trouble = soon(async {
            loop {
                match store.trouble() {
                    Some(trouble) => return trouble,
                    None => tokio::time::sleep(Duration::from_millis(5)).await,
                }
            }
        });
        assert!(trouble.await.contains("dropped"));
        // A write brings the collection back, but not what was in it.
        drop(store.commit(append(&orders, draft("second"), Dedupe::Fresh)).await);
        assert!(store.trouble().is_some());
        store.close().await.unwrap();
    }
}
