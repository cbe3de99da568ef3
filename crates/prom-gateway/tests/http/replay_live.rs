//! `/replay?live=sse`: history, then live, for clients that have only HTTP.

use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Request};
use http_body_util::BodyExt;
use prom_engine::TopicSettings;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::home::{Ask, Home};

/// What a reader of server-sent events makes of the text: kind, id and data of each message.
fn messages(text: &[u8]) -> Vec<(String, String, Value)> {
    let text = std::str::from_utf8(text).unwrap();
    let message = |block: &str| {
        let field = |name: &str| {
            let lines = block.lines().filter_map(|line| line.strip_prefix(&format!("{name}: ")));
            lines.collect::<Vec<_>>().join("\n")
        };
        let data = field("data");
        (!data.is_empty()).then(|| (field("event"), field("id"), serde_json::from_str(&data).unwrap()))
    };
    text.split("\n\n").filter_map(message).collect()
}

#[tokio::test]
async fn history_comes_first_and_then_what_is_published() {
    let home = Home::open().await;
    home.publish_numbers("a", 3).await;
    let bus = home.bus.clone();
    let later = tokio::spawn(async move {
        for n in 3..5 {
            tokio::time::sleep(Duration::from_millis(5)).await;
            bus.publish("a", json!(n)).await.unwrap();
        }
    });
    let answer = home.get("/replay?topic=a&live=sse&limit=5").await;
    later.await.unwrap();
    assert_eq!(answer.headers["content-type"], "text/event-stream");
    let payloads: Vec<Value> = messages(&answer.body).iter().map(|(_, _, event)| event["payload"].clone()).collect();
    assert_eq!(payloads, [json!(0), json!(1), json!(2), json!(3), json!(4)]);
}

#[tokio::test]
async fn the_id_of_a_message_continues_behind_it_in_every_partition() {
    let home = Home::open().await;
    home.bus.create_topic(TopicSettings::new("a").unwrap().partitions(3)).await.unwrap();
    for n in 0..12_u32 {
        home.bus.publish("a", json!(n)).partition(n % 3).await.unwrap();
    }
    let mut seen = Vec::new();
    let mut last = "0".to_owned();
    while seen.len() < 12 {
        let ask = Ask::new(Method::GET, "/replay?topic=a&live=sse&limit=1").header("last-event-id", &last);
        let answer = ask.send(&home).await;
        let (_, id, event) = messages(&answer.body).remove(0);
        seen.push(event["payload"].as_u64().unwrap());
        last = id;
    }
    seen.sort_unstable();
    assert_eq!(seen, (0..12).collect::<Vec<_>>());
}

#[tokio::test]
async fn what_retention_took_meanwhile_is_told() {
    let home = Home::open().await;
    home.bus.create_topic(TopicSettings::new("a").unwrap().retain_for(Duration::from_millis(1))).await.unwrap();
    home.publish_numbers("a", 4).await;
    tokio::time::sleep(Duration::from_millis(5)).await;
    home.bus.retain_now().await.unwrap();
    home.bus.publish("a", json!(4)).await.unwrap();
    let ask = Ask::new(Method::GET, "/replay?topic=a&live=sse&limit=1").header("last-event-id", "1");
    let told = messages(&ask.send(&home).await.body);
    assert_eq!((told[0].0.as_str(), &told[0].2["from"], &told[0].2["to"]), ("gap", &json!(1), &json!(4)));
    assert_eq!(told[1].2["payload"], json!(4));
}

#[tokio::test]
async fn a_payload_of_several_lines_is_one_message() {
    let home = Home::open().await;
    home.post("/publish", "{\"topic\":\"a\",\"payload\":{\"n\":\n\n 9007199254740993,\r\n\"x\":1.0}}").await;
    let text = home.get("/replay?topic=a&live=sse&limit=1").await.body;
    let text = String::from_utf8(text.to_vec()).unwrap();
    assert!(text.contains("9007199254740993") && text.contains("1.0"), "{text}");
    let told = messages(text.as_bytes());
    assert_eq!((told.len(), &told[0].2["payload"]["n"]), (1, &json!(9_007_199_254_740_993_u64)));
}

#[tokio::test]
async fn it_needs_the_right_to_read_and_refuses_an_id_that_it_did_not_give() {
    let home = Home::protected().await;
    home.publish_numbers("a", 1).await;
    for (scopes, path, status) in [
        (&["subscribe:b"][..], "/replay?topic=a&live=sse", 403),
        (&["subscribe:a"], "/replay?topic=a&live=sse&next=1.2.3", 400),
        (&["subscribe:a"], "/replay?topic=a&live=websocket", 400),
        (&["subscribe:a"], "/replay?topic=a&live=sse&limit=1", 200),
    ] {
        let answer = Ask::new(Method::GET, path).token(scopes).send(&home).await;
        assert_eq!(answer.status.as_u16(), status, "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_with_nothing_to_say_shows_that_it_is_alive() {
    let home = Home::open().await;
    home.publish_numbers("a", 1).await;
    let request = Request::get("/replay?topic=a&live=sse&from=latest").body(Body::empty()).unwrap();
    let mut body = home.router().oneshot(request).await.unwrap().into_body();
    let mut text = Vec::new();
    for _ in 0..3 {
        text.extend_from_slice(&body.frame().await.unwrap().unwrap().into_data().unwrap());
    }
    assert_eq!(text, b": connected\n\n: nothing new\n\n: nothing new\n\n");
}
