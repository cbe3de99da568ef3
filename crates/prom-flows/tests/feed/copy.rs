//! A copy that joins the stream.

use std::collections::BTreeMap;

use mongodb::bson::{Bson, Document, doc, oid::ObjectId};
use prom_flows::feed::{FeedOptions, FeedRoute, FeedSource};
use prom_types::Event;
use serde_json::Value;

use crate::scene::{Scene, header, payload, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_joins_the_stream_under_writes_without_gap_or_double() {
    let scene = Scene::new().await;
    for from in [0, 1500] {
        let documents: Vec<_> = (from..from + 1500).map(|n| doc! { "_id": format!("{n:05}"), "v": 0 }).collect();
        scene.orders.insert_many(documents).await.unwrap();
    }
    let writing = tokio::spawn({
        let orders = scene.orders.clone();
        async move {
            for n in 0..600 {
                let id = format!("{:05}", n * 5);
                orders.update_one(doc! { "_id": &id }, doc! { "$inc": { "v": 1 } }).await.unwrap();
                orders.insert_one(doc! { "_id": format!("new-{n:05}"), "v": 0 }).await.unwrap();
                if n % 10 == 0 {
                    orders.delete_one(doc! { "_id": &id }).await.unwrap();
                }
            }
        }
    });
    let _feed = scene.feed(FeedOptions { snapshot: true, ..scene.options() }).await;
    writing.await.unwrap();
    scene.orders.insert_one(doc! { "_id": "last", "v": 0 }).await.unwrap();
    let events = until("the last insert", async || {
        let events = scene.events_of(crate::scene::TOPIC).await;
        events.iter().any(|event| event.key.as_deref() == Some("last")).then_some(events)
    })
    .await;

    let mut left: BTreeMap<String, Value> = BTreeMap::new();
    let mut begun: BTreeMap<String, usize> = BTreeMap::new();
    for event in &events {
        let key = event.key.clone().unwrap();
        if matches!(header(event, "x-mongo-op"), Some("snapshot" | "insert")) {
            *begun.entry(key.clone()).or_default() += 1;
        }
        match event.payload.is_null() {
            true => drop(left.remove(&key)),
            false => drop(left.insert(key, payload(event))),
        }
    }
    assert!(begun.values().all(|times| *times == 1), "copied and inserted, or inserted twice: {begun:?}");
    let mut stored = BTreeMap::new();
    let mut cursor = scene.orders.find(doc! {}).await.unwrap();
    while cursor.advance().await.unwrap() {
        let document = cursor.deserialize_current().unwrap();
        stored.insert(document.get_str("_id").unwrap().to_owned(), document.get_i32("v").unwrap());
    }
    let topic: BTreeMap<String, i32> =
        left.iter().map(|(key, value)| (key.clone(), value["v"].as_i64().unwrap() as i32)).collect();
    assert_eq!(topic, stored, "the topic's state is the collection's");
    let copied = events.iter().filter(|event| header(event, "x-mongo-op") == Some("snapshot")).count();
    assert!(copied > 1000, "it proved nothing: {copied} copied");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_passes_ids_of_every_type_and_goes_on_where_it_was_cut_off() {
    let scene = Scene::new().await;
    let ids = [
        Bson::from(1),
        Bson::from(2.5),
        Bson::from("text"),
        doc! { "a": 1 }.into(),
        ObjectId::new().into(),
        true.into(),
    ];
    for id in &ids {
        scene.orders.insert_one(doc! { "_id": id.clone() }).await.unwrap();
    }
    let options = FeedOptions { snapshot: true, ..scene.options() };
    for _ in 0..3 {
        // Cut off wherever it is.
        scene.feed(options.clone()).await.end().await;
    }
    let _feed = scene.feed(options).await;
    scene.orders.insert_one(doc! { "_id": "behind" }).await.unwrap();
    let events = scene.events(ids.len() + 1).await;
    let keys: std::collections::BTreeSet<_> = events.iter().map(|event: &Event| event.key.clone().unwrap()).collect();
    assert_eq!((events.len(), keys.len()), (ids.len() + 1, ids.len() + 1));
    assert_eq!(events.last().unwrap().key.as_deref(), Some("behind"));
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_of_which_one_fills_an_answer_of_mongodb_are_all_copied() {
    let scene = Scene::new().await;
    let large = "x".repeat(9 << 20);
    for id in ["a", "b", "c"] {
        scene.orders.insert_one(doc! { "_id": id, "text": &large }).await.unwrap();
    }
    scene.orders.insert_many(["d", "e"].map(|id| doc! { "_id": id })).await.unwrap();
    let _feed = scene.feed(FeedOptions { snapshot: true, ..scene.options() }).await;
    until("the end of the copy", async || scene.position().await.copy.is_none().then_some(())).await;
    let keys: Vec<_> = scene.events_of(crate::scene::TOPIC).await.into_iter().filter_map(|event| event.key).collect();
    assert_eq!(keys, ["a", "b", "c", "d", "e"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_collection_of_a_database_is_copied_and_one_that_comes_later_is_followed() {
    let scene = Scene::new().await;
    for collection in ["a", "b"] {
        let documents = [doc! { "_id": "1" }, doc! { "_id": "2" }];
        scene.database.collection::<Document>(collection).insert_many(documents).await.unwrap();
    }
    let source = FeedSource::database(scene.database.name());
    let route = FeedRoute::parse("all.{collection}").unwrap();
    let _feed = scene.feed(FeedOptions { source, route, snapshot: true, ..scene.options() }).await;
    for topic in ["all.a", "all.b"] {
        let copied = scene.events_on(topic, 2).await;
        assert!(copied.iter().all(|event| header(event, "x-mongo-op") == Some("snapshot")));
    }
    scene.database.collection::<Document>("c").insert_one(doc! { "_id": "3" }).await.unwrap();
    assert_eq!(header(&scene.events_on("all.c", 1).await[0], "x-mongo-op"), Some("insert"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collection_that_is_not_there_yet_has_nothing_to_copy() {
    let scene = Scene::new().await;
    let _feed = scene.feed(FeedOptions { snapshot: true, ..scene.options() }).await;
    until("the end of the copy", async || scene.position().await.copy.is_none().then_some(())).await;
    scene.orders.insert_one(doc! { "_id": "1" }).await.unwrap();
    assert_eq!(header(&scene.events(1).await[0], "x-mongo-op"), Some("insert"));
}
