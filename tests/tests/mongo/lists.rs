//! Lists of groups: the whole, whichever hub is asked.

use std::time::Duration;

use prom_client::{Client, ClientOptions, Position, Subscription};
use prom_testkit::HubProcess;
use prom_testkit::mongo::shared;
use serde_json::{Value, json};

/// Nothing here takes this long unless it hangs.
const DEADLINE: Duration = Duration::from_secs(60);

async fn get(hub: &HubProcess, path: &str) -> Value {
    let answer = reqwest::get(format!("{}{path}", hub.url())).await.unwrap();
    assert!(answer.status().is_success(), "{path}: {}", answer.text().await.unwrap());
    answer.json().await.unwrap()
}

/// A subscriber of the group at this hub, which serves it, with an event in its hands.
async fn holding(hub: &HubProcess, group: &str) -> (Client, Subscription, prom_client::Delivery) {
    let client = Client::connect(&hub.url(), ClientOptions::default()).await.unwrap();
    let mut events = client.subscribe("orders", group).from(Position::Earliest).start().await.unwrap();
    let held = tokio::time::timeout(DEADLINE, events.next()).await.expect("nothing came").unwrap();
    (client, events, held)
}

/// By group: its subscribers, and what they hold.
fn counted(groups: &Value, lags: &Value) -> Vec<(String, u64, u64)> {
    let held = |group: &Value| {
        let of_group = |lag: &&Value| lag["group"] == *group;
        lags["lags"].as_array().unwrap().iter().find(of_group).unwrap()["inFlight"].as_u64().unwrap()
    };
    let count = |one: &Value| {
        let group = &one["group"];
        (group.as_str().unwrap().to_owned(), one["subscribers"].as_u64().unwrap(), held(group))
    };
    groups["groups"].as_array().unwrap().iter().map(count).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn groups_and_lags_are_the_same_at_every_hub() {
    let url = shared().await.unwrap().fresh_url();
    let start = || HubProcess::start(&["--store", "mongo", "--mongo", &url], &[]).unwrap();
    let (one, other) = (start(), start());
    let publisher = Client::connect(&one.url(), ClientOptions::default()).await.unwrap();
    publisher.publish("orders", json!(1)).await.unwrap();
    let _at_one = holding(&one, "billing").await;
    let _at_other = holding(&other, "stock").await;
    let expected = [("billing".to_owned(), 1, 1), ("stock".to_owned(), 1, 1)];
    for hub in [&one, &other] {
        let (groups, lags) = (get(hub, "/groups").await, get(hub, "/lag").await);
        assert_eq!(counted(&groups, &lags), expected);
        assert_eq!(groups.get("silent_hubs"), None);
        let of_topic = get(hub, "/lag?topic=orders").await;
        assert_eq!(counted(&groups, &of_topic), expected);
    }

    other.pause().unwrap();
    let (groups, lags) = (get(&one, "/groups").await, get(&one, "/lag").await);
    assert_eq!(counted(&groups, &lags)[0], expected[0]);
    for list in [groups, lags] {
        assert_eq!(list["silent_hubs"], json!([other.url()]));
    }
    other.resume().unwrap();
}
