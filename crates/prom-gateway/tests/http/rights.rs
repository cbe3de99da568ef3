//! Who may do what: a table over all routes.

use axum::http::Method;
use prom_engine::{Position, TopicSettings};
use serde_json::json;

use crate::home::{Ask, Home};

async fn protected() -> Home {
    let home = Home::protected().await;
    for topic in ["shop.orders", "shop.state", "other"] {
        home.bus.create_topic(TopicSettings::new(topic).unwrap().compacted()).await.unwrap();
        home.bus.publish(topic, json!(1)).key("k").await.unwrap();
        let group = if topic == "other" { "theirs" } else { "ours" };
        home.bus.subscribe(topic, group).from(Position::Earliest).start().await.unwrap().unsubscribe().await;
    }
    home
}

#[tokio::test]
async fn each_route_wants_its_own_right_and_no_other() {
    let home = protected().await;
    let event = json!({"topic": "shop.orders", "payload": 2, "opts": {"key": "k"}}).to_string();
    let cursor = json!({"topic": "shop.orders", "group": "ours", "from": "earliest"}).to_string();
    let skip = json!({"topic": "shop.orders", "group": "ours", "offset": 0}).to_string();
    let release = json!({"topic": "shop.orders"}).to_string();
    let (none, change) = (String::new(), json!({"max_attempts": 7}).to_string());
    let settings = json!({"compaction": true}).to_string();
    let routes = [
        (Method::POST, "/publish", &event, "publish:shop.orders"),
        (Method::GET, "/replay?topic=shop.orders", &none, "subscribe:shop.orders"),
        (Method::GET, "/export?topic=shop.orders", &none, "subscribe:shop.*"),
        (Method::GET, "/search?topic=shop.orders", &none, "subscribe:shop.orders"),
        (Method::GET, "/latest-by-key?topic=shop.orders&key=k", &none, "subscribe:shop.orders"),
        (Method::GET, "/topics/shop.orders", &none, "ops:shop.orders"),
        (Method::GET, "/cursors?topic=shop.orders", &none, "ops:shop.orders"),
        (Method::GET, "/lag?topic=shop.orders&group=ours", &none, "ops:shop.orders"),
        (Method::GET, "/lag?topic=shop.orders", &none, "ops:shop.orders"),
        (Method::GET, "/why?topic=shop.orders&group=ours", &none, "ops:shop.**"),
        (Method::GET, "/partitions?topic=shop.orders&group=ours", &none, "ops:shop.orders"),
        (Method::GET, "/groups/ours", &none, "ops:shop.*"),
        (Method::GET, "/stats", &none, "ops"),
        (Method::GET, "/metrics", &none, "ops:**"),
        (Method::PUT, "/topics/shop.orders", &settings, "admin:shop.orders"),
        (Method::POST, "/cursors", &cursor, "admin:shop.orders"),
        (Method::POST, "/skip", &skip, "admin:shop.orders"),
        (Method::POST, "/groups/ours/release", &release, "admin:shop.orders"),
        (Method::PATCH, "/groups/ours", &change, "admin:shop.*"),
        (Method::DELETE, "/groups/ours", &none, "admin:shop.*"),
        (Method::DELETE, "/topics/shop.orders?dry_run=1", &none, "admin:shop.orders"),
        (Method::DELETE, "/topics/shop.orders", &none, "admin:shop.orders"),
    ];
    for (method, path, body, scope) in routes {
        let ask = || Ask::new(method.clone(), path).body(body.clone());
        ask().send(&home).await.problem(401, "no_token");
        ask().header("authorization", "Bearer x.y.z").send(&home).await.problem(401, "jwt_invalid");
        ask().token(&[]).send(&home).await.problem(403, "forbidden");
        let (action, _) = scope.split_once(':').unwrap_or((scope, ""));
        for other in ["publish", "subscribe", "ops", "admin"].iter().filter(|other| **other != action) {
            ask().token(&[other]).send(&home).await.problem(403, "forbidden");
        }
        let elsewhere = format!("{action}:other");
        ask().token(&[&elsewhere]).send(&home).await.problem(403, "forbidden");
        let answer = ask().token(&[scope]).send(&home).await;
        assert!(answer.status.is_success(), "{method} {path} with {scope}: {} {}", answer.status, answer.text());
    }
}

#[tokio::test]
async fn lists_show_what_the_caller_may_see_and_no_more() {
    let home = protected().await;
    let get = async |path: &str, scope: &str| Ask::new(Method::GET, path).token(&[scope]).send(&home).await.json();
    let names = |list: &serde_json::Value, of: &str, name: &str| -> Vec<String> {
        list[of].as_array().unwrap().iter().map(|item| item[name].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&get("/topics", "ops:shop.**").await, "topics", "topic"), ["shop.orders", "shop.state"]);
    assert_eq!(names(&get("/topics", "ops").await, "topics", "topic").len(), 3);
    assert_eq!(names(&get("/groups", "ops:other").await, "groups", "group"), ["theirs"]);
    assert_eq!(names(&get("/lag", "ops:shop.orders").await, "lags", "topic"), ["shop.orders"]);
}

#[tokio::test]
async fn some_routes_are_open_to_everybody() {
    let home = protected().await;
    for path in ["/", "/healthz", "/readyz", "/openapi.json"] {
        assert_eq!(home.get(path).await.status, 200, "{path}");
    }
}

#[tokio::test]
async fn a_refused_token_is_asked_for_again_and_an_address_is_no_place_for_one() {
    let home = protected().await;
    let refused = home.get("/topics").await;
    assert_eq!(refused.headers["www-authenticate"], "Bearer");
    let in_address = format!("/topics?access_token={}", crate::home::token(&["*"]));
    home.get(&in_address).await.problem(401, "no_token");
    Ask::new(Method::GET, "/topics").header("authorization", "Basic eDp5").send(&home).await.problem(401, "no_token");
}

#[tokio::test]
async fn reserved_topics_are_read_with_rights_that_name_them() {
    let home = protected().await;
    let cursor = json!({"topic": "other", "group": "theirs", "from": "earliest"}).to_string();
    Ask::new(Method::POST, "/cursors").token(&["admin"]).body(cursor).send(&home).await.json();
    let audit = |scope: &'static str| Ask::new(Method::GET, "/replay?topic=system.audit").token(&[scope]);
    audit("subscribe:**").send(&home).await.problem(403, "forbidden");
    assert_eq!(audit("subscribe:system.audit").send(&home).await.json()["count"], 1);
}

#[tokio::test]
async fn changing_a_part_of_a_group_needs_the_right_to_all_of_it() {
    let home = protected().await;
    // It joins the other two: what changes for one of them changes for both.
    home.bus.subscribe("shop.*", "ours").from(Position::Earliest).start().await.unwrap().unsubscribe().await;
    let change = json!({"topic": "shop.orders", "max_attempts": 7}).to_string();
    let patch = |scopes: &[&str]| Ask::new(Method::PATCH, "/groups/ours").token(scopes).body(change.clone());
    let attempts = async || -> Vec<Option<u32>> {
        let group = home.bus.groups().await.unwrap().into_iter().find(|group| group.name.as_str() == "ours").unwrap();
        group.subscriptions.iter().map(|subscription| subscription.options.max_attempts).collect()
    };
    for scopes in [&["admin:shop.orders"][..], &["admin:shop.orders", "admin:shop.state"], &["admin:other"]] {
        patch(scopes).send(&home).await.problem(403, "forbidden");
        assert_eq!(attempts().await, [None; 3], "{scopes:?}");
    }
    patch(&["admin:shop.*"]).send(&home).await.json();
    assert_eq!(attempts().await, [Some(7); 3]);
}

#[tokio::test]
async fn a_group_that_subscribes_to_nothing_is_changed_and_deleted_by_those_who_administer_the_hub() {
    let home = protected().await;
    let empty = json!({"subscriptions": [], "created_ts": 1, "last_used_ts": 1}).to_string();
    home.bus.document_or_insert("groups", "idle", || empty.clone().into_bytes()).await.unwrap();
    for (method, body) in [(Method::PATCH, "{}"), (Method::PATCH, r#"{"topic":"shop.orders"}"#), (Method::DELETE, "")] {
        let ask = |scope: &str| Ask::new(method.clone(), "/groups/idle").token(&[scope]).body(body);
        ask("admin:shop.**").send(&home).await.problem(403, "forbidden");
        let answer = ask("admin").send(&home).await;
        assert_ne!(answer.status, 403, "{method} {body}: {}", answer.text());
    }
}

#[tokio::test]
async fn whether_a_group_exists_is_told_only_to_those_who_may_see_it() {
    let home = protected().await;
    let cursor = |group: &str| json!({"topic": "shop.orders", "group": group, "from": "earliest"}).to_string();
    for (method, path) in [
        (Method::GET, "/groups/NAME"),
        (Method::PATCH, "/groups/NAME"),
        (Method::DELETE, "/groups/NAME"),
        (Method::GET, "/lag?group=NAME"),
        (Method::GET, "/lag?topic=shop.orders&group=NAME"),
        (Method::GET, "/why?topic=shop.orders&group=NAME"),
        (Method::GET, "/partitions?topic=shop.orders&group=NAME"),
        (Method::GET, "/cursors?topic=shop.orders&group=NAME"),
        (Method::POST, "/cursors"),
        (Method::POST, "/skip"),
    ] {
        for scopes in [&["ops:shop.**", "admin:shop.**"][..], &["ops:shop.orders", "admin:shop.orders"], &["publish"]] {
            let ask = async |group: &str| {
                let body = match path {
                    "/cursors" => cursor(group),
                    "/skip" => json!({"topic": "shop.orders", "group": group, "offset": 0}).to_string(),
                    _ => "{}".to_owned(),
                };
                let ask = Ask::new(method.clone(), &path.replace("NAME", group)).token(scopes).body(body);
                let answer = ask.send(&home).await;
                (answer.status, answer.text().replace(group, "NAME"))
            };
            // Another's group, which reads another topic, and a group that does not exist.
            assert_eq!(ask("theirs").await, ask("nobodys").await, "{method} {path} with {scopes:?}");
        }
    }
    Ask::new(Method::GET, "/groups/nobodys").token(&["ops"]).send(&home).await.problem(404, "unknown_topic");
    Ask::new(Method::GET, "/lag?group=nobodys").token(&["ops"]).send(&home).await.problem(404, "unknown_topic");
}

#[tokio::test]
async fn a_list_says_that_it_is_not_all_and_a_caller_that_may_see_nothing_is_refused() {
    let home = protected().await;
    for path in ["/topics", "/groups", "/lag"] {
        let ask = |scope: &'static str| Ask::new(Method::GET, path).token(&[scope]);
        assert_eq!(ask("ops:shop.**").send(&home).await.json()["hidden"], true, "{path}");
        assert_eq!(ask("ops:nothing").send(&home).await.json()["hidden"], true, "{path}");
        assert_eq!(ask("ops").send(&home).await.json()["hidden"], json!(null), "{path}");
        ask("publish").send(&home).await.problem(403, "forbidden");
    }
}
