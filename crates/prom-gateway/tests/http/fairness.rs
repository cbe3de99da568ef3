//! What one caller takes leaves enough for the others.

use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use axum::response::Response;
use futures::future::join_all;
use http_body_util::BodyExt;
use prom_auth::AuthOptions;
use prom_engine::TopicSettings;
use prom_gateway::GatewayOptions;
use serde_json::json;
use tokio::task::JoinSet;
use tower::ServiceExt;

use crate::home::{Ask, Home, auth};

const MIB: usize = 1024 * 1024;

fn with_budget(bodies_bytes: usize) -> GatewayOptions {
    GatewayOptions { bodies_bytes, body_bytes: MIB, ..GatewayOptions::default() }
}

#[tokio::test]
async fn a_subject_that_reads_no_answers_leaves_room_for_the_others() {
    let home = Home::with(with_budget(2 * MIB), auth()).await;
    home.publish_numbers("a", 1).await;
    let replay = async |subject: &str| {
        Ask::new(Method::GET, "/replay?topic=a").by(subject, &["subscribe:a"]).unread(&home).await
    };
    let mut unread = Vec::new();
    for _ in 0..12 {
        unread.push(replay("alpha").await);
    }
    let refused = unread.iter().filter(|answer| answer.status() == StatusCode::SERVICE_UNAVAILABLE).count();
    assert_eq!(refused, 4, "half of the budget is 8 pages");
    let body = unread.pop().unwrap().into_body().collect().await.unwrap().to_bytes();
    assert!(String::from_utf8_lossy(&body).contains("one subject may hold"), "{body:?}");
    let publish = Ask::new(Method::POST, "/publish").by("beta", &["publish:a"]);
    publish.body(r#"{"topic":"a","payload":1}"#).send(&home).await.json();
    let of_beta = replay("beta").await;
    assert_eq!(of_beta.status(), StatusCode::OK);
    unread.clear();
    assert_eq!(replay("alpha").await.status(), StatusCode::OK);
}

async fn listen(home: &Home) -> Response {
    let request = Request::get("/replay?topic=a&live=sse&from=latest").body(Body::empty()).unwrap();
    home.router().oneshot(request).await.unwrap()
}

#[tokio::test]
async fn those_who_listen_hold_nothing_while_nothing_is_published() {
    let home = Home::with(with_budget(4 * MIB), AuthOptions::default()).await;
    home.publish_numbers("a", 1).await;
    let mut listening = join_all((0..40).map(|_| listen(&home))).await;
    assert!(listening.iter().all(|answer| answer.status() == StatusCode::OK));
    home.post("/publish", r#"{"topic":"a","payload":"news"}"#).await.json();
    for answer in &mut listening {
        let mut heard = String::new();
        while !heard.contains("news") {
            let piece = answer.body_mut().frame().await.unwrap().unwrap().into_data().unwrap();
            heard += std::str::from_utf8(&piece).unwrap();
        }
    }
}

#[tokio::test]
async fn a_live_replay_counts_as_a_subscription_of_its_subject() {
    let options = GatewayOptions { subscriptions_per_subject: Some(2), ..GatewayOptions::default() };
    let home = Home::with(options, auth()).await;
    home.publish_numbers("a", 1).await;
    let listen = || Ask::new(Method::GET, "/replay?topic=a&live=sse").by("alpha", &["subscribe:a"]);
    let one = listen().unread(&home).await;
    let _two = listen().unread(&home).await;
    listen().send(&home).await.problem(403, "forbidden");
    drop(one);
    assert_eq!(listen().unread(&home).await.status(), StatusCode::OK);
}

#[tokio::test]
async fn large_answers_are_counted_until_they_are_taken() {
    let home = Home::with(with_budget(14 * MIB), AuthOptions::default()).await;
    home.bus.create_topic(TopicSettings::new("a").unwrap().compacted()).await.unwrap();
    for n in 0..4 {
        home.bus.publish("a", json!("x".repeat(250_000))).key(format!("k{n}")).await.unwrap();
    }
    for (path, fit) in [("/at?topic=a&ts=4102444800000", 2..4), ("/latest-by-key?topic=a&key=k1", 50..60)] {
        let mut unread = Vec::new();
        let refused = loop {
            let answer = Ask::new(Method::GET, path).unread(&home).await;
            match answer.status() {
                StatusCode::OK if unread.len() < 100 => unread.push(answer),
                status => break status,
            }
        };
        assert_eq!(refused, StatusCode::SERVICE_UNAVAILABLE, "{path}");
        assert!(fit.contains(&unread.len()), "{path}: {} unread answers", unread.len());
        unread.clear();
        home.get(path).await.json();
    }
}

async fn search(home: Home, subject: &'static str) -> &'static str {
    let path = "/search?topic=a&limit=1&jq=last(range(500))%20%3C%200";
    Ask::new(Method::GET, path).by(subject, &["subscribe:a"]).send(&home).await.json();
    subject
}

#[tokio::test]
async fn a_subject_that_searches_for_much_waits_for_itself() {
    let home = Home::protected().await;
    home.publish_numbers("a", 20).await;
    let mut searches = JoinSet::new();
    for _ in 0..60 {
        searches.spawn(search(home.clone(), "alpha"));
    }
    // The first one is over: all others wait by now.
    searches.join_next().await.unwrap().unwrap();
    searches.spawn(search(home.clone(), "beta"));
    let mut before = 0;
    while searches.join_next().await.unwrap().unwrap() != "beta" {
        before += 1;
    }
    assert!(before < 30, "{before} searches of another subject came first");
}
