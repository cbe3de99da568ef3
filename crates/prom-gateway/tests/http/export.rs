//! `/export`, over the embedded store: from memory, from segments, and from both.

use std::sync::Arc;

use axum::http::Method;
use prom_engine::TopicSettings;
use prom_gateway::GatewayOptions;
use prom_store_embedded::{EmbeddedOptions, EmbeddedStore, Sizes};
use serde_json::json;
use tower::ServiceExt;

use crate::home::{Ask, Home, Movable, token};

async fn embedded() -> (Home, Arc<EmbeddedStore>, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let options = EmbeddedOptions { sizes: Sizes::tiny(), ..EmbeddedOptions::default() };
    let store = EmbeddedStore::open_with(folder.path(), options).await.unwrap();
    let home = Home::over(store.clone(), GatewayOptions::default(), Default::default()).await;
    (home, store, folder)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_event_comes_partition_by_partition_in_offset_order() {
    let (home, store, _folder) = embedded().await;
    home.bus.create_topic(TopicSettings::new("a").unwrap().partitions(2)).await.unwrap();
    let events = |range: std::ops::Range<u32>| {
        let publish =
            |n: u32| home.bus.publish("a", json!({"n": n, "fill": "x".repeat(200)})).key(format!("k{n}")).send();
        range.map(publish).collect::<Vec<_>>()
    };
    for publishing in events(0..3000) {
        publishing.await.unwrap();
    }
    store.checkpoint().await.unwrap();
    for publishing in events(3000..4000) {
        publishing.await.unwrap();
    }
    let lines = home.get("/export?topic=a").await.lines();
    assert_eq!(lines.len(), 4000);
    let places: Vec<(u64, u64)> =
        lines.iter().map(|event| (event["partition"].as_u64().unwrap(), event["offset"].as_u64().unwrap())).collect();
    let sorted = places.is_sorted_by(|a, b| a < b);
    assert!(sorted, "in order, and each once");
    assert!(lines.iter().all(|event| event["payload"]["n"].is_u64() && event["key"].is_string()));

    let array = home.get("/export?topic=a&ndjson=0").await;
    assert_eq!(array.content_type(), "application/json");
    assert_eq!(array.json().as_array().unwrap(), &lines);
}

#[tokio::test]
async fn times_bound_what_is_exported_at_both_ends() {
    let home = Home::ticking_by(1).await;
    home.publish_numbers("a", 10).await;
    let stored: Vec<i64> =
        home.get("/export?topic=a").await.lines().iter().map(|event| event["stored_ts"].as_i64().unwrap()).collect();
    for (from, to) in [(0, 9), (3, 6), (4, 4), (9, 9)] {
        let path = format!("/export?topic=a&fromTs={}&toTs={}", stored[from], stored[to]);
        let lines = home.get(&path).await.lines();
        let payloads: Vec<usize> = lines.iter().map(|event| event["payload"].as_u64().unwrap() as usize).collect();
        assert_eq!(payloads, (from..=to).collect::<Vec<_>>());
    }
    let none = format!("/export?topic=a&fromTs={}", stored[9] + 1_000_000);
    assert!(home.get(&none).await.lines().is_empty());
    assert_eq!(home.get(&format!("{none}&ndjson=0")).await.json(), json!([]));
    let all = format!("/export?topic=a&fromTs={}&toTs={}", i64::MIN, i64::MAX);
    assert_eq!(home.get(&all).await.lines().len(), 10);
}

#[tokio::test]
async fn an_export_has_an_end_although_publishing_goes_on() {
    let home = Home::open().await;
    home.publish_numbers("a", 100).await;
    let request = axum::http::Request::get("/export?topic=a").body(axum::body::Body::empty()).unwrap();
    let response = home.router().oneshot(request).await.unwrap();
    home.publish_numbers("a", 50).await;
    let body = http_body_util::BodyExt::collect(response.into_body()).await.unwrap().to_bytes();
    assert_eq!(body.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).count(), 100);
}

#[tokio::test]
async fn a_reader_that_reads_nothing_holds_a_bounded_amount() {
    let home = Home::open().await;
    for n in 0..64 {
        home.bus.publish("a", json!({"n": n, "fill": "x".repeat(500_000)})).await.unwrap();
    }
    let request = axum::http::Request::get("/export?topic=a").body(axum::body::Body::empty()).unwrap();
    let response = home.router().oneshot(request).await.unwrap();
    let mut body = response.into_body();
    let first = http_body_util::BodyExt::frame(&mut body).await.unwrap().unwrap().into_data().unwrap();
    assert!(first.len() < 2_000_000, "a piece, not the whole: {}", first.len());
}

#[tokio::test]
async fn what_is_wrong_is_refused_before_anything_is_sent() {
    let home = Home::open().await;
    home.publish_numbers("a", 1).await;
    for query in ["", "topic=A", "topic=a&fromTs=x", "topic=a&ndjson=2", "topic=a&format=xml", "topic=a&toTs=1e3"] {
        home.get(&format!("/export?{query}")).await.problem(400, "bad_request");
    }
    home.get("/export?topic=b").await.problem(404, "unknown_topic");
    let head = Ask::new(Method::HEAD, "/export?topic=a").send(&home).await;
    assert_eq!((head.status.as_u16(), head.content_type(), head.body.len()), (200, "application/x-ndjson", 0));
}

#[tokio::test]
async fn a_token_that_expires_breaks_the_export_off() {
    const EVENTS: usize = 64;
    let clock = Movable::new();
    let home = Home::protected_by(clock.clone()).await;
    for n in 0..EVENTS {
        home.bus.publish("a", json!({"n": n, "fill": "x".repeat(500_000)})).await.unwrap();
    }
    let request = axum::http::Request::get("/export?topic=a")
        .header("authorization", format!("Bearer {}", token(&["subscribe:a"])))
        .body(axum::body::Body::empty())
        .unwrap();
    let mut body = home.router().oneshot(request).await.unwrap().into_body();
    http_body_util::BodyExt::frame(&mut body).await.unwrap().unwrap();
    clock.put_forward_two_days();
    let mut pieces = 1;
    let error = loop {
        match http_body_util::BodyExt::frame(&mut body).await {
            Some(Ok(_)) => pieces += 1,
            Some(Err(error)) => break error,
            None => panic!("it ended as if it were whole, after {pieces} pieces"),
        }
    };
    assert!(pieces < EVENTS / 2, "{pieces} pieces");
    assert!(error.to_string().contains("the token has expired"), "{error}");
}

#[tokio::test]
async fn a_program_chooses_what_is_exported_and_an_index_finds_the_same() {
    let home = Home::open().await;
    let settings = || TopicSettings::new("a").unwrap().partitions(3);
    home.bus.create_topic(settings()).await.unwrap();
    let publishing: Vec<_> =
        (0..2000).map(|n| home.bus.publish("a", json!({"n": n, "of": n % 40})).key(format!("k{n}")).send()).collect();
    for published in publishing {
        published.await.unwrap();
    }
    let chosen = async || home.get("/export?topic=a&jq=.payload.of%20%3D%3D%207").await.lines();
    let scanned = chosen().await;
    assert_eq!(scanned.len(), 50);
    assert!(scanned.iter().all(|event| event["payload"]["of"] == 7));

    home.bus.create_topic(settings().index([".payload.of"])).await.unwrap();
    assert_eq!(chosen().await, scanned);
    let from = scanned[10]["stored_ts"].as_i64().unwrap();
    let later = home.get(&format!("/export?topic=a&fromTs={from}&jq=.payload.of%20%3D%3D%207")).await.lines();
    let expected: Vec<_> = scanned.iter().filter(|event| event["stored_ts"].as_i64().unwrap() >= from).collect();
    assert_eq!(later.iter().collect::<Vec<_>>(), expected);
    let none = home.get("/export?topic=a&ndjson=0&jq=.payload.of%20%3D%3D%2099").await;
    assert_eq!(none.json(), json!([]));
    home.get("/export?topic=a&jq=.payload%20%7C").await.problem(400, "bad_request");
}
