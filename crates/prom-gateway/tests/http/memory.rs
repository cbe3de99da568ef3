//! What strangers and slow clients cost in memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Request};
use bytes::Bytes;
use futures::SinkExt;
use http_body_util::BodyExt;
use prom_auth::AuthOptions;
use prom_engine::Position;
use prom_gateway::GatewayOptions;
use serde_json::json;
use tower::ServiceExt;

use crate::home::{Ask, Home, until};

/// A body that says whether it was asked for.
fn watched() -> (Body, Arc<AtomicBool>) {
    let asked = Arc::new(AtomicBool::new(false));
    let tell = asked.clone();
    let pieces = futures::stream::poll_fn(move |_| {
        tell.store(true, Ordering::SeqCst);
        std::task::Poll::Ready(None::<Result<Bytes, std::io::Error>>)
    });
    (Body::from_stream(pieces), asked)
}

async fn nothing_is_read_for_strangers(home: &Home) {
    home.bus.subscribe("shop", "ours").from(Position::Earliest).start().await.unwrap().unsubscribe().await;
    for (method, path, action) in [
        (Method::POST, "/publish", "publish"),
        (Method::POST, "/publish?topic=shop", "publish"),
        (Method::POST, "/import", "publish"),
        (Method::POST, "/import?topic=shop", "publish"),
        (Method::PUT, "/topics/shop", "admin"),
        (Method::POST, "/cursors", "admin"),
        (Method::POST, "/skip", "admin"),
        (Method::PATCH, "/groups/ours", "admin"),
    ] {
        let others = ["publish", "subscribe", "ops", "admin"].into_iter().filter(|other| *other != action);
        let mut rights: Vec<Option<Vec<&str>>> = vec![None, Some(vec![]), Some(others.collect())];
        let elsewhere = format!("{action}:elsewhere");
        if !matches!(path, "/publish" | "/publish?topic=shop" | "/import" | "/cursors" | "/skip") {
            rights.push(Some(vec![&elsewhere]));
        }
        for scopes in rights {
            let (body, asked) = watched();
            let ask = Ask::new(method.clone(), path).body(body);
            match &scopes {
                None => ask.send(home).await.problem(401, "no_token"),
                Some(scopes) => ask.token(scopes).send(home).await.problem(403, "forbidden"),
            };
            assert!(!asked.load(Ordering::SeqCst), "{method} {path} with {scopes:?} read the body");
        }
    }
}

/// Routes whose refusals have different shapes; each is refused unread.
#[tokio::test]
async fn nothing_of_a_schema_or_an_order_is_read_for_strangers() {
    let home = Home::protected().await;
    home.bus.subscribe("shop", "ours").from(Position::Earliest).start().await.unwrap().unsubscribe().await;
    let readers: &[&str] = &["publish", "subscribe", "ops"];
    for (method, path, not_enough) in [
        (Method::POST, "/topics/shop/schema", readers),
        (Method::POST, "/topics/shop/schema/check", &["admin"]),
        (Method::PUT, "/topics/shop/schema/settings", readers),
        (Method::PUT, "/topics/shop/schema/upcasters/1", readers),
        (Method::PUT, "/registry/settings", readers),
        (Method::POST, "/subjects/shop", &["admin"]),
        (Method::POST, "/subjects/shop/versions", readers),
        (Method::POST, "/compatibility/subjects/shop/versions", &["admin"]),
        (Method::POST, "/compatibility/subjects/shop/versions/latest", &["admin"]),
        (Method::PUT, "/config", readers),
        (Method::PUT, "/config/shop", readers),
        (Method::POST, "/groups/ours/kick", readers),
        (Method::POST, "/groups/ours/release", readers),
    ] {
        let elsewhere = ["publish:elsewhere", "subscribe:elsewhere", "ops:elsewhere"];
        for (scopes, status) in [(None, 401), (Some(&[][..]), 403), (Some(not_enough), 403), (Some(&elsewhere), 403)] {
            let (body, asked) = watched();
            let ask = Ask::new(method.clone(), path).body(body);
            let answer = match scopes {
                None => ask.send(&home).await,
                Some(scopes) => ask.token(scopes).send(&home).await,
            };
            assert_eq!(answer.status.as_u16(), status, "{method} {path} with {scopes:?}");
            assert!(!asked.load(Ordering::SeqCst), "{method} {path} with {scopes:?} read the body");
        }
    }
}

#[tokio::test]
async fn nothing_of_a_body_is_read_before_the_caller_has_a_right_to_the_route() {
    nothing_is_read_for_strangers(&Home::protected().await).await;
}

#[tokio::test]
async fn nor_by_one_of_several_hubs() {
    nothing_is_read_for_strangers(&Home::protected_among_others().await).await;
}

#[tokio::test]
async fn a_batch_is_counted_while_it_is_read() {
    let home = Home::open().await;
    for (kind, body) in [
        ("application/json", format!("[{}", "1,".repeat(20_000))),
        ("application/cloudevents-batch+json", format!("[{}", "1,".repeat(20_000))),
        ("application/x-ndjson", "1\n".repeat(20_000)),
    ] {
        let ask = Ask::new(Method::POST, "/publish").header("content-type", kind).body(body);
        ask.send(&home).await.problem(413, "too_large");
    }
    let attributes: Vec<String> = (0..20_000).map(|n| format!("\"a{n}\":1")).collect();
    let body = format!("{{{}", attributes.join(","));
    let ask = Ask::new(Method::POST, "/publish").header("content-type", "application/cloudevents+json").body(body);
    let problem = ask.send(&home).await.problem(400, "bad_json");
    assert!(problem["detail"].as_str().unwrap().contains("more than"), "{problem}");
}

#[tokio::test]
async fn a_replay_is_never_in_memory_whole() {
    let home = Home::open().await;
    for _ in 0..200 {
        home.bus.publish("a", json!("x".repeat(20_000))).await.unwrap();
    }
    let request = Request::get("/replay?topic=a").body(Body::empty()).unwrap();
    let mut body = home.router().oneshot(request).await.unwrap().into_body();
    let mut whole = Vec::new();
    while let Some(frame) = body.frame().await {
        let piece = frame.unwrap().into_data().unwrap();
        assert!(piece.len() < 200_000, "{} bytes at once", piece.len());
        whole.extend_from_slice(&piece);
    }
    let page: serde_json::Value = serde_json::from_slice(&whole).unwrap();
    assert_eq!((&page["count"], &page["end"]), (&json!(200), &json!(true)));
}

#[tokio::test]
async fn the_bodies_of_all_requests_and_answers_share_one_budget() {
    let options = GatewayOptions { bodies_bytes: 4_100_000, ..GatewayOptions::default() };
    let home = Home::with(options, AuthOptions::default()).await;
    home.publish_numbers("a", 1).await;
    let (mut pieces, body) = futures::channel::mpsc::channel(1);
    let request = Request::post("/publish").body(Body::from_stream(body)).unwrap();
    let slow = tokio::spawn(home.router().oneshot(request));
    pieces.send(Ok::<_, std::io::Error>(Bytes::from(format!("[{}", " ".repeat(2_040_000))))).await.unwrap();
    let publish = || async { home.post("/publish", format!("[{}]", " ".repeat(2_090_000))).await };
    until("half of the slow body is there", || async { publish().await.status == 503 }).await;
    pieces.send(Ok(Bytes::from_static(b"]"))).await.unwrap();
    drop(pieces);
    let unread = slow.await.unwrap().unwrap();
    let refused = publish().await;
    assert!(refused.headers.contains_key("retry-after"));
    refused.problem(503, "overloaded");
    home.get("/replay?topic=a").await.problem(503, "overloaded");
    home.get("/export?topic=a").await.problem(503, "overloaded");
    home.post("/import", "").await.problem(503, "overloaded");
    assert_eq!(unread.into_body().collect().await.unwrap().to_bytes(), "[]");
    publish().await.json();
    home.get("/replay?topic=a").await.json();
}

#[tokio::test(start_paused = true)]
async fn a_body_that_drips_is_given_up() {
    let home = Home::open().await;
    let drips = futures::stream::unfold((), |()| async {
        tokio::time::sleep(Duration::from_secs(20)).await;
        Some((Ok::<_, std::io::Error>(Bytes::from_static(b" ")), ()))
    });
    let began = tokio::time::Instant::now();
    let answer = home.post("/publish", Body::from_stream(drips)).await;
    answer.problem(408, "bad_request");
    assert_eq!(began.elapsed().as_secs(), 120);
}
