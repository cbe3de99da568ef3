//! The schema registry of two hubs on one MongoDB.

use std::time::Duration;

use futures::future::join_all;
use prom_testkit::HubProcess;
use prom_testkit::mongo::shared;
use serde_json::{Value, json};

/// Nothing here takes this long unless it hangs.
const DEADLINE: Duration = Duration::from_secs(60);

async fn post(hub: &HubProcess, path: &str, body: Value) -> (u16, Value) {
    let asked = reqwest::Client::new().post(format!("{}{path}", hub.url())).json(&body).send();
    let answer = tokio::time::timeout(DEADLINE, asked).await.expect("no answer").unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

async fn payloads(hub: &HubProcess, topic: &str) -> Vec<Value> {
    let replay: Value =
        reqwest::get(format!("{}/replay?topic={topic}", hub.url())).await.unwrap().json().await.unwrap();
    replay["events"].as_array().unwrap().iter().map(|event| event["payload"].clone()).collect()
}

/// Publishes until the hub has heard of the schema that refuses it.
async fn refused(hub: &HubProcess, body: &Value) -> Value {
    let begun = tokio::time::Instant::now();
    loop {
        let (status, told) = post(hub, "/publish", body.clone()).await;
        if status == 422 {
            return told;
        }
        assert!(begun.elapsed() < DEADLINE, "{told}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn versions_that_two_hubs_register_at_once_are_numbered_without_a_hole() {
    let url = shared().await.unwrap().fresh_url();
    let start = || HubProcess::start(&["--store", "mongo", "--mongo", &url], &[]).unwrap();
    let (one, other) = (start(), start());
    let hubs = [&one, &other];

    // Different texts that mean the same, so that any order is compatible.
    let text = |number: usize| json!({"title": format!("text {}", number % 6), "type": "object"});
    let register = |number: usize| post(hubs[number % 2], "/topics/orders/schema", json!({"schema": text(number)}));
    let answers = join_all((0..12).map(register)).await;
    let mut given: Vec<(u64, u64)> = Vec::new();
    for (status, told) in &answers {
        assert!((200..300).contains(status), "{told}");
        given.push((told["version"].as_u64().unwrap(), told["id"].as_u64().unwrap()));
    }
    given.sort_unstable();
    given.dedup();
    let (versions, mut ids): (Vec<u64>, Vec<u64>) = given.into_iter().unzip();
    assert_eq!(versions, [1, 2, 3, 4, 5, 6], "six texts, each registered twice");
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 6, "a text has one id");

    for hub in hubs {
        let told = refused(hub, &json!({"topic": "orders", "payload": 7})).await;
        assert_eq!(
            (&told["code"], &told["pointer"], &told["rule"]),
            (&json!("schema_invalid"), &json!(""), &json!("type"))
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_that_is_written_twice_is_in_both_topics_or_in_none() {
    let url = shared().await.unwrap().fresh_url();
    let start = || HubProcess::start(&["--store", "mongo", "--mongo", &url], &[]).unwrap();
    let (one, other) = (start(), start());
    let schema = json!({"schema": {"type": "object", "required": ["n"]}});
    let (status, told) = post(&one, "/topics/orders/schema", schema).await;
    assert!((200..300).contains(&status), "{told}");
    refused(&other, &json!({"topic": "orders", "payload": {}})).await;
    for n in 0..20 {
        let hub = if n % 2 == 0 { &one } else { &other };
        let body = json!({"topic": "orders", "payload": {"n": n}, "opts": {"dual_write": true}});
        let (status, told) = post(hub, "/publish", body).await;
        assert_eq!(status, 200, "{told}");
        let body = json!({"topic": "orders", "payload": {"m": n}, "opts": {"dual_write": true}});
        assert_eq!(post(hub, "/publish", body).await.0, 422);
    }
    let before: Vec<Value> =
        payloads(&one, "orders").await.into_iter().filter(|payload| payload["n"].is_u64()).collect();
    assert_eq!(before.len(), 20);
    assert_eq!(payloads(&other, "orders.v1").await, before);
}

/// One hub deletes a version while the other registers a schema that refers to it. Both looked first, and found nothing against it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_version_that_two_hubs_delete_and_refer_to_at_once_is_one_or_the_other() {
    let url = shared().await.unwrap().fresh_url();
    let start = || HubProcess::start(&["--store", "mongo", "--mongo", &url], &[]).unwrap();
    let (one, other) = (start(), start());
    let delete = async |path: String| {
        let asked = reqwest::Client::new().delete(format!("{}{path}", one.url())).send();
        tokio::time::timeout(DEADLINE, asked).await.expect("no answer").unwrap().status().as_u16()
    };
    for round in 0..25 {
        let (base, user) = (format!("base{round}"), format!("user{round}"));
        let registered = post(&one, &format!("/topics/{base}/schema"), json!({"schema": {"title": base}})).await;
        assert!((200..300).contains(&registered.0), "{registered:?}");
        let body = json!({"schema": {"$ref": "b", "title": user},
            "references": [{"name": "b", "subject": base, "version": 1}]});
        let deleting = async {
            // So that sometimes this one is first, and sometimes the other.
            tokio::time::sleep(Duration::from_millis(round * 2)).await;
            delete(format!("/topics/{base}/schema/1")).await
        };
        let path = format!("/topics/{user}/schema");
        let (deleted, referred) = tokio::join!(deleting, post(&other, &path, body));
        let is_deleted = (200..300).contains(&deleted);
        let is_referred = (200..300).contains(&referred.0);
        assert!(is_deleted != is_referred, "round {round}: {deleted}, {referred:?}");
    }
}
