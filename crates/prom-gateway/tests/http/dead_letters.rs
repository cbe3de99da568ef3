//! Dead letters are seen: by those who look at the group, and by those who look after the hub.

use axum::http::Method;
use prom_engine::Position;
use serde_json::{Value, json};

use crate::home::{Ask, Home};

/// A group gave up on one of two events.
async fn with_a_letter() -> Home {
    let home = Home::protected().await;
    home.publish_numbers("orders", 2).await;
    let orders = home.bus.subscribe("orders", "billing").from(Position::Earliest).max_attempts(1);
    let mut orders = orders.start().await.unwrap();
    orders.next().await.unwrap().nack("cannot be printed").await.unwrap();
    orders.next().await.unwrap().ack().await.unwrap();
    orders.unsubscribe().await;
    home
}

async fn get(home: &Home, path: &str, scopes: &[&str]) -> Value {
    Ask::new(Method::GET, path).token(scopes).send(home).await.json()
}

#[tokio::test]
async fn lag_and_why_count_the_letters_of_the_topic() {
    let home = with_a_letter().await;
    let lag = get(&home, "/lag?topic=orders&group=billing", &["ops:orders"]).await;
    assert_eq!((&lag["lagEvents"], &lag["deadLetters"]), (&json!(0), &json!(1)));
    let lags = get(&home, "/lag", &["ops:orders"]).await;
    assert_eq!(lags["lags"][0]["deadLetters"], 1);
    let why = get(&home, "/why?topic=orders&group=billing", &["ops:orders"]).await;
    assert_eq!(why["dead_letters"], 1);
}

#[tokio::test]
async fn who_operates_a_topic_sees_that_it_has_letters_and_does_not_read_them() {
    let home = with_a_letter().await;
    for scope in ["ops", "ops:orders"] {
        let topics = get(&home, "/topics", &[scope]).await;
        let names: Vec<&str> =
            topics["topics"].as_array().unwrap().iter().filter_map(|one| one["topic"].as_str()).collect();
        assert_eq!(names, ["dlq.orders", "orders"], "{scope}");
        assert_eq!(get(&home, "/topics/dlq.orders", &[scope]).await["events"], 1);
        let read = Ask::new(Method::GET, "/replay?topic=dlq.orders").token(&[scope, "subscribe"]);
        read.send(&home).await.problem(403, "forbidden");
    }
    Ask::new(Method::GET, "/topics/dlq.orders").token(&["ops:other"]).send(&home).await.problem(403, "forbidden");
    Ask::new(Method::GET, "/topics/system.audit").token(&["ops"]).send(&home).await.problem(403, "forbidden");
}

#[tokio::test]
async fn a_reader_of_letters_is_seen_by_those_who_operate_the_topic() {
    let home = with_a_letter().await;
    home.bus.subscribe("dlq.orders", "menders").from(Position::Earliest).start().await.unwrap().unsubscribe().await;
    let group = get(&home, "/groups/menders", &["ops:orders"]).await;
    assert_eq!(group["subscriptions"][0]["topics"], json!(["dlq.orders"]));
    assert_eq!(get(&home, "/lag?topic=dlq.orders&group=menders", &["ops:orders"]).await["lagEvents"], 1);
}

#[tokio::test]
async fn a_token_for_everything_reads_the_letters() {
    let home = with_a_letter().await;
    let letters = get(&home, "/replay?topic=dlq.orders", &["*"]).await;
    assert_eq!(letters["events"][0]["payload"]["err"], "cannot be printed");
}
