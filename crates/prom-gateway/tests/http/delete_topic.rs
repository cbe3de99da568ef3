//! `DELETE /topics/{topic}`.

use axum::http::Method;
use prom_engine::Position;
use serde_json::json;

use crate::home::{Ask, Home};

async fn with_topic(home: Home) -> Home {
    home.publish_numbers("orders.placed", 3).await;
    for group in ["billing", "audit"] {
        let group = home.bus.subscribe("orders.placed", group).from(Position::Earliest);
        group.start().await.unwrap().unsubscribe().await;
    }
    home
}

#[tokio::test]
async fn what_would_go_is_told_before_anything_goes() {
    let home = with_topic(Home::open().await).await;
    let ask = |path| Ask::new(Method::DELETE, path);
    let preview = ask("/topics/orders.placed?dry_run=1").send(&home).await.json();
    assert_eq!(preview["dry_run"], true);
    assert_eq!(
        (&preview["topics"][0]["events"], &preview["topics"][0]["groups"]),
        (&json!(3), &json!(["audit", "billing"]))
    );
    assert_eq!(home.get("/topics/orders.placed").await.json()["events"], 3);
    let deleted = ask("/topics/orders.placed").send(&home).await.json();
    assert_eq!(deleted["topics"], preview["topics"]);
    home.get("/topics/orders.placed").await.problem(404, "unknown_topic");
    ask("/topics/orders.placed").send(&home).await.problem(404, "unknown_topic");
    ask("/topics/system.audit").send(&home).await.problem(400, "bad_request");
    assert!(home.get("/groups").await.text().contains("billing"), "groups stay");
}

#[tokio::test]
async fn a_narrow_token_deletes_only_its_own_and_learns_nothing_of_others() {
    let home = with_topic(Home::protected().await).await;
    let ask = |path: &str, scope: &str| Ask::new(Method::DELETE, path).token(&[scope]);
    for scope in ["admin:other", "ops:orders.placed", "publish:orders.placed", "admin:dlq.orders.placed"] {
        ask("/topics/orders.placed", scope).send(&home).await.problem(403, "forbidden");
    }
    // The same words, whether or not there is such a topic.
    let there = ask("/topics/orders.placed", "admin:other").send(&home).await.text().to_owned();
    let nowhere = ask("/topics/orders.nowhere", "admin:other").send(&home).await.text().to_owned();
    assert_eq!(there.replace("orders.placed", "X"), nowhere.replace("orders.nowhere", "X"));
    ask("/topics/orders.placed?with_letters=1", "admin:orders.placed").send(&home).await.problem(403, "forbidden");
    let own = ask("/topics/orders.placed?dry_run=1", "admin:orders.placed@billing").send(&home).await;
    if own.status.is_success() {
        assert_eq!(own.json()["topics"][0]["groups"], json!(["billing"]));
        assert_eq!(own.json()["topics"][0]["hidden"], true);
    }
    let deleted = ask("/topics/orders.placed", "admin:orders.placed").send(&home).await;
    assert!(deleted.status.is_success(), "{}", deleted.text());
}
