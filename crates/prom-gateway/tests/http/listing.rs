//! Pages of `/topics` and `/groups`: filtered, sorted and cut by the hub.

use axum::http::Method;
use prom_engine::Position;
use serde_json::{Value, json};

use crate::home::{Ask, Home};

fn names(list: &Value, of: &str, name: &str) -> Vec<String> {
    list[of].as_array().unwrap().iter().map(|one| one[name].as_str().unwrap().to_owned()).collect()
}

async fn shop() -> Home {
    let home = Home::open().await;
    for (topic, events) in [("orders.placed", 3), ("orders.paid", 9), ("stock.moved", 1), ("stock.counted", 0)] {
        home.put(&format!("/topics/{topic}"), json!({})).await.json();
        home.publish_numbers(topic, events).await;
    }
    home
}

#[tokio::test]
async fn topics_come_page_by_page_in_the_order_that_was_asked_for() {
    let home = shop().await;
    let all = home.get("/topics").await.json();
    assert_eq!(names(&all, "topics", "topic"), ["orders.paid", "orders.placed", "stock.counted", "stock.moved"]);
    assert_eq!((&all["total"], &all["next"]), (&json!(4), &Value::Null));
    let first = home.get("/topics?sort=-events&limit=3").await.json();
    assert_eq!(names(&first, "topics", "topic"), ["orders.paid", "orders.placed", "stock.moved"]);
    assert_eq!(first["total"], 4);
    let next = first["next"].as_str().unwrap();
    let second = home.get(&format!("/topics?sort=-events&limit=3&next={next}")).await.json();
    assert_eq!(names(&second, "topics", "topic"), ["stock.counted"]);
    assert_eq!(second["next"], Value::Null);
    let found = home.get("/topics?q=stock.*&sort=-topic").await.json();
    assert_eq!(names(&found, "topics", "topic"), ["stock.moved", "stock.counted"]);
    assert_eq!(names(&home.get("/topics?q=PLACED").await.json(), "topics", "topic"), ["orders.placed"]);
}

#[tokio::test]
async fn groups_come_with_their_lag_and_can_be_sorted_by_it() {
    let home = shop().await;
    let mut held = Vec::new();
    for (group, topic) in [("billing", "orders.placed"), ("audit", "orders.*"), ("idle", "stock.counted")] {
        held.push(home.bus.subscribe(topic, group).from(Position::Earliest).start().await.unwrap());
    }
    let list = home.get("/groups?sort=-lag_events&limit=2").await.json();
    assert_eq!(names(&list, "groups", "group"), ["audit", "billing"]);
    assert_eq!((&list["groups"][0]["lag_events"], &list["groups"][1]["lag_events"]), (&json!(12), &json!(3)));
    assert_eq!(list["total"], 3);
    assert_eq!(names(&home.get("/groups?q=placed").await.json(), "groups", "group"), ["billing"]);
    let whole = home.get("/groups").await.json();
    assert_eq!(whole["groups"][0].get("lag_events"), None, "counting costs, and was not asked for");
}

#[tokio::test]
async fn a_page_counts_only_what_its_reader_may_see() {
    let home = Home::protected().await;
    for topic in ["orders.placed", "salaries.paid"] {
        home.publish_numbers(topic, 2).await;
    }
    let list = Ask::new(Method::GET, "/topics?limit=10&sort=-events").token(&["ops:orders.*"]).send(&home).await.json();
    assert_eq!(names(&list, "topics", "topic"), ["orders.placed"]);
    assert_eq!((&list["total"], &list["hidden"]), (&json!(1), &json!(true)));
}

#[tokio::test]
async fn a_bad_page_is_refused_by_the_name_of_what_is_wrong() {
    let home = Home::open().await;
    for (query, field) in [("sort=size", "sort"), ("limit=0", "limit"), ("limit=9999", "limit"), ("next=x", "next")] {
        let problem = home.get(&format!("/topics?{query}")).await.problem(400, "bad_request");
        assert_eq!(problem["field"], field, "{query}");
    }
}
