//! Documents that are made anew: beside those that are read, then in their place; and a first start from a snapshot.

use prom_engine::{Retention, SnapshotSettings, TopicSettings};
use prom_jobs::{Flow, FlowAction, SnapshotBuild, SnapshotStep, snapshots};
use prom_types::TopicName;
use serde_json::{Value, json};

use super::scene::{PLACES, Place, Programs, Scene, TOPIC, wait_for};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rebuild_ends_in_what_the_topic_says_and_old_documents_are_gone() {
    for place in PLACES {
        let scene = Scene::at(place).await;
        for n in 0..700_u32 {
            let payload = if n % 100 == 99 { Value::Null } else { json!({"n": n, "status": "alive"}) };
            scene.publish(&format!("k{}", n % 100), payload).await;
        }
        let projector = scene.start(scene.changelog(Programs::default()).await);
        scene.in_step(&projector).await;
        let before = scene.documents("processes").await;
        assert_eq!(before.len(), 99, "{place:?}");
        spoil(&scene).await;
        assert_ne!(scene.documents("processes").await, before, "{place:?}");
        let told = projector.act(FlowAction::Rebuild).await.unwrap();
        assert!(told.done.contains("anew"), "{}", told.done);
        wait_for("the rebuild", async || projector.status().details.contains_key("rebuilt_ms")).await;
        scene.in_step(&projector).await;
        assert_eq!(scene.documents("processes").await, before, "{place:?}");
        scene.publish("k1", json!({"n": 1000})).await;
        scene.in_step(&projector).await;
        assert_eq!(scene.bodies("processes").await["k1"], json!({"n": 1000}), "{place:?}: it goes on");
        scene.end().await;
    }
}

/// Somebody wrote where only the projector writes.
async fn spoil(scene: &Scene) {
    match scene.place {
        Place::Store => {
            let mut work = scene.bus.unit_of_work();
            let text = r#"{"_key":"k1","_v":9,"_ts":9,"n":"spoiled"}"#;
            work.write(prom_store::DocumentWrite::put("data.processes", "k1", text));
            work.commit().await.unwrap();
        }
        Place::Mongo => {
            let processes = scene.mongo().await.collection::<mongodb::bson::Document>("processes");
            let update = mongodb::bson::doc! { "$set": { "n": "spoiled" } };
            processes.update_one(mongodb::bson::doc! { "_key": "k1" }, update).await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transactional_rebuild_counts_every_event_once() {
    let scene = Scene::at(Place::Store).await;
    let edits = r#"{collection: "one", key: .payload.host, inc: {n: 1}}"#;
    let projector = scene.start(scene.transactional(edits, &["one"]).await);
    for n in 0..900_u32 {
        scene.publish(&n.to_string(), json!({"host": format!("h{}", n % 3)})).await;
    }
    scene.in_step(&projector).await;
    projector.act(FlowAction::Rebuild).await.unwrap();
    wait_for("the rebuild", async || projector.status().details.contains_key("rebuilt_ms")).await;
    scene.in_step(&projector).await;
    for (host, counted) in scene.bodies("one").await {
        assert_eq!(counted, json!({"n": 300}), "{host}");
    }
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_collections_in_mongo_refuse_a_rebuild_and_say_what_to_do() {
    let scene = Scene::at(Place::Mongo).await;
    let projector = scene.start(scene.transactional("empty", &["one", "two"]).await);
    let refused = projector.act(FlowAction::Rebuild).await.unwrap_err().to_string();
    assert!(refused.contains("another name"), "{refused}");
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_first_start_takes_from_the_snapshot_what_retention_removed_from_the_topic() {
    for place in PLACES {
        let scene = Scene::at(place).await;
        let topic = TopicName::parse(TOPIC).unwrap();
        let snapshot = Some(SnapshotSettings { every_ms: 3_600_000 });
        let settings = TopicSettings { snapshot, ..TopicSettings::new(TOPIC).unwrap().partitions(3) };
        scene.bus.create_topic(settings.clone()).await.unwrap();
        for n in 0..60_u32 {
            scene.publish(&format!("k{n}"), json!({"n": n})).await;
        }
        take_snapshot(&scene, &topic).await;
        let retention = Retention { size_bytes: Some(1), ..Retention::default() };
        scene.bus.create_topic(TopicSettings { retention, ..settings.clone() }).await.unwrap();
        scene.bus.retain_now().await.unwrap();
        scene.bus.create_topic(settings).await.unwrap();
        assert!(scene.bus.read_topic(TOPIC, Default::default(), 100).await.unwrap().events.len() < 60);
        scene.publish("k1", json!({"n": 1001})).await;
        scene.publish("k2", Value::Null).await;
        let warm_from = Some(prom_jobs::snapshot_topic(&topic).unwrap());
        let settings = scene.changelog(Programs::default()).await;
        let projector = scene.start(prom_flows::projector::ProjectorSettings { warm_from, ..settings });
        scene.in_step(&projector).await;
        let documents = scene.bodies("processes").await;
        assert_eq!(documents.len(), 59, "{place:?}");
        assert_eq!((&documents["k1"], &documents["k0"]), (&json!({"n": 1001}), &json!({"n": 0})), "{place:?}");
        scene.end().await;
    }
}

async fn take_snapshot(scene: &Scene, topic: &TopicName) {
    let mut build = SnapshotBuild::start(&scene.bus, topic).await.unwrap();
    while !matches!(build.step().await.unwrap(), SnapshotStep::Done(_)) {}
    assert_eq!(snapshots(&scene.bus, topic).await.unwrap().len(), 1);
}
