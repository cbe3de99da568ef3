//! Opening while the servers are not ready, and what an open store says when its data is taken away.
#![allow(clippy::unwrap_used)]

mod support;

use std::time::{Duration, Instant};

use mongodb::bson::doc;
use mongodb::options::IndexOptions;
use mongodb::{Client, IndexModel};
use prom_store::{Dedupe, LogName, Store, StoreError};
use prom_store_mongo::{MongoOptions, MongoStore};
use prom_testkit::mongo::ReplicaSet;
use support::{append, collection, database, draft, log, named, open, soon};

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
async fn an_id_that_an_earlier_version_stored_in_two_partitions_stays_with_the_first() {
    let url = database().await;
    let store = open(&url).await;
    let partition = |number| LogName::new(log("orders").topic, number);
    let exact = |name: &str, number| append(&partition(number), named(name, Dedupe::Exact), Dedupe::Exact);
    for (name, number) in [("twice", 1), ("once", 0), ("lone", 2)] {
        store.commit(exact(name, number)).await.unwrap();
    }
    store.close().await.unwrap();
    let batches = collection(&url, "event_batches").await;
    batches.drop_index("exact_ids_by_topic").await.unwrap();
    let earlier = [
        ("exact_ids", doc! { "topic": 1, "partition": 1, "exact": 1 }),
        ("exact_ids_of_topic", doc! { "topic": 1, "exact": 1 }),
    ];
    for (name, keys) in earlier {
        let partly = doc! { "exact": { "$exists": true } };
        let options = IndexOptions::builder().name(name.to_owned()).partial_filter_expression(partly).build();
        batches.create_index(IndexModel::builder().keys(keys).options(options).build()).await.unwrap();
    }
    // The second and the third batch hold the id of the first as well; for the third it is the only one.
    let first = batches.find_one(doc! { "_id.partition": 1 }).await.unwrap().unwrap();
    let twice = first.get_array("exact").unwrap();
    let push = doc! { "$push": { "exact": { "$each": twice } } };
    batches.update_one(doc! { "_id.partition": 0 }, push).await.unwrap();
    batches.update_one(doc! { "_id.partition": 2 }, doc! { "$set": { "exact": twice } }).await.unwrap();

    let store = open(&url).await;
    let indexes = batches.list_index_names().await.unwrap();
    assert!(indexes.iter().filter(|name| name.starts_with("exact_ids")).eq(["exact_ids_by_topic"]), "{indexes:?}");
    for (name, holder) in [("twice", 1), ("once", 0)] {
        let again = store.commit(exact(name, 3)).await.unwrap().stored[0];
        assert_eq!((again.duplicate, again.elsewhere), (true, Some(holder)), "{name}");
    }
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
