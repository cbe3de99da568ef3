//! `/import`.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::http::Method;
use bytes::Bytes;
use futures::StreamExt;
use prom_engine::{Bus, TopicSettings};
use prom_gateway::{GatewayOptions, Rate, RateOptions};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::home::{Ask, Home, Movable, token, until};

fn without_place(event: &Value) -> Value {
    let mut event = event.clone();
    event.as_object_mut().unwrap().remove("stored_ts");
    event
}

#[tokio::test]
async fn what_was_exported_is_imported_with_everything_it_had_and_only_once() {
    let (there, here) = (Home::open().await, Home::open().await);
    for home in [&there, &here] {
        home.bus.create_topic(TopicSettings::new("a").unwrap().partitions(3)).await.unwrap();
    }
    let cause = there.bus.publish("a", json!("cause")).partition(2).await.unwrap().id;
    for n in 0..2500 {
        let publish = there.bus.publish("a", json!({"n": n})).key(format!("k{n}")).ts(n).header("x-n", n.to_string());
        publish.sid("s").tag("t").caused_by(cause).await.unwrap();
    }
    let exported = there.get("/export?topic=a").await;
    let told = here.post_lines("/import", exported.body.clone()).await.lines();
    assert_eq!(told, [json!({"imported": 2501, "duplicates": 0, "failed": 0})]);
    let again = here.get("/export?topic=a").await.lines();
    let places = |events: &[Value]| events.iter().map(without_place).collect::<Vec<_>>();
    assert_eq!(places(&again), places(&exported.lines()));

    let told = here.post_lines("/import", exported.body.clone()).await.lines();
    assert_eq!(told, [json!({"imported": 0, "duplicates": 2501, "failed": 0})]);
    assert_eq!(here.get("/export?topic=a").await.lines().len(), 2501);
}

#[tokio::test]
async fn what_a_topic_still_has_is_not_imported_into_it_again() {
    // Every event is outside the dedupe window of the next.
    let home = Home::ticking_by(11 * 60 * 1000).await;
    home.bus.create_topic(TopicSettings::new("a").unwrap().partitions(3)).await.unwrap();
    for n in 0..40 {
        home.bus.publish("a", json!(n)).key(format!("k{n}")).await.unwrap();
    }
    let exported = home.get("/export?topic=a").await;
    let told = home.post_lines("/import", exported.body.clone()).await.lines();
    assert_eq!(told, [json!({"imported": 0, "duplicates": 40, "failed": 0})]);
    assert_eq!(home.get("/export?topic=a").await.lines().len(), 40);
    let told = home.post_lines("/import?topic=b", exported.body.clone()).await.lines();
    assert_eq!(told, [json!({"imported": 40, "duplicates": 0, "failed": 0})], "another topic gets them");
}

#[tokio::test]
async fn a_topic_that_is_not_there_is_made_and_partitions_it_does_not_have_are_chosen_again() {
    let home = Home::open().await;
    let line = |id: u8, partition: u32| {
        json!({"id": format!("0190b6ef-8f5c-7cc3-98c4-dc0c0c0739{id:02x}"), "topic": "old", "partition": partition, "payload": id})
            .to_string()
    };
    let body = format!("{}\n{}\n{}\n", line(1, 7), line(2, 0), line(1, 7));
    let told = home.post_lines("/import?topic=new", body).await.lines();
    assert_eq!(told, [json!({"imported": 2, "duplicates": 1, "failed": 0})]);
    assert_eq!(home.get("/replay?topic=new").await.json()["count"], 2);
    home.get("/replay?topic=old").await.problem(404, "unknown_topic");
}

#[tokio::test]
async fn ids_are_stored_once_also_long_after_the_first_time() {
    const HOUR_MS: i64 = 60 * 60 * 1000;
    let home = Home::ticking_by(HOUR_MS).await;
    let line = r#"{"id":"0190b6ef-8f5c-7cc3-98c4-dc0c0c07398f","topic":"a","payload":1}"#;
    assert_eq!(home.post_lines("/import", line).await.lines()[0]["imported"], 1);
    assert_eq!(home.post_lines("/import", line).await.lines()[0]["duplicates"], 1);
}

#[tokio::test]
async fn bad_lines_are_described_by_number_and_the_good_ones_are_stored() {
    let home = Home::open().await;
    let body = [
        r#"{"topic":"a","payload":1}"#,
        "",
        "not json",
        r#"{"topic":"a"}"#,
        r#"{"topic":"No","payload":1}"#,
        r#"{"payload":1}"#,
        r#"{"topic":"dlq.a","payload":1}"#,
        r#"{"topic":"a","payload":1,"id":"x"}"#,
        r#"{"topic":"a","payload":2}"#,
    ]
    .join("\n");
    let told = home.post_lines("/import", body).await.lines();
    let (sums, errors) = told.split_last().unwrap();
    assert_eq!(*sums, json!({"imported": 2, "duplicates": 0, "failed": 6}));
    let mut lines: Vec<_> = errors.iter().map(|error| error["line"].as_u64().unwrap()).collect();
    lines.sort_unstable();
    assert_eq!(lines, [3, 4, 5, 6, 7, 8]);
    assert!(errors.iter().all(|error| error["error"]["code"].is_string()), "{errors:?}");
}

#[tokio::test]
async fn thousands_of_bad_lines_are_counted_and_the_first_thousand_described() {
    let home = Home::open().await;
    let told = home.post_lines("/import", "x\n".repeat(5000)).await.lines();
    assert_eq!(told.len(), 1001);
    assert_eq!(told.last().unwrap(), &json!({"imported": 0, "duplicates": 0, "failed": 5000}));
}

#[tokio::test]
async fn each_topic_needs_the_right_to_publish_there() {
    let home = Home::protected().await;
    let body = "{\"topic\":\"a\",\"payload\":1}\n{\"topic\":\"b\",\"payload\":1}\n";
    let ask = |scopes: &[&str]| Ask::new(Method::POST, "/import").token(scopes).body(body);
    let told = ask(&["publish:a"]).send(&home).await.lines();
    assert_eq!((&told[0]["line"], &told[0]["error"]["code"]), (&json!(2), &json!("forbidden")));
    assert_eq!(told[1], json!({"imported": 1, "duplicates": 0, "failed": 1}));
    home.post_lines("/import", body).await.problem(401, "no_token");
}

#[tokio::test]
async fn a_body_that_breaks_off_keeps_what_came_before() {
    let home = Home::open().await;
    let pieces =
        [Ok(Bytes::from_static(b"{\"topic\":\"a\",\"payload\":1}\n{\"top")), Err(std::io::Error::other("gone"))];
    let body = Body::from_stream(futures::stream::iter(pieces));
    let told = home.post_lines("/import", body).await.lines();
    assert!(told[0]["error"]["detail"].as_str().unwrap().contains("ended early"), "{told:?}");
    assert_eq!(told[1]["imported"], 1);
}

#[tokio::test]
async fn an_import_is_slowed_down_to_the_rate_instead_of_refused() {
    let rates = RateOptions { per_topic: Some(Rate::per_second(50_000.0, 10.0)), ..RateOptions::default() };
    let home = Home::with(GatewayOptions { rates, ..GatewayOptions::default() }, Default::default()).await;
    let told = home.post_lines("/import", "{\"topic\":\"a\",\"payload\":1}\n".repeat(2000)).await.lines();
    assert_eq!(told, [json!({"imported": 2000, "duplicates": 0, "failed": 0})]);
}

/// Where the hub is served until the test ends.
async fn serve(home: &Home) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(axum::serve(listener, home.router()).into_future());
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_sends_everything_before_it_reads_is_served_over_a_real_connection() {
    let home = Home::open().await;
    let address = serve(&home).await;
    let good = format!("{}\n", json!({"topic": "a", "payload": "x".repeat(1000)}));
    let body = ["x\n".repeat(3000), good.repeat(5000)].concat();
    let request = reqwest::Client::new().post(format!("http://{address}/import")).body(body);
    let text = request.send().await.unwrap().text().await.unwrap();
    let sums: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(sums, json!({"imported": 5000, "duplicates": 0, "failed": 3000}));
}

#[tokio::test]
async fn a_client_that_asks_whether_to_send_is_told_to_before_the_answer_begins() {
    let home = Home::open().await;
    let mut socket = TcpStream::connect(serve(&home).await).await.unwrap();
    let line = "{\"topic\":\"a\",\"payload\":1}\n";
    let head =
        format!("POST /import HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: {}\r\n\r\n", line.len());
    socket.write_all(head.as_bytes()).await.unwrap();
    let mut told = [0; 25];
    socket.read_exact(&mut told).await.unwrap();
    assert_eq!(std::str::from_utf8(&told).unwrap(), "HTTP/1.1 100 Continue\r\n\r\n");
    socket.write_all(line.as_bytes()).await.unwrap();
    let mut answer = [0; 15];
    socket.read_exact(&mut answer).await.unwrap();
    assert_eq!(std::str::from_utf8(&answer).unwrap(), "HTTP/1.1 200 OK");
}

type Piece = Result<Bytes, std::io::Error>;

/// A thousand lines, and more of them once those are stored and the token has expired.
fn outlives_its_token(bus: Bus, clock: Arc<Movable>, more: usize) -> impl futures::Stream<Item = Piece> {
    const LINE: &str = "{\"topic\":\"a\",\"payload\":1}\n";
    let expires = async move {
        let stored = async || bus.read("a", 0, 0, 2000).await.map_or(0, |page| page.events.len());
        until("the first batch is stored", || async { stored().await == 1000 }).await;
        clock.put_forward_two_days();
        Ok(Bytes::new())
    };
    let first = futures::stream::iter([Ok(Bytes::from(LINE.repeat(1000)))]);
    first.chain(futures::stream::once(expires)).chain(futures::stream::iter((0..more).map(|_| Ok(LINE.into()))))
}

#[tokio::test]
async fn a_token_that_expires_ends_the_import_and_the_report_says_where() {
    let clock = Movable::new();
    let home = Home::protected_by(clock.clone()).await;
    let body = Body::from_stream(outlives_its_token(home.bus.clone(), clock, 10));
    let ask = Ask::new(Method::POST, "/import").token(&["publish"]).body(body);
    let told = ask.send(&home).await.lines();
    assert_eq!((&told[0]["line"], &told[0]["error"]["code"]), (&json!(1001), &json!("jwt_expired")), "{told:?}");
    assert_eq!(told[1..], [json!({"imported": 1000, "duplicates": 0, "failed": 10})]);
    assert_eq!(home.bus.read("a", 0, 0, 2000).await.unwrap().events.len(), 1000);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_is_still_sending_hears_that_its_token_expired() {
    let clock = Movable::new();
    let home = Home::protected_by(clock.clone()).await;
    let address = serve(&home).await;
    let body = reqwest::Body::wrap_stream(outlives_its_token(home.bus.clone(), clock, 5_000_000));
    let request = reqwest::Client::new().post(format!("http://{address}/import")).bearer_auth(token(&["publish"]));
    let text = request.body(body).send().await.unwrap().text().await.unwrap();
    assert!(text.contains("jwt_expired"), "{text}");
    let sums: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!((&sums["imported"], &sums["failed"]), (&json!(1000), &json!(1000)));
}

/// An exported line of topic `a`, at this place.
fn line_at(partition: u32, offset: u64) -> String {
    let id = prom_types::EventId::derived(&format!("{partition}.{offset}"));
    let event = json!({"id": id, "ts": 1, "stored_ts": 1000 + offset % 1000, "topic": "a", "partition": partition,
        "offset": offset, "payload": offset});
    format!("{event}\n")
}

#[tokio::test]
async fn events_keep_their_places_and_times_where_these_are_free() {
    let home = Home::open().await;
    let lines: String = [(0, 3), (0, 4), (0, 9), (1, 7)].iter().map(|&(part, at)| line_at(part, at)).collect();
    let told = home.post_lines("/import", lines.clone()).await.lines();
    assert_eq!(told, [json!({"imported": 4, "duplicates": 0, "failed": 0, "moved": 1})], "there is no partition 1");
    let stored = home.get("/export?topic=a").await.lines();
    let places: Vec<_> = stored.iter().map(|event| (event["offset"].as_u64(), event["payload"].as_u64())).collect();
    assert_eq!(places, [(Some(3), Some(3)), (Some(4), Some(4)), (Some(9), Some(9)), (Some(10), Some(7))]);
    assert_eq!(stored[0]["stored_ts"], 1003);
    let again = home.post_lines("/import", lines).await.lines();
    assert_eq!(again, [json!({"imported": 0, "duplicates": 4, "failed": 0})]);
    let told = home.post_lines("/import", line_at(0, 5)).await.lines();
    assert_eq!(told, [json!({"imported": 1, "duplicates": 0, "failed": 0, "moved": 1})], "nothing goes between");
    let beyond = home.post_lines("/import", line_at(0, u64::MAX)).await.lines();
    assert_eq!(beyond, [json!({"imported": 1, "duplicates": 0, "failed": 0, "moved": 1})], "no offset is out of reach");
    assert_eq!(home.bus.publish("a", json!(1)).await.unwrap().offset, 13);
}

#[tokio::test]
async fn a_publisher_without_admin_imports_behind_what_is_there() {
    let home = Home::protected().await;
    let import = async |scopes: &[&str], line: String| {
        let ask = Ask::new(Method::POST, "/import").token(scopes).header("content-type", "application/x-ndjson");
        ask.body(line).send(&home).await.lines()
    };
    let told = import(&["publish:a"], line_at(0, 5)).await;
    assert_eq!(told, [json!({"imported": 1, "duplicates": 0, "failed": 0, "moved": 1})]);
    let told = import(&["publish:a", "admin:a"], line_at(0, 6)).await;
    assert_eq!(told, [json!({"imported": 1, "duplicates": 0, "failed": 0})]);
    let bounds = home.bus.bounds("a").await.unwrap()[0];
    assert_eq!(bounds.next, 7);
}
