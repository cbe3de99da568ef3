//! Names and addresses that try something.

use axum::http::{Method, Uri};

use crate::home::{Ask, Home};

#[tokio::test]
async fn tricks_with_names_are_refused_on_every_route() {
    let home = Home::open().await;
    let long = "a".repeat(300);
    for name in [
        "..%2f",
        "..%2F..%2Fetc%2Fpasswd",
        "%2e%2e",
        "a%00b",
        "a%2Fb",
        "A",
        "a..b",
        "%20",
        "%F0%9F%98%80",
        "a%25b",
        "*",
        &long,
    ] {
        for path in [
            format!("/topics/{name}"),
            format!("/replay?topic={name}"),
            format!("/export?topic={name}"),
            format!("/cursors?topic={name}"),
            format!("/lag?topic={name}"),
            format!("/why?topic={name}&group=g"),
            format!("/partitions?topic={name}&group=g"),
            format!("/latest-by-key?topic={name}&key=k"),
        ] {
            home.get(&path).await.problem(400, "bad_request");
        }
        Ask::new(Method::PUT, &format!("/topics/{name}")).body("{}").send(&home).await.problem(400, "bad_request");
    }
    for group in ["..%2f", "a%20b", "%00", "%C3%BC", &"g".repeat(200)] {
        for path in [format!("/groups/{group}"), format!("/lag?topic=a&group={group}"), format!("/lag?group={group}")] {
            home.get(&path).await.problem(400, "bad_request");
        }
    }
    assert!(home.bus.topics().await.unwrap().is_empty());
}

#[tokio::test]
async fn bytes_that_are_not_utf_8_are_refused() {
    let home = Home::open().await;
    for path in ["/topics/%ff", "/groups/%c3%28", "/replay?topic=%ff"] {
        let uri: Uri = path.parse().unwrap();
        home.get(&uri.to_string()).await.problem(400, "bad_request");
    }
}

#[tokio::test]
async fn what_a_problem_quotes_is_cut_short() {
    let home = Home::open().await;
    home.publish_numbers("a", 1).await;
    let answer = home.get(&format!("/replay?topic=a&from={}", "x".repeat(20_000))).await;
    answer.problem(400, "bad_request");
    assert!(answer.body.len() < 2000, "{} bytes", answer.body.len());
}
