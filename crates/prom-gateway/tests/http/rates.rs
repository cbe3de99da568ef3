//! Rate limits over HTTP.

use axum::http::{Method, Request};
use prom_auth::AuthOptions;
use prom_gateway::http::ConnectionRate;
use prom_gateway::rates::Bucket;
use prom_gateway::{GatewayOptions, Rate, RateOptions};
use serde_json::json;
use tower::ServiceExt;

use crate::home::{Ask, Home, auth};

/// So slow that nothing comes back during a test.
fn slow(burst: f64) -> Option<Rate> {
    Some(Rate::per_second(0.001, burst))
}

async fn limited(rates: RateOptions, auth: AuthOptions) -> Home {
    Home::with(GatewayOptions { rates, ..GatewayOptions::default() }, auth).await
}

const EVENT: &str = r#"{"topic":"a","payload":1}"#;

#[tokio::test]
async fn beyond_the_rate_of_a_topic_the_answer_says_how_long_to_wait() {
    let home = limited(RateOptions { per_topic: slow(2.0), ..RateOptions::default() }, AuthOptions::default()).await;
    home.post("/publish", EVENT).await.json();
    home.post("/publish", EVENT).await.json();
    let refused = home.post("/publish", EVENT).await;
    let problem = refused.problem(429, "rate_limited");
    let millis = problem["retry_after_ms"].as_u64().unwrap();
    let seconds: u64 = refused.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert!(millis > 0 && seconds == millis.div_ceil(1000), "{problem}");
    home.post("/publish", r#"{"topic":"b","payload":1}"#).await.json();
}

#[tokio::test]
async fn a_batch_gets_as_far_as_the_rate_and_an_atomic_one_not_at_all() {
    let home = limited(RateOptions { per_topic: slow(2.0), ..RateOptions::default() }, AuthOptions::default()).await;
    let results = home.post_lines("/publish", format!("{EVENT}\n").repeat(3)).await.lines();
    assert!(results[0]["offset"].is_u64() && results[1]["offset"].is_u64());
    assert_eq!((&results[2]["code"], &results[2]["index"]), (&json!("rate_limited"), &json!(2)));
    home.post("/publish?atomic=1", format!("[{EVENT},{EVENT}]")).await.problem(429, "rate_limited");
}

#[tokio::test]
async fn an_atomic_batch_that_one_topic_refuses_takes_nothing_from_the_others() {
    let home = limited(RateOptions { per_topic: slow(2.0), ..RateOptions::default() }, AuthOptions::default()).await;
    let event = |topic: &str| json!({"topic": topic, "payload": 1});
    for _ in 0..2 {
        home.post("/publish", event("used.up").to_string()).await.json();
    }
    let batch = json!([event("a"), event("b"), event("used.up"), event("c"), event("d")]).to_string();
    // In whatever order topics are looked at, each would be first some time.
    for _ in 0..16 {
        home.post("/publish?atomic=1", batch.clone()).await.problem(429, "rate_limited");
    }
    for topic in ["a", "b", "c", "d"] {
        home.post("/publish?atomic=1", json!([event(topic), event(topic)]).to_string()).await.json();
    }
}

#[tokio::test]
async fn subjects_share_a_rate_over_all_topics() {
    let home = limited(RateOptions { per_subject: slow(2.0), ..RateOptions::default() }, auth()).await;
    for (topic, status) in [("a", 200), ("b", 200), ("c", 429)] {
        let body = json!({"topic": topic, "payload": 1}).to_string();
        let answer = Ask::new(Method::POST, "/publish").token(&["publish"]).body(body).send(&home).await;
        assert_eq!(answer.status, status, "{topic}");
    }
}

#[tokio::test]
async fn requests_of_one_connection_share_its_bucket() {
    let home = Home::open().await;
    let connection = ConnectionRate::new(Bucket::new(Rate::per_second(0.001, 2.0), std::time::Duration::ZERO));
    for status in [200, 200, 429] {
        let mut request = Request::post("/publish").body(axum::body::Body::from(EVENT)).unwrap();
        request.extensions_mut().insert(connection.clone());
        assert_eq!(home.router().oneshot(request).await.unwrap().status(), status);
    }
    home.post("/publish", EVENT).await.json();
}
