//! A topic is deleted whole or not at all, however its hub ends.

use std::time::Duration;

use prom_testkit::HubProcess;
use serde_json::{Value, json};

const EVENTS: u64 = 300;

async fn get(http: &reqwest::Client, url: String) -> (u16, Value) {
    let answer = http.get(url).send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

async fn publish(http: &reqwest::Client, hub: &HubProcess, number: u64) -> u64 {
    let body = json!({"topic": "orders.test", "payload": number}).to_string();
    let answer = http.post(format!("{}/publish", hub.url())).body(body).send().await.unwrap();
    let answer: Value = answer.error_for_status().unwrap().json().await.unwrap();
    answer["offset"].as_u64().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hub_killed_while_it_deletes_a_topic_has_deleted_all_of_it_or_nothing() {
    let data = tempfile::tempdir().unwrap();
    let mut hub = HubProcess::on(data.path()).unwrap();
    let http = reqwest::Client::new();
    let (mut last, mut whole, mut gone) = (None, 0, 0);
    for round in 0..8u64 {
        let (status, topic) = get(&http, format!("{}/topics/orders.test", hub.url())).await;
        let there = if status == 200 { topic["events"].as_u64().unwrap() } else { 0 };
        for number in there..EVENTS {
            let offset = publish(&http, &hub, number).await;
            assert!(last.is_none_or(|last| offset > last), "offset {offset} was used twice");
            last = Some(offset);
        }
        let deleting = http.delete(format!("{}/topics/orders.test", hub.url())).send();
        let kill_after = Duration::from_micros(150 * round * round);
        let deleted = tokio::time::timeout(kill_after, deleting).await;
        let answered = matches!(&deleted, Ok(Ok(answer)) if answer.status().is_success());
        hub.kill().unwrap();
        hub.restart().unwrap();
        let (status, topic) = get(&http, format!("{}/topics/orders.test", hub.url())).await;
        match status {
            404 => gone += 1,
            _ => {
                assert!(!answered, "a deletion that was answered is undone");
                assert_eq!(topic["events"].as_u64(), Some(EVENTS), "half of it is gone: {topic}");
                whole += 1;
            }
        }
    }
    let (_, audit) = get(&http, format!("{}/topics/system.audit", hub.url())).await;
    assert_eq!(audit["events"].as_u64().unwrap_or_default(), gone, "one entry for each that went, {whole} did not");
    assert!(hub.stop().unwrap().success());
}
