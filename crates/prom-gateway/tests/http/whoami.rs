//! `/whoami`.

use axum::http::Method;
use serde_json::json;

use crate::home::{Ask, Home};

#[tokio::test]
async fn everybody_may_do_everything_on_a_hub_without_auth() {
    let home = Home::open().await;
    let me = home.get("/whoami").await.json();
    assert_eq!(me["open"], true);
    assert_eq!(
        me["rights"],
        json!({"publish": "everywhere", "subscribe": "everywhere", "ops": "everywhere", "admin": "everywhere"})
    );
}

#[tokio::test]
async fn a_narrow_token_is_told_how_narrow_it_is() {
    let home = Home::protected().await;
    home.get("/whoami").await.problem(401, "no_token");
    let me =
        Ask::new(Method::GET, "/whoami?topic=orders.placed").token(&["ops", "subscribe:orders.*"]).send(&home).await;
    let me = me.json();
    assert_eq!(me["open"], false);
    assert!(me["expires_at_ms"].is_i64());
    assert_eq!(
        me["rights"],
        json!({"publish": "nowhere", "subscribe": "somewhere", "ops": "everywhere", "admin": "nowhere"})
    );
    assert_eq!(me["topic"], json!({"publish": false, "subscribe": true, "ops": true, "admin": false}));
    let other = Ask::new(Method::GET, "/whoami?topic=payments.taken").token(&["subscribe:orders.*"]).send(&home).await;
    assert_eq!(other.json()["topic"]["subscribe"], false);
}
