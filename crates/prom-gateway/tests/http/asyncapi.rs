//! `/asyncapi.json`.

use axum::http::Method;
use serde_json::{Value, json};

use crate::home::{Ask, Home};

async fn shop(home: &Home) {
    let admin = |method, path: &str, body: Value| Ask::new(method, path).token(&["*"]).body(body.to_string());
    for topic in ["shop.orders", "other"] {
        admin(Method::PUT, &format!("/topics/{topic}"), json!({})).send(home).await.json();
    }
    let schema = json!({"schema": {"title": "An order", "type": "object", "$defs": {"n": {"type": "integer"}},
        "properties": {"n": {"$ref": "#/$defs/n"}}}});
    admin(Method::POST, "/topics/shop.orders/schema", schema).send(home).await.json();
}

#[tokio::test]
async fn topics_are_channels_and_schemas_are_messages() {
    let home = Home::protected().await;
    shop(&home).await;
    let ask = Ask::new(Method::GET, "/asyncapi.json").header("host", "hub.example.com:8090");
    let document = ask.token(&["publish:shop.**", "subscribe:other"]).send(&home).await.json();
    assert_eq!(document["asyncapi"], "3.0.0");
    assert_eq!(document["servers"]["websocket"]["host"], "hub.example.com:8090");
    assert_eq!(document["channels"]["shop.orders"]["address"], "shop.orders");
    let message = &document["components"]["messages"]["shop.orders"];
    assert_eq!((&message["title"], &message["x-schema-version"]), (&json!("An order"), &json!(1)));
    assert_eq!(message["payload"]["schemaFormat"], "application/schema+json;version=2020-12");
    // Readers of the document look for references in the whole of it.
    let reference = message["payload"]["schema"]["properties"]["n"]["$ref"].as_str().unwrap();
    assert_eq!(document.pointer(reference.strip_prefix('#').unwrap()), Some(&json!({"type": "integer"})), "{message}");
    let mut operations: Vec<&String> = document["operations"].as_object().unwrap().keys().collect();
    operations.sort();
    assert_eq!(operations, ["publish.shop.orders", "subscribe.other"]);
    assert_eq!(document["components"]["messages"]["other"].get("payload"), None);
}

#[tokio::test]
async fn what_the_caller_may_not_see_is_not_there() {
    let home = Home::protected().await;
    shop(&home).await;
    let ask = |path: &str, scopes: &[&str]| Ask::new(Method::GET, path).token(scopes).send(&home);
    let seen = ask("/asyncapi.json", &["subscribe:other"]).await;
    assert!(!seen.text().contains("shop") && seen.text().contains("other"), "{}", seen.text());
    let some = ask("/asyncapi.json?topic=shop.*", &["ops"]).await.json();
    assert_eq!(some["channels"].as_object().unwrap().keys().collect::<Vec<_>>(), ["shop.orders"]);
    ask("/asyncapi.json", &[]).await.problem(403, "forbidden");
    Ask::new(Method::GET, "/asyncapi.json").send(&home).await.problem(401, "no_token");
}
