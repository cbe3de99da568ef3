//! JSON that parsers disagree about: halves of surrogate pairs, and numbers that no number type holds.

use std::time::Duration;

use axum::http::Method;
use prom_engine::Position;
use serde_json::json;

use crate::home::{Ask, Home, until};

const CLOUD: &str = r#""specversion":"1.0","id":"7","source":"/s","type":"a""#;

#[tokio::test]
async fn half_a_surrogate_pair_is_refused_wherever_it_stands_and_however_it_comes() {
    let home = Home::open().await;
    let lines = "application/x-ndjson";
    let cloud = "application/cloudevents+json";
    for half in [r"\ud800", r"\uDFFF", r"x\udbffy", r"\ud83d\ud83d", r"\ud83d\n", r"\ude00\ud83d"] {
        for (path, kind, body) in [
            ("/publish", "", format!(r#"{{"topic":"a","payload":"{half}"}}"#)),
            ("/publish", "", format!(r#"{{"topic":"a","payload":{{"{half}":1}}}}"#)),
            ("/publish", "", format!(r#"{{"topic":"a","payload":1,"opts":{{"key":"{half}"}}}}"#)),
            ("/publish", "", format!(r#"{{"topic":"a","payload":1,"opts":{{"headers":{{"x-a":"{half}"}}}}}}"#)),
            ("/publish", "", format!(r#"{{"topic":"a","payload":1,"opts":{{"tags":["{half}"]}}}}"#)),
            ("/publish", "", format!(r#"{{"topic":"a","payload":1,"opts":{{"sid":"{half}"}}}}"#)),
            ("/publish?atomic=1", "", format!(r#"[{{"topic":"a","payload":["{half}"]}}]"#)),
            ("/publish?atomic=1", lines, format!(r#"{{"topic":"a","payload":["{half}"]}}"#)),
            ("/publish", cloud, format!(r#"{{{CLOUD},"data":"{half}"}}"#)),
            ("/publish", cloud, format!(r#"{{{CLOUD},"subject":"{half}"}}"#)),
        ] {
            let answer = Ask::new(Method::POST, path).header("content-type", kind).body(body.clone()).send(&home).await;
            assert_eq!(answer.status, 400, "{body}: {}", answer.text());
        }
        let told = home.post_lines("/import", format!(r#"{{"topic":"a","payload":"{half}"}}"#)).await.lines();
        assert_eq!(told[0]["error"]["code"], "bad_json");
    }
    assert!(home.bus.topics().await.unwrap().is_empty());
    let told = home.post("/publish", r#"{"topic":"a","payload":"ab\ud800"}"#).await.problem(400, "bad_request");
    assert!(told["detail"].as_str().unwrap().contains(r"\ud800 at byte 3"), "{told}");
    for whole in [r#""\ud83d\ude00""#, r#""\\ud800""#, r#""\\\\ud800""#, r#""\u0041\n\"""#] {
        home.post("/publish", format!(r#"{{"topic":"a","payload":{whole}}}"#)).await.json();
    }
}

/// A text for each number: the hub does not look into it.
fn numbers() -> [String; 4] {
    ["1e400".to_owned(), "-1E+999999".to_owned(), "9".repeat(3000), format!("0.{}1", "0".repeat(3000))]
}

#[tokio::test]
async fn numbers_that_no_number_type_holds_are_stored_and_handed_out_as_they_were_written() {
    let home = Home::open().await;
    for number in numbers() {
        home.post("/publish", format!(r#"{{"topic":"a","payload":{{"n":{number}}}}}"#)).await.json();
    }
    let (replayed, exported) = (home.get("/replay?topic=a").await, home.get("/export?topic=a").await);
    let cloud = home.get("/export?topic=a&format=cloudevents").await;
    let mut events = home.bus.subscribe("a", "g").from(Position::Earliest).start().await.unwrap();
    for number in numbers() {
        let written = format!(r#"{{"n":{number}}}"#);
        for answer in [&replayed, &exported] {
            assert!(answer.text().contains(&format!("\"payload\":{written}")), "{number}");
        }
        assert!(cloud.text().contains(&format!("\"data\":{written}")), "{number}");
        let event = events.next().await.unwrap();
        assert_eq!(event.json().as_str(), written);
        event.ack().await.unwrap();
    }
    let again = home.post_lines("/import?topic=b", exported.body.clone()).await.lines();
    assert_eq!(again, [json!({"imported": 4, "duplicates": 0, "failed": 0})]);
}

#[tokio::test]
async fn a_filter_compares_large_exponents_and_gives_up_on_numbers_with_too_many_digits() {
    let home = Home::open().await;
    for number in numbers() {
        home.post("/publish", format!(r#"{{"topic":"a","payload":{number}}}"#)).await.json();
    }
    let large = home.bus.subscribe("a", "g").from(Position::Earliest).filter(".payload > 5");
    let mut large = large.start().await.unwrap();
    let event = tokio::time::timeout(Duration::from_secs(10), large.next()).await.unwrap().unwrap();
    assert_eq!(event.json().as_str(), "1e400");
    event.ack().await.unwrap();
    until("the rest is settled", || async { home.get("/lag?topic=a&group=g").await.json()["lagEvents"] == 0 }).await;
    let letters = home.get("/replay?topic=dlq.a").await;
    assert_eq!(letters.text().matches("a number of more than").count(), 2, "{}", letters.text());
    assert!(letters.text().contains(&format!("\"payload\":{}", numbers()[2])), "the letter has it as it was written");
}
