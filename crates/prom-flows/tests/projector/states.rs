//! Reports become states of another topic, each once, and what falls silent has a last state.

use std::sync::Arc;
use std::time::Duration;

use prom_flows::projector::{
    JqChangelog, Projection, Projector, ProjectorSettings, ProjectorTarget, Silence, VersionRule,
};
use prom_jobs::Flow;
use prom_types::TopicName;
use serde_json::{Value, json};

use super::scene::{Place, Scene, TOPIC, wait_for};

const REPORTS: &str = "heartbeat.received";

async fn reporter(scene: &Scene, silent_after: Duration) -> Projector {
    let compile = async |text: &str| scene.bus.compile_program(text).await.unwrap();
    let programs = JqChangelog {
        key: Some(compile(r#""\(.payload.host):\(.payload.pid)""#).await),
        map: Some(compile(r#"{host: .payload.host, seen: .stored_ts, status: "alive"}"#).await),
        ..JqChangelog::default()
    };
    let silence = Silence::by_program(silent_after, compile(r#".status = "stale""#).await);
    scene.start(ProjectorSettings {
        name: "states".to_owned(),
        topic: TopicName::parse(REPORTS).unwrap(),
        projection: Projection::States(Arc::new(programs)),
        version: VersionRule::default(),
        collections: Vec::new(),
        target: ProjectorTarget::Topic { into: TopicName::parse(TOPIC).unwrap(), silence: Some(silence) },
        warm_from: None,
    })
}

async fn states(scene: &Scene) -> Vec<(String, Value)> {
    let page = scene.bus.read_topic(TOPIC, Default::default(), 10_000).await.unwrap();
    page.events.iter().map(|event| (event.key().unwrap().to_owned(), event.payload().unwrap())).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_report_is_one_state_and_silence_is_told_once() {
    let scene = Scene::at(Place::Store).await;
    for n in 0..300_u32 {
        let report = json!({"host": format!("h{}", n % 3), "pid": n % 5});
        scene.bus.publish(REPORTS, report).await.unwrap();
    }
    let projector = reporter(&scene, Duration::from_millis(400)).await;
    let count = async |status: &str| states(&scene).await.iter().filter(|(_, state)| state["status"] == status).count();
    wait_for("silence", async || count("stale").await >= 15).await;
    assert_eq!((count("alive").await, count("stale").await), (300, 15));
    assert_eq!(projector.status().details["fell_silent"], "15");
    scene.bus.publish(REPORTS, json!({"host": "h0", "pid": 0})).await.unwrap();
    wait_for("silence of the one that came back", async || count("stale").await >= 16).await;
    assert_eq!((count("alive").await, count("stale").await), (301, 16));
    let last: Vec<_> = states(&scene).await.into_iter().filter(|(key, _)| key == "h0:0").collect();
    assert_eq!(last.last().unwrap().1["status"], "stale");
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_report_whose_state_the_topic_refuses_is_a_dead_letter() {
    let scene = Scene::at(Place::Store).await;
    let schema = json!({"type": "object", "properties": {"host": {"type": "string"}}, "required": ["host"]});
    let schema = prom_engine::SchemaDocument::new(schema, Vec::new()).unwrap();
    let topic = TopicName::parse(TOPIC).unwrap();
    scene.bus.register_schema(&topic, prom_engine::SchemaCandidate::new(schema)).await.unwrap();
    for host in [json!("h1"), json!(7), json!("h2")] {
        scene.bus.publish(REPORTS, json!({"host": host, "pid": 1})).await.unwrap();
    }
    let projector = reporter(&scene, Duration::from_secs(60)).await;
    wait_for("the reports", async || projector.status().counts.read >= 3).await;
    assert_eq!((states(&scene).await.len(), projector.status().counts.failed), (2, 1));
    scene.end().await;
}
