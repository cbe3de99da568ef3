//! Edits of several collections: each event counts once.

use prom_engine::Position;
use serde_json::json;

use super::scene::{PLACES, Place, Scene, TOPIC, wait_for};
use prom_jobs::Flow;

const EDITS: &str = r#"
    {collection: "host_stats", key: .payload.host, inc: {events: 1, "by_status.\(.payload.status)": 1},
     max: {top_cpu: .payload.cpu}, set: {last: .payload.name}},
    if .payload.status == "gone" then {collection: "seen", key: .key, delete: true}
    else {collection: "seen", key: .key, put: {host: .payload.host}} end
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counters_and_documents_of_several_collections_come_from_each_event_once() {
    for place in PLACES {
        let scene = Scene::at(place).await;
        let projector = scene.start(scene.transactional(EDITS, &["host_stats", "seen"]).await);
        for n in 0..1200_u32 {
            let status = if n >= 1190 { "gone" } else { "alive" };
            let payload =
                json!({"host": format!("h{}", n % 4), "name": format!("n{n}"), "status": status, "cpu": n % 77});
            scene.publish(&format!("k{}", n % 50), payload).await;
        }
        scene.in_step(&projector).await;
        let stats = scene.bodies("host_stats").await;
        assert_eq!(stats.len(), 4, "{place:?}");
        for host in stats.values() {
            assert_eq!((&host["events"], &host["top_cpu"]), (&json!(300), &json!(76)), "{place:?}");
            let by_status = host["by_status"].as_object().unwrap();
            assert_eq!(by_status.values().map(|n| n.as_i64().unwrap()).sum::<i64>(), 300, "{place:?}");
        }
        assert_eq!(scene.documents("seen").await.len(), 40, "{place:?}: ten keys ended with `gone`");
        scene.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_that_does_not_fit_its_document_changes_nothing_and_is_a_dead_letter() {
    for place in PLACES {
        let scene = Scene::at(place).await;
        let edits = r#"[{collection: "one", key: "k", inc: {n: 1}}, .payload.more // empty]"#;
        let projector = scene.start(scene.transactional(edits, &["one", "two"]).await);
        let broken = json!({"more": {"collection": "two", "key": "t", "inc": {"text": 1}}});
        let sets = json!({"more": {"collection": "two", "key": "t", "set": {"text": "a"}}});
        let stranger = json!({"more": {"collection": "three", "key": "t", "put": {}}});
        for payload in [json!({}), sets, broken, json!({}), stranger, json!({})] {
            scene.publish("same", payload).await;
        }
        scene.in_step(&projector).await;
        assert_eq!(scene.bodies("one").await["k"], json!({"n": 4}), "{place:?}");
        assert_eq!(scene.bodies("two").await["t"], json!({"text": "a"}), "{place:?}");
        assert_eq!(scene.letters().await.len(), 2, "{place:?}");
        scene.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_mongo_the_place_in_the_database_counts_and_not_a_cursor_that_went_back() {
    let scene = Scene::at(Place::Mongo).await;
    let edits = r#"{collection: "one", key: "k", inc: {n: 1}}"#;
    let projector = scene.start(scene.transactional(edits, &["one"]).await);
    for n in 0..20 {
        scene.publish(&format!("k{n}"), json!({})).await;
    }
    scene.in_step(&projector).await;
    for partition in 0..3 {
        scene.bus.set_cursor(TOPIC, partition, "projector:stats", Position::Earliest).await.unwrap();
    }
    scene.publish("more", json!({})).await;
    wait_for("one more", async || scene.bodies("one").await["k"] != json!({"n": 20})).await;
    scene.in_step(&projector).await;
    assert_eq!(scene.bodies("one").await["k"], json!({"n": 21}));
    assert_eq!(projector.status().counts.failed, 0);
    scene.end().await;
}
