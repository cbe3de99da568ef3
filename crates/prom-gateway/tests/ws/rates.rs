//! Token buckets: per connection, per topic, per subject; over both doors.

use prom_auth::AuthOptions;
use prom_gateway::{GatewayOptions, Rate, RateOptions};
use serde_json::{Value, json};

use crate::scene::{Client, Scene, auth, token};

/// Three at once, and then one in a thousand seconds.
const THREE: Rate = Rate { per_second: 0.001, burst: 3.0 };

async fn scene(auth: AuthOptions, rates: RateOptions) -> Scene {
    Scene::with(auth, GatewayOptions { rates, ..GatewayOptions::default() }).await
}

fn publish(topic: &str) -> Value {
    json!({"op": "PUBLISH", "topic": topic, "payload": 1, "corr": "c"})
}

async fn use_up(client: &mut Client, topic: &str) {
    for _ in 0..3 {
        client.ok(publish(topic)).await;
    }
}

async fn is_limited(client: &mut Client, topic: &str, because: &str) {
    let told = client.err("rate_limited", publish(topic)).await;
    assert_eq!(told["corr"], "c");
    assert!(told["retry_after_ms"].as_u64().is_some_and(|wait| wait > 900_000 && wait <= 1_000_000), "{told}");
    assert!(told["msg"].as_str().unwrap().contains(because), "{told}");
}

#[tokio::test]
async fn a_connection_has_its_own_bucket_and_nothing_but_publishes_takes_from_it() {
    let scene =
        scene(AuthOptions::default(), RateOptions { per_connection: Some(THREE), ..RateOptions::default() }).await;
    let (mut first, mut second) = (scene.client().await, scene.client().await);
    for _ in 0..10 {
        first.err("not_subscribed", json!({"op": "PAUSE", "topic": "a"})).await;
        first.err("bad_request", publish("NOT A TOPIC")).await;
    }
    use_up(&mut first, "a").await;
    is_limited(&mut first, "b", "connection").await;
    use_up(&mut second, "a").await;
    assert_eq!(scene.bus.read("a", 0, 0, 100).await.unwrap().events.len(), 6);
}

#[tokio::test]
async fn a_topic_has_one_bucket_for_everybody() {
    let scene = scene(AuthOptions::default(), RateOptions { per_topic: Some(THREE), ..RateOptions::default() }).await;
    let (mut first, mut second) = (scene.client().await, scene.client().await);
    use_up(&mut first, "a").await;
    is_limited(&mut second, "a", "topic").await;
    use_up(&mut second, "b").await;
}

#[tokio::test]
async fn a_subject_has_one_bucket_over_all_its_connections_and_both_doors() {
    let scene = scene(auth(), RateOptions { per_subject: Some(THREE), ..RateOptions::default() }).await;
    let (mut first, mut second) = (scene.client_with(&["publish"]).await, scene.client_with(&["publish"]).await);
    use_up(&mut first, "a").await;
    is_limited(&mut second, "b", "subject").await;
    let over_http = post(&scene, Some(&token("alpha", &["publish"]))).await;
    assert_eq!(over_http.status(), 429);
    assert!(over_http.headers().contains_key("retry-after"));
    let mut grace = scene.connect().await;
    grace.ok(json!({"op": "AUTH", "token": token("grace", &["publish"])})).await;
    use_up(&mut grace, "b").await;
}

#[tokio::test]
async fn of_a_batch_each_event_takes_its_own() {
    let scene =
        scene(AuthOptions::default(), RateOptions { per_connection: Some(THREE), ..RateOptions::default() }).await;
    let mut client = scene.client().await;
    let events: Vec<Value> = (0..5).map(|n| json!({"topic": "a", "payload": n})).collect();
    let ok = client.ok(json!({"op": "PUBLISH", "events": events})).await;
    let results = ok["results"].as_array().unwrap();
    assert!(results[..3].iter().all(Value::is_array), "{ok}");
    assert!(results[3..].iter().all(|result| result["code"] == "rate_limited" && result["retry_after_ms"].is_u64()));
    assert_eq!(scene.bus.read("a", 0, 0, 100).await.unwrap().events.len(), 3);
}

#[tokio::test]
async fn an_atomic_batch_takes_for_all_of_it_or_nothing() {
    let scene =
        scene(AuthOptions::default(), RateOptions { per_connection: Some(THREE), ..RateOptions::default() }).await;
    let atomic = |topic: &str, events: usize| {
        let events: Vec<Value> = (0..events).map(|n| json!({"topic": topic, "payload": n})).collect();
        json!({"op": "PUBLISH", "events": events, "atomic": true})
    };
    let mut client = scene.client().await;
    client.ok(publish("b")).await;
    client.err("rate_limited", atomic("c", 3)).await;
    client.ok(atomic("a", 2)).await;
    client.err("rate_limited", atomic("a", 1)).await;
    let mut another = scene.client().await;
    another.ok(atomic("a", 5)).await;
    // More than the burst passes a full bucket, and is paid back before the next.
    let told = another.err("rate_limited", publish("b")).await;
    assert!(told["retry_after_ms"].as_u64().unwrap() > 2_000_000, "{told}");
    assert_eq!(scene.bus.read("a", 0, 0, 100).await.unwrap().events.len(), 7);
}

#[tokio::test]
async fn requests_over_one_http_connection_share_its_bucket() {
    let scene =
        scene(AuthOptions::default(), RateOptions { per_connection: Some(THREE), ..RateOptions::default() }).await;
    let client = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(1).build().unwrap();
    let url = format!("http://{}/publish", scene.server.address());
    let mut statuses = Vec::new();
    for _ in 0..4 {
        let answer = client.post(&url).body(r#"{"topic":"a","payload":1}"#).send().await.unwrap();
        statuses.push(answer.status().as_u16());
        answer.bytes().await.unwrap();
    }
    assert_eq!(statuses, [200, 200, 200, 429]);
    assert_eq!(post(&scene, None).await.status(), 200, "another connection has its own");
}

async fn post(scene: &Scene, token: Option<&str>) -> reqwest::Response {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut request = client.post(format!("http://{}/publish", scene.server.address()));
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    request.body(r#"{"topic":"a","payload":1}"#).send().await.unwrap()
}

#[tokio::test]
async fn what_follows_a_refused_event_does_not_overtake_it() {
    let rate = Rate { per_second: 20.0, burst: 1.0 };
    let scene =
        scene(AuthOptions::default(), RateOptions { per_connection: Some(rate), ..RateOptions::default() }).await;
    let mut client = scene.connect().await;
    let welcome = client.ok(json!({"op": "AUTH", "features": ["batch", "ordered", "unknown"]})).await;
    assert_eq!(welcome["features"], json!(["batch", "ordered"]));
    let event = |n: usize| {
        let id = format!("01890a5d-ac96-774b-bcce-{n:012x}");
        json!({"op": "PUBLISH", "topic": "a", "payload": n, "opts": {"id": id}})
    };
    client.ok(event(0)).await;
    let told = client.err("rate_limited", event(1)).await;
    // Tokens come back, and what was on its way meanwhile does not get them.
    tokio::time::sleep(std::time::Duration::from_millis(told["retry_after_ms"].as_u64().unwrap())).await;
    let told = client.err("rate_limited", event(2)).await;
    assert!(told["msg"].as_str().unwrap().contains("an earlier event was refused"), "{told}");
    client.ok(json!({"op": "PUBLISH", "topic": "b", "payload": "elsewhere"})).await;
    for n in 1..3 {
        while client.ask(event(n)).await["op"] == "ERR" {}
    }
    let stored = scene.bus.read("a", 0, 0, 100).await.unwrap().events;
    let payloads: Vec<u64> = stored.iter().map(|event| event.payload().unwrap()).collect();
    assert_eq!(payloads, [0, 1, 2]);
    let metrics =
        reqwest::get(format!("http://{}/metrics", scene.server.address())).await.unwrap().text().await.unwrap();
    let refused = metrics.lines().find_map(|line| line.strip_prefix("publishes_rate_limited_total ")).unwrap();
    assert!(refused.parse::<f64>().unwrap() >= 2.0, "{refused}");
}
