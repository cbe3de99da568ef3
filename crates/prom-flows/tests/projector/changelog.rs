//! One document for each key: the newest event counts, however often and in whatever order events come.

use prom_engine::Position;
use prom_flows::projector::{KeyProjection, Projection};
use prom_jobs::{Flow, FlowState};
use serde_json::{Value, json};

use super::scene::{PLACES, Place, Programs, Scene, TOPIC, process, wait_for};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_key_has_its_newest_event_and_tombstones_have_none() {
    for place in PLACES {
        let scene = Scene::at(place).await;
        for (key, payload) in [
            ("a", process("h1", "alive", 1)),
            ("b", process("h2", "alive", 2)),
            ("a", process("h1", "stale", 3)),
            ("c", process("h3", "alive", 4)),
            ("d", process("h4", "alive", 5)),
            ("b", Value::Null),
            ("c", json!({"_deleted": true})),
            ("d", process("h4", "gone", 6)),
        ] {
            scene.publish(key, payload).await;
        }
        scene.bus.publish(TOPIC, process("h9", "alive", 9)).await.unwrap();
        let tombstone = Some(r#".payload.status == "gone""#);
        let projector = scene.start(scene.changelog(Programs { tombstone, ..Programs::default() }).await);
        let status = scene.in_step(&projector).await;
        let expected = [("a".to_owned(), process("h1", "stale", 3))].into();
        assert_eq!(scene.bodies("processes").await, expected, "{place:?}");
        assert_eq!((status.state, status.counts.read), (FlowState::Running, 9));
        assert_eq!(status.details["without_key"], "1", "{place:?}");
        assert_eq!(status.stages[0].name, "publish_to_document");
        scene.publish("b", process("h2", "alive", 7)).await;
        scene.in_step(&projector).await;
        assert_eq!(scene.bodies("processes").await["b"], process("h2", "alive", 7), "a key may come back");
        scene.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_events_twice_and_out_of_order_end_in_the_same_documents() {
    for place in PLACES {
        let scene = Scene::at(place).await;
        let rules = Programs { version: Some(".payload.at"), map: Some(".payload.state"), ..Programs::default() };
        // Key k7 is deleted at 70, and what is older comes after that.
        let events = |order: &[u64]| -> Vec<(String, Value)> {
            let event = |n: &u64| {
                let state = if *n == 67 { Value::Null } else { json!({"n": n}) };
                (format!("k{}", n % 10), json!({"at": n, "state": state}))
            };
            order.iter().map(event).collect()
        };
        let mut order: Vec<u64> = (0..70).collect();
        order.rotate_left(33);
        order.reverse();
        for (key, payload) in events(&order) {
            scene.publish(&key, payload).await;
        }
        let projector = scene.start(scene.changelog(rules).await);
        scene.in_step(&projector).await;
        let once = scene.bodies("processes").await;
        let expected: Vec<(String, Value)> =
            (60..70).filter(|n| *n != 67).map(|n| (format!("k{}", n % 10), json!({"n": n}))).collect();
        assert_eq!(once.clone().into_iter().collect::<Vec<_>>(), expected, "{place:?}");
        let whole = scene.documents("processes").await;
        order.rotate_left(17);
        for (key, payload) in events(&order) {
            scene.publish(&key, payload).await;
        }
        scene.in_step(&projector).await;
        assert_eq!(scene.documents("processes").await, whole, "{place:?}: other events at the same versions");
        for partition in 0..3 {
            scene.bus.set_cursor(TOPIC, partition, "changelog:processes", Position::Earliest).await.unwrap();
        }
        wait_for("the events to come again", async || projector.status().counts.read >= 280).await;
        scene.in_step(&projector).await;
        assert_eq!(scene.documents("processes").await, whole, "{place:?}: the same events again");
        scene.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_projected_goes_to_the_dead_letters_and_the_rest_goes_on() {
    for place in PLACES {
        let scene = Scene::at(place).await;
        for n in 0..40 {
            let payload = if n % 10 == 3 { json!(n) } else { json!({"n": n}) };
            scene.publish(&format!("k{n}"), payload).await;
        }
        scene.publish("bad", json!({"n": {"$oid": 5}})).await;
        let projector = scene.start(scene.changelog(Programs::default()).await);
        let status = scene.in_step(&projector).await;
        // Only MongoDB knows types beyond JSON.
        let refused = if place == Place::Mongo { 5 } else { 4 };
        assert_eq!(status.counts.failed, refused, "{place:?}");
        let letters = scene.letters().await;
        assert_eq!(letters.len() as u64, refused, "{place:?}");
        assert!(letters.iter().all(|letter| letter["group"] == "changelog:processes"));
        let told = letters.iter().find(|letter| letter["original"]["key"] == "k3").unwrap()["err"].to_string();
        assert!(told.contains("map"), "{told}");
        assert_eq!(scene.documents("processes").await.len() as u64, 41 - refused, "{place:?}");
        scene.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_unique_index_of_the_user_condemns_only_the_event_that_breaks_it() {
    let scene = Scene::at(Place::Mongo).await;
    let index = mongodb::bson::doc! { "createIndexes": "processes",
    "indexes": [{ "key": { "port": 1 }, "name": "port", "unique": true }] };
    scene.mongo().await.run_command(index).await.unwrap();
    for n in 0..30 {
        scene.publish(&format!("k{n}"), json!({"port": if n == 20 { 7 } else { n }})).await;
    }
    let projector = scene.start(scene.changelog(Programs::default()).await);
    scene.in_step(&projector).await;
    assert_eq!((scene.documents("processes").await.len(), scene.letters().await.len()), (29, 1));
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_function_of_the_application_projects_as_a_program_does() {
    let scene = Scene::at(Place::Store).await;
    let mut settings = scene.changelog(Programs::default()).await;
    settings.projection = Projection::Changelog(std::sync::Arc::new(|event: &prom_flows::projector::EventView| {
        let payload: Value = serde_json::from_slice(&event.payload()).map_err(|error| error.to_string())?;
        let body = serde_json::value::to_raw_value(&json!({"twice": payload["n"].as_i64().ok_or("no n")? * 2}));
        let key = event.key().unwrap_or_default().to_owned();
        Ok(KeyProjection::Put { key, version: None, body: body.map_err(|error| error.to_string())? })
    }));
    scene.publish("a", json!({"n": 21})).await;
    let projector = scene.start(settings);
    scene.in_step(&projector).await;
    assert_eq!(scene.bodies("processes").await["a"], json!({"twice": 42}));
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_is_away_is_waited_for_and_the_wait_is_shown_without_its_password() {
    let scene = Scene::at(Place::Store).await;
    let mut settings = scene.changelog(Programs::default()).await;
    let url = "mongodb://user:secret@127.0.0.1:1/x?serverSelectionTimeoutMS=200&directConnection=true".to_owned();
    settings.target = prom_flows::projector::ProjectorTarget::Mongo { url, database: None };
    scene.publish("a", json!({"n": 1})).await;
    let projector = scene.start(settings);
    wait_for("two tries", async || projector.status().error.is_some_and(|error| error.tries >= 2)).await;
    let status = projector.status();
    assert_eq!(status.state, FlowState::Retrying);
    let shown = format!("{status:?}");
    assert!(!shown.contains("secret"), "{shown}");
    assert_eq!(scene.bus.lag(TOPIC, "changelog:processes").await.unwrap().lag_events, 1);
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_no_store_takes_goes_to_the_dead_letters() {
    for place in PLACES {
        let scene = Scene::at(place).await;
        scene.publish("a", json!({"k": "k".repeat(70_000), "n": 1})).await;
        scene.publish("b", json!({"k": "short", "n": 2})).await;
        let rules = Programs { key: Some(".payload.k"), map: Some(".payload | {n}"), ..Programs::default() };
        let projector = scene.start(scene.changelog(rules).await);
        let status = scene.in_step(&projector).await;
        assert_eq!(scene.bodies("processes").await, [("short".to_owned(), json!({"n": 2}))].into(), "{place:?}");
        assert_eq!(status.counts.failed, 1, "{place:?}");
        assert!(scene.letters().await[0]["err"].as_str().unwrap().contains("70000 bytes"));

        let edits = r#"{collection: "counts", key: .payload.k, inc: {n: 1}}"#;
        let counting = scene.start(scene.transactional(edits, &["counts"]).await);
        scene.in_step(&counting).await;
        assert_eq!(scene.bodies("counts").await, [("short".to_owned(), json!({"n": 1}))].into(), "{place:?}");
        scene.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_mongodb_cannot_hold_goes_to_the_dead_letters() {
    let scene = Scene::at(Place::Mongo).await;
    scene.publish("a", json!({"a\0b": 1})).await;
    scene.publish("b", json!({"n": 2})).await;
    let projector = scene.start(scene.changelog(Programs::default()).await);
    scene.in_step(&projector).await;
    assert_eq!(scene.bodies("processes").await, [("b".to_owned(), json!({"n": 2}))].into());
    assert_eq!(scene.letters().await.len(), 1);
    let edits = r#"{collection: "wholes", key: .key, put: .payload}"#;
    let putting = scene.start(scene.transactional(edits, &["wholes"]).await);
    scene.in_step(&putting).await;
    assert_eq!(scene.bodies("wholes").await, [("b".to_owned(), json!({"n": 2}))].into());
    assert_eq!(scene.letters().await.len(), 2);
    scene.end().await;
}
