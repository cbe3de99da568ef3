//! CORS: web pages of other origins.

use axum::http::Method;
use prom_gateway::{Cors, GatewayOptions};

use crate::home::{Answer, Ask, Home};

const PAGE: &str = "https://page.example";
const EVENT: &str = r#"{"topic":"a","payload":1}"#;

async fn with(cors: Cors) -> Home {
    Home::with(GatewayOptions { cors, ..GatewayOptions::default() }, Default::default()).await
}

async fn publish(home: &Home, origin: &str) -> Answer {
    let ask = Ask::new(Method::POST, "/publish").header("origin", origin);
    ask.body(EVENT).send(home).await
}

fn allowed(answer: &Answer) -> Option<&str> {
    answer.headers.get("access-control-allow-origin").map(|value| value.to_str().unwrap())
}

#[tokio::test]
async fn by_default_no_page_of_another_origin_may_read() {
    let home = with(Cors::None).await;
    for answer in
        [publish(&home, PAGE).await, Ask::new(Method::GET, "/topics").header("origin", PAGE).send(&home).await]
    {
        assert_eq!((answer.status.as_u16(), allowed(&answer)), (200, None));
    }
}

#[tokio::test]
async fn allowed_origins_may_and_others_may_not() {
    let home = with(Cors::Origins(vec![PAGE.to_owned()])).await;
    assert_eq!(allowed(&publish(&home, PAGE).await), Some(PAGE));
    assert_eq!(allowed(&publish(&home, "https://evil.example").await), None);
    let refused = Ask::new(Method::GET, "/nothing").header("origin", PAGE).send(&home).await;
    assert_eq!(allowed(&refused), Some(PAGE), "a page can read problems too");
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
