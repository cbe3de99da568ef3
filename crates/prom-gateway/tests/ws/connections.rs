//! `GET /connections` and `DELETE /connections/{connection}`: who is there, and ending one.

use serde_json::{Value, json};

use crate::scene::{Scene, token, until};

async fn ask(scene: &Scene, method: reqwest::Method, path: &str, scopes: &[&str]) -> (u16, Value) {
    let url = format!("http://{}{path}", scene.server.address());
    let request = reqwest::Client::new().request(method, url).bearer_auth(token("operator", scopes));
    let answer = request.send().await.unwrap();
    let status = answer.status().as_u16();
    (status, serde_json::from_str(&answer.text().await.unwrap()).unwrap())
}

async fn list(scene: &Scene, query: &str) -> Value {
    let (status, list) = ask(scene, reqwest::Method::GET, &format!("/connections{query}"), &["ops"]).await;
    assert_eq!(status, 200, "{list}");
    list
}

#[tokio::test]
async fn connections_are_listed_with_what_they_subscribe_to() {
    let scene = Scene::protected().await;
    let mut alpha = scene.client_with(&["subscribe:**"]).await;
    let silent = scene.connect().await;
    alpha.ok(json!({"op": "SUBSCRIBE", "topic": "a.*", "group": "g"})).await;
    alpha.ok(json!({"op": "SUBSCRIBE", "topic": "b"})).await;
    let all = list(&scene, "").await;
    assert_eq!(all["total"], 2);
    let entry = &list(&scene, "?q=alpha").await["connections"][0];
    assert_eq!((&entry["subject"], &entry["speaker"]), (&json!("alpha"), &json!("client")));
    let rights = json!({"publish": "nowhere", "subscribe": "everywhere", "ops": "nowhere", "admin": "nowhere"});
    assert_eq!(entry["rights"], rights);
    assert_eq!(entry["subscribed"], json!([{"topic": "a.*", "group": "g"}, {"topic": "b"}]));
    let speakers = all["connections"].as_array().unwrap().iter().map(|one| one["speaker"].as_str().unwrap());
    assert!(speakers.collect::<Vec<_>>().contains(&"unknown"), "{all}");
    alpha.ok(json!({"op": "UNSUBSCRIBE", "topic": "b"})).await;
    until("the subscription is gone", || async {
        list(&scene, "?q=alpha").await["connections"][0]["subscriptions"] == 1
    })
    .await;
    drop((alpha, silent));
    until("both are gone", || async { list(&scene, "").await["total"] == 0 }).await;
}

#[tokio::test]
async fn an_administrator_ends_a_connection_and_the_audit_trail_says_who() {
    let scene = Scene::protected().await;
    let mut alpha = scene.client_with(&["subscribe:**"]).await;
    alpha.ok(json!({"op": "SUBSCRIBE", "topic": "a", "group": "g"})).await;
    let name = list(&scene, "?q=alpha").await["connections"][0]["connection"].as_str().unwrap().to_owned();
    let path = format!("/connections/{name}");
    let (status, refused) = ask(&scene, reqwest::Method::DELETE, &path, &["ops"]).await;
    assert_eq!((status, &refused["code"]), (403, &json!("forbidden")));
    let (status, ended) = ask(&scene, reqwest::Method::DELETE, &path, &["admin"]).await;
    assert_eq!((status, &ended["subscriptions"]), (200, &json!(1)));
    let (frames, code) = alpha.last_words().await;
    assert_eq!((frames.last().unwrap()["code"].as_str(), code), (Some("fenced"), Some(1001)));
    let trail = scene.bus.read("system.audit", 0, 0, 1_000_000).await.unwrap().events;
    let entry: Value = trail.last().unwrap().payload().unwrap();
    assert_eq!((&entry["action"], &entry["subject"]), (&json!("disconnect"), &json!("operator")));
    let (status, missing) = ask(&scene, reqwest::Method::DELETE, &path, &["admin"]).await;
    assert_eq!((status, &missing["code"]), (404, &json!("unknown_id")));
}

#[tokio::test]
async fn only_those_who_operate_the_hub_see_who_is_connected() {
    let scene = Scene::protected().await;
    for scopes in [["subscribe:**"], ["ops:orders.*"]] {
        let (status, _) = ask(&scene, reqwest::Method::GET, "/connections", &scopes).await;
        assert_eq!(status, 403, "{scopes:?}");
    }
}
