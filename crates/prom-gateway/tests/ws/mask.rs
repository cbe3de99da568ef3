//! Masks over WebSocket: who sees whole events, looking and consuming, here and through another hub.

use std::sync::Arc;
use std::time::Duration;

use prom_engine::TopicSettings;
use prom_store::{MemoryStore, SystemClock};
use serde_json::{Value, json};

use crate::scene::{Client, Scene, auth, token};

const SECRET: &str = "4242-4242";

async fn masked(scene: &Scene) {
    let settings = TopicSettings::new("orders").unwrap().mask(["/card/number"]);
    scene.bus.create_topic(settings).await.unwrap();
    publish(scene).await;
}

async fn publish(scene: &Scene) {
    scene.bus.publish("orders", json!({"card": {"number": SECRET}, "total": 7})).await.unwrap();
}

async fn number(client: &mut Client, topic: &str, group: Option<&str>) -> Value {
    client.ok(json!({"op": "SUBSCRIBE", "topic": topic, "group": group, "opts": {"from": "earliest"}})).await;
    let event = client.event().await["event"].clone();
    assert_eq!(event["payload"]["total"], 7);
    event["payload"]["card"]["number"].clone()
}

#[tokio::test]
async fn who_looks_sees_what_the_mask_leaves_unless_it_administers() {
    let scene = Scene::protected().await;
    masked(&scene).await;
    for (scopes, topic, group, seen) in [
        (&["subscribe:**"][..], "orders", None, "[masked]"),
        (&["subscribe:**"], "**", None, "[masked]"),
        (&["subscribe:**", "admin:orders"], "orders", None, SECRET),
        (&["subscribe:**", "admin:orders"], "**", None, "[masked]"),
        (&["subscribe:**", "admin:**"], "**", None, SECRET),
        (&["subscribe:**"], "orders", Some("mine"), "[masked]"),
        (&["subscribe:orders@billing"], "orders", Some("billing"), SECRET),
        (&["subscribe:**", "admin:orders"], "orders", Some("ours"), SECRET),
    ] {
        let mut client = scene.client_with(scopes).await;
        assert_eq!(number(&mut client, topic, group).await, seen, "{scopes:?} on {topic} in {group:?}");
    }
}

#[tokio::test]
async fn a_mask_hides_from_subscriptions_that_were_there_before_and_lost_rights_end_them() {
    let scene = Scene::protected().await;
    scene.bus.create_topic(TopicSettings::new("orders").unwrap()).await.unwrap();
    publish(&scene).await;
    let mut looks = scene.client_with(&["subscribe:**"]).await;
    assert_eq!(number(&mut looks, "orders", None).await, SECRET);
    let mut works = scene.client_with(&["subscribe:**"]).await;
    assert_eq!(number(&mut works, "orders", Some("g")).await, SECRET);
    let mut admin = scene.client_with(&["subscribe:**", "admin:**"]).await;
    assert_eq!(number(&mut admin, "orders", None).await, SECRET);

    masked(&scene).await;
    for client in [&mut looks, &mut works] {
        assert_eq!(client.event().await["event"]["payload"]["card"]["number"], "[masked]");
    }
    assert_eq!(admin.event().await["event"]["payload"]["card"]["number"], SECRET);
    admin.send(json!({"op": "AUTH", "token": token("alpha", &["subscribe:**"])})).await;
    let told = [admin.frame().await, admin.frame().await];
    assert!(told.iter().any(|frame| frame["op"] == "ERR" && frame["code"] == "forbidden"), "{told:?}");
    publish(&scene).await;
    assert_eq!(number(&mut admin, "orders", None).await, "[masked]");
}

#[tokio::test]
async fn the_hub_that_serves_a_group_hides_it_from_clients_of_another() {
    let store = Arc::new(MemoryStore::new(Arc::new(SystemClock::new())));
    let red = Scene::among_others(&store, auth(), Duration::from_secs(10)).await;
    masked(&red).await;
    let blue = Scene::among_others(&store, auth(), Duration::from_secs(10)).await;
    let mut owner = red.client_with(&["subscribe:orders@g"]).await;
    assert_eq!(number(&mut owner, "orders", Some("g")).await, SECRET);
    // It takes nothing more: what is published goes to the other.
    owner.ok(json!({"op": "PAUSE", "topic": "orders", "group": "g"})).await;
    publish(&red).await;
    let mut guest = blue.client_with(&["subscribe:**"]).await;
    assert_eq!(number(&mut guest, "orders", Some("g")).await, "[masked]");
}

#[tokio::test]
async fn a_pattern_shows_copies_only_to_those_who_administer_what_they_are_copies_of() {
    let scene = Scene::protected().await;
    masked(&scene).await;
    scene.bus.publish("orders.v2", json!({"card": {"number": SECRET}, "total": 7})).await.unwrap();
    for (scopes, topic, group, seen) in [
        (&["subscribe:orders.*", "admin:orders.*"][..], "orders.v2", None, "[masked]"),
        (&["subscribe:orders.*", "admin:orders.*"], "orders.*", None, "[masked]"),
        (&["subscribe:orders.*", "admin:orders.*"], "orders.*", Some("mine"), "[masked]"),
        (&["subscribe:*.v2", "admin:*.v2"], "*.v2", None, "[masked]"),
        (&["subscribe:orders.*", "admin:orders.**"], "orders.*", None, SECRET),
    ] {
        let mut client = scene.client_with(scopes).await;
        assert_eq!(number(&mut client, topic, group).await, seen, "{scopes:?} on {topic} in {group:?}");
    }
}

#[tokio::test]
async fn why_a_group_waits_is_told_without_what_is_hidden_whichever_hub_is_asked() {
    let store = Arc::new(MemoryStore::new(Arc::new(SystemClock::new())));
    let ttl = Duration::from_secs(60);
    let owner = Scene::among_others(&store, auth(), ttl).await;
    let other = Scene::among_others(&store, auth(), ttl).await;
    masked(&owner).await;
    let mut works = owner.client_with(&["subscribe:orders@billing"]).await;
    let opts = json!({"from": "earliest", "backoff": {"firstMs": 600_000, "maxMs": 600_000}});
    works.ok(json!({"op": "SUBSCRIBE", "topic": "orders", "group": "billing", "opts": opts})).await;
    let id = works.event().await["event"]["id"].clone();
    let reason = format!("cannot charge {SECRET}");
    works.ok(json!({"op": "NACK", "topic": "orders", "group": "billing", "id": id, "reason": reason})).await;
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    for scene in [&owner, &other] {
        let why = async |scopes: &[&str]| {
            let url = format!("http://{}/why?topic=orders&group=billing", scene.server.address());
            client.get(url).bearer_auth(token("alpha", scopes)).send().await.unwrap().text().await.unwrap()
        };
        let told = why(&["ops:orders"]).await;
        assert!(told.contains("last error: [masked]") && !told.contains(SECRET), "{told}");
        assert!(why(&["ops:orders", "admin:orders"]).await.contains(SECRET));
    }
}
