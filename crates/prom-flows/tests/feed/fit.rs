//! Changes that are too large, and changes that the topic refuses.

use mongodb::bson::doc;
use prom_flows::feed::{FeedOptions, OnUnfit, Oversize};
use prom_jobs::{FlowAction, FlowState};
use serde_json::json;

use crate::scene::{Scene, header, payload};

fn megabytes(count: usize) -> String {
    "x".repeat(count << 20)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_document_is_published_as_its_named_fields() {
    let scene = Scene::new().await;
    let oversize = Oversize::Project(vec!["status".to_owned()]);
    let _feed = scene.feed(FeedOptions { oversize, ..scene.options() }).await;
    scene.orders.insert_one(doc! { "_id": "a", "status": "new", "blob": megabytes(2) }).await.unwrap();
    scene.orders.insert_one(doc! { "_id": "b", "status": "new" }).await.unwrap();
    let events = scene.events(2).await;
    assert_eq!(payload(&events[0]), json!({ "_id": "a", "status": "new" }));
    assert_eq!((header(&events[0], "x-oversize"), header(&events[1], "x-oversize")), (Some("project"), None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_seventeen_megabytes_does_not_stall_the_feed() {
    for (oversize, how) in [(Oversize::Project(vec!["status".to_owned()]), "project"), (Oversize::Pointer, "pointer")] {
        let scene = Scene::new().await;
        scene.orders.insert_one(doc! { "_id": "a", "status": "new", "blob": "" }).await.unwrap();
        let feed = scene.feed(FeedOptions { oversize, ..scene.options() }).await;
        // What was updated and the document are in one change: more than the 16 MB of an answer.
        let update = doc! { "$set": { "blob": megabytes(9), "status": "done" } };
        scene.orders.update_one(doc! { "_id": "a" }, update).await.unwrap();
        scene.orders.insert_one(doc! { "_id": "b" }).await.unwrap();
        let events = scene.events(2).await;
        assert_eq!(header(&events[0], "x-oversize"), Some(how));
        match how {
            "project" => assert_eq!(payload(&events[0]), json!({ "_id": "a", "status": "done" })),
            _ => assert!(payload(&events[0])["bytes"].as_u64().unwrap() > 9 << 20, "{}", payload(&events[0])),
        }
        assert_eq!(events[1].key.as_deref(), Some("b"));
        feed.state(FlowState::Running).await;
        feed.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_document_goes_to_the_dead_letters_if_so_configured() {
    let scene = Scene::new().await;
    let feed = scene.feed(FeedOptions { oversize: Oversize::DeadLetter, ..scene.options() }).await;
    scene.orders.insert_one(doc! { "_id": "a", "blob": megabytes(2) }).await.unwrap();
    let letters = scene.events_on("dlq.shop.orders", 1).await;
    let letter = payload(&letters[0]);
    assert_eq!((&letter["group"], &letter["topic"]), (&json!("feed:orders"), &json!("shop.orders")));
    assert_eq!(letter["original"]["payload"]["_id"], "a");
    assert!(letter["err"].as_str().unwrap().contains("1048576"), "{letter}");
    assert_eq!(feed.flow.status().counts.failed, 1);
    assert!(scene.events_of(crate::scene::TOPIC).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_the_map_fails_on_stops_the_feed_and_loses_nothing() {
    let scene = Scene::new().await;
    let map = Some(".document.total | tonumber".to_owned());
    let feed = scene.feed(FeedOptions { map, ..scene.options() }).await;
    for (id, total) in [("1", "10"), ("2", "ten"), ("3", "30")] {
        scene.orders.insert_one(doc! { "_id": id, "total": total }).await.unwrap();
    }
    feed.state(FlowState::Stopped).await;
    let error = feed.flow.status().error.unwrap();
    assert!(error.reason.contains("the map failed") && error.reason.contains("prom feeds seek orders"), "{error:?}");
    assert_eq!(scene.events(1).await.len(), 1);
    feed.end().await;

    // With another map it goes on at that very change.
    let feed = scene.feed(FeedOptions { map: Some(".document.total".to_owned()), ..scene.options() }).await;
    feed.state(FlowState::Stopped).await;
    feed.flow.act(FlowAction::Restart).await.unwrap();
    let totals: Vec<_> = scene.events(3).await.iter().map(payload).collect();
    assert_eq!(totals, [json!(10), json!("ten"), json!("30")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_the_map_fails_on_goes_to_the_dead_letters_if_so_configured() {
    let scene = Scene::new().await;
    let map = Some(".document.total | tonumber".to_owned());
    let _feed = scene.feed(FeedOptions { map, on_unfit: OnUnfit::DeadLetter, ..scene.options() }).await;
    for (id, total) in [("1", "10"), ("2", "ten"), ("3", "30")] {
        scene.orders.insert_one(doc! { "_id": id, "total": total }).await.unwrap();
    }
    let totals: Vec<_> = scene.events(2).await.iter().map(payload).collect();
    assert_eq!(totals, [json!(10), json!(30)]);
    let letter = payload(&scene.events_on("dlq.shop.orders", 1).await[0]);
    assert_eq!(letter["original"]["key"], "2");
    assert!(letter["err"].as_str().unwrap().contains("the map failed"), "{letter}");
}
