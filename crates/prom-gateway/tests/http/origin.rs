//! Web pages of other origins.

use axum::http::Method;
use prom_gateway::{Cors, GatewayOptions};

use crate::home::{Answer, Ask, Home};

const PAGE: &str = "https://page.example";
const EVENT: &str = r#"{"topic":"a","payload":1}"#;

async fn with(cors: Cors) -> Home {
    Home::with(GatewayOptions { cors, ..GatewayOptions::default() }, Default::default()).await
}

async fn publish(home: &Home, origin: &str) -> Answer {
    let ask = Ask::new(Method::POST, "/publish").header("host", "127.0.0.1:8090").header("origin", origin);
    ask.header("content-type", "text/plain").body(EVENT).send(home).await
}

fn allowed(answer: &Answer) -> Option<&str> {
    answer.headers.get("access-control-allow-origin").map(|value| value.to_str().unwrap())
}

#[tokio::test]
async fn by_default_pages_of_other_origins_neither_read_nor_change() {
    let home = with(Cors::None).await;
    publish(&home, PAGE).await.problem(403, "forbidden");
    publish(&home, "null").await.problem(403, "forbidden");
    assert!(home.bus.topics().await.unwrap().is_empty());
    let read = Ask::new(Method::GET, "/topics").header("origin", PAGE).send(&home).await;
    assert_eq!((read.status.as_u16(), allowed(&read)), (200, None));
    publish(&home, "http://127.0.0.1:8090").await.json();
}

#[tokio::test]
async fn allowed_origins_do_both_and_others_do_not() {
    let home = with(Cors::Origins(vec![PAGE.to_owned()])).await;
    let answer = publish(&home, PAGE).await;
    assert_eq!((answer.status.as_u16(), allowed(&answer)), (200, Some(PAGE)));
    publish(&home, "https://evil.example").await.problem(403, "forbidden");
    let preflight = Ask::new(Method::OPTIONS, "/topics/a")
        .header("origin", PAGE)
        .header("access-control-request-method", "PUT")
        .header("access-control-request-headers", "authorization,content-type")
        .send(&home)
        .await;
    assert_eq!((preflight.status.as_u16(), allowed(&preflight)), (200, Some(PAGE)));
    assert!(preflight.headers["access-control-allow-methods"].to_str().unwrap().contains("PUT"));
    assert!(preflight.headers["access-control-allow-headers"].to_str().unwrap().contains("authorization"));
}

#[tokio::test]
async fn all_origins_can_be_allowed() {
    let home = with(Cors::Any).await;
    let answer = publish(&home, PAGE).await;
    assert_eq!((answer.status.as_u16(), allowed(&answer)), (200, Some("*")));
}
