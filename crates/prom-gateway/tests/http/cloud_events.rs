//! CloudEvents in and out.

use axum::http::Method;
use serde_json::{Value, json};

use crate::home::{Ask, Home};

fn binary(headers: &[(&str, &str)], body: &str) -> Ask {
    let ask = Ask::new(Method::POST, "/publish");
    headers.iter().fold(ask, |ask, (name, value)| ask.header(name, value)).body(body.to_owned())
}

const BINARY: [(&str, &str); 4] =
    [("ce-specversion", "1.0"), ("ce-id", "A-1"), ("ce-source", "/shop"), ("ce-type", "orders.placed")];

async fn last(home: &Home, topic: &str) -> Value {
    let page = home.get(&format!("/replay?topic={topic}")).await.json();
    page["events"].as_array().unwrap().last().unwrap().clone()
}

#[tokio::test]
async fn binary_mode_maps_attributes_to_the_event() {
    let home = Home::open().await;
    let more = [
        ("ce-subject", "order%20%E2%82%AC7"),
        ("ce-time", "2018-04-05T17:31:00Z"),
        ("ce-tenant", "acme"),
        ("content-type", "application/json"),
    ];
    binary(&[&BINARY[..], &more].concat(), r#"{"n":7}"#).send(&home).await.json();
    let event = last(&home, "orders.placed").await;
    assert_eq!(event["payload"], json!({"n": 7}));
    assert_eq!(event["key"], "order €7");
    assert_eq!(event["ts"], 1_522_949_460_000_i64);
    let headers =
        json!({"content-type": "application/json", "x-ce-id": "A-1", "x-ce-source": "/shop", "x-ce-tenant": "acme"});
    assert_eq!(event["headers"], headers);
}

#[tokio::test]
async fn the_same_source_and_id_are_stored_once() {
    let home = Home::open().await;
    let mut first = binary(&BINARY, "1").send(&home).await.json();
    first["duplicate"] = json!(true);
    assert_eq!(binary(&BINARY, "1").send(&home).await.json(), first);
}

#[tokio::test]
async fn structured_mode_and_batches_are_taken() {
    let home = Home::open().await;
    let event = |id: &str| {
        json!({"specversion": "1.0", "id": id, "source": "/s", "type": "a.b", "subject": "k", "flag": true, "n": 3, "none": null,
               "data": {"x": [1, 2]}})
    };
    let send = |kind: &str, body: String| Ask::new(Method::POST, "/publish").header("content-type", kind).body(body);
    send("application/cloudevents+json; charset=utf-8", event("1").to_string()).send(&home).await.json();
    let stored = last(&home, "a.b").await;
    assert_eq!((&stored["payload"], &stored["key"]), (&json!({"x": [1, 2]}), &json!("k")));
    assert_eq!((&stored["headers"]["x-ce-flag"], &stored["headers"]["x-ce-n"]), (&json!("true"), &json!("3")));

    let batch = json!([event("2"), {"specversion": "1.0", "id": "3", "source": "/s"}, event("4")]).to_string();
    let results = send("application/cloudevents-batch+json", batch).send(&home).await.json();
    assert_eq!(results[0]["offset"], 1);
    assert_eq!((&results[1]["field"], &results[1]["index"]), (&json!("type"), &json!(1)));
    assert_eq!(results[2]["offset"], 2);
}

#[tokio::test]
async fn bad_ones_are_refused_by_the_attribute() {
    let home = Home::open().await;
    let with = |name: &'static str, value: &'static str| -> Vec<(&'static str, &'static str)> {
        BINARY.iter().copied().filter(|(known, _)| *known != name).chain([(name, value)]).collect()
    };
    for (headers, attribute) in [
        (BINARY[1..].to_vec(), "specversion"),
        (with("ce-specversion", "2.0"), "specversion"),
        (with("ce-type", "com.example.OrderPlaced"), "type"),
        (with("ce-time", "yesterday"), "time"),
        (with("ce-id", ""), "id"),
        (with("ce-tenant", "a%0Ab"), "tenant"),
    ] {
        let problem = binary(&headers, "1").send(&home).await.problem(400, "bad_request");
        assert_eq!(problem["field"], attribute, "{problem}");
    }
    let both = json!({"specversion": "1.0", "id": "1", "source": "/s", "type": "a", "data": 1, "data_base64": "eA=="});
    for (member, value) in [("data_base64", json!("not base64!")), ("data_base64", json!(1)), ("source", json!({}))] {
        let mut event = both.clone();
        event.as_object_mut().unwrap().remove("data");
        event[member] = value;
        let ask = Ask::new(Method::POST, "/publish").header("content-type", "application/cloudevents+json");
        let problem = ask.body(event.to_string()).send(&home).await.problem(400, "bad_request");
        assert_eq!(problem["field"], member);
    }
    let ask = Ask::new(Method::POST, "/publish").header("content-type", "application/cloudevents+json");
    ask.body(both.to_string()).send(&home).await.problem(400, "bad_request");
    assert!(home.bus.topics().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_type_that_is_no_topic_goes_where_the_request_says_and_comes_back() {
    let home = Home::open().await;
    let mut ask = Ask::new(Method::POST, "/publish?topic=shop.orders");
    for (name, value) in [BINARY[0], BINARY[1], BINARY[2], ("ce-type", "com.example.OrderPlaced")] {
        ask = ask.header(name, value);
    }
    ask.header("content-type", "application/octet-stream").body(vec![0xff, 0x00]).send(&home).await.json();
    let exported = home.get("/export?topic=shop.orders&format=cloudevents").await.lines();
    let event = &exported[0];
    assert_eq!(
        (&event["type"], &event["id"], &event["source"]),
        (&json!("com.example.OrderPlaced"), &json!("A-1"), &json!("/shop"))
    );
    assert_eq!((&event["data_base64"], &event["data"]), (&json!("/wA="), &Value::Null));
    assert_eq!(event["datacontenttype"], "application/octet-stream");
}

#[tokio::test]
async fn any_event_can_be_exported_as_a_cloud_event() {
    let home = Home::open().await;
    home.bus
        .publish("a.b", json!({"n": 1}))
        .key("k")
        .ts(0)
        .header("x-schema-version", "2")
        .tag("t")
        .sid("s")
        .await
        .unwrap();
    let ask = Ask::new(Method::GET, "/export?topic=a.b").header("accept", "application/cloudevents-batch+json");
    let answer = ask.send(&home).await;
    assert_eq!(answer.content_type(), "application/cloudevents-batch+json");
    let event = answer.json()[0].clone();
    for (name, value) in [
        ("specversion", json!("1.0")),
        ("type", json!("a.b")),
        ("source", json!("urn:promethean:topic:a.b")),
        ("subject", json!("k")),
        ("time", json!("1970-01-01T00:00:00.000Z")),
        ("datacontenttype", json!("application/json")),
        ("data", json!({"n": 1})),
        ("xschemaversion", json!("2")),
        ("offset", json!("0")),
        ("tags", json!("t")),
        ("sid", json!("s")),
    ] {
        assert_eq!(event[name], value, "{name} of {event}");
    }
    let names = event.as_object().unwrap().keys();
    let plain = |name: &String| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    assert!(names.into_iter().all(plain), "attribute names are letters and digits: {event}");
}
