//! Looking needs `ops` on everything, changing `admin` on everything; nothing less, and nothing else.

use axum::http::Method;
use serde_json::json;

use super::with_flows;
use crate::home::{Ask, Home};

const NARROW: [&str; 6] = ["publish", "subscribe", "ops:orders.**", "admin:orders.**", "ops:**@billing", "admin:a.*"];

#[tokio::test]
async fn each_route_wants_its_own_right() {
    let home = with_flows(Home::protected().await).await;
    let (none, all, seek) = (String::new(), json!({"all": true}).to_string(), json!({"at": 1}).to_string());
    for (method, path, body, right) in [
        (Method::GET, "/flows", &none, "ops"),
        (Method::GET, "/flows?kind=outbox", &none, "ops"),
        (Method::GET, "/flows/outbox/orders", &none, "ops"),
        (Method::GET, "/flows/outbox/orders/rows", &none, "ops"),
        (Method::POST, "/flows/outbox/orders/requeue", &all, "admin"),
        (Method::POST, "/flows/outbox/orders/drop", &all, "admin"),
        (Method::POST, "/flows/feed/customers/seek", &seek, "admin"),
        (Method::POST, "/flows/feed/customers/restart", &none, "admin"),
        (Method::POST, "/flows/outbox/orders/restart", &none, "admin"),
        (Method::POST, "/flows/projection/processes/rebuild", &none, "admin"),
    ] {
        let ask = || Ask::new(method.clone(), path).body(body.clone());
        ask().send(&home).await.problem(401, "no_token");
        ask().token(&[]).send(&home).await.problem(403, "forbidden");
        let other = if right == "ops" { "admin" } else { "ops" };
        for scope in NARROW.into_iter().chain([other]) {
            let refused = ask().token(&[scope]).send(&home).await;
            refused.problem(403, "forbidden");
        }
        let answer = ask().token(&[right]).send(&home).await;
        assert!(answer.status.is_success(), "{method} {path} with {right}: {} {}", answer.status, answer.text());
    }
}

#[tokio::test]
async fn whether_there_is_a_flow_is_told_only_to_those_who_may_see_it() {
    let home = with_flows(Home::protected().await).await;
    for (method, path, body) in [
        (Method::GET, "/flows/outbox/NAME", ""),
        (Method::GET, "/flows/outbox/NAME/rows", ""),
        (Method::POST, "/flows/outbox/NAME/drop", "not even JSON"),
        (Method::POST, "/flows/outbox/NAME/restart", ""),
    ] {
        let ask = async |name: &str| {
            let ask = Ask::new(method.clone(), &path.replace("NAME", name)).token(&["ops:a.b", "admin:a.b"]);
            let answer = ask.body(body).send(&home).await;
            (answer.status, answer.text().replace(name, "NAME"))
        };
        assert_eq!(ask("orders").await, ask("nothing").await, "{method} {path}");
        assert_eq!(ask("orders").await.0, 403, "{method} {path}");
    }
}
