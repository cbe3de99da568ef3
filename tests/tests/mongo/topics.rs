//! Two hubs on one database: a topic created or changed through one is the same topic for the other.

use std::time::Duration;

use prom_client::{Client, ClientOptions, Position, Subscription};
use prom_testkit::HubProcess;
use prom_testkit::mongo::shared;
use prom_types::partition_of;
use serde_json::{Value, json};

/// Nothing here takes this long unless it hangs.
const DEADLINE: Duration = Duration::from_secs(60);

struct Hub {
    process: HubProcess,
    client: Client,
    http: reqwest::Client,
}

impl Hub {
    async fn start(url: &str) -> Self {
        let process = HubProcess::start(&["--store", "mongo", "--mongo", url], &[]).unwrap();
        let client = Client::connect(&process.url(), ClientOptions::default()).await.unwrap();
        Self { process, client, http: reqwest::Client::new() }
    }

    async fn put_topic(&self, topic: &str, settings: Value) {
        let answer = self.try_put_topic(topic, settings).await;
        assert!(answer.status().is_success(), "{}", answer.text().await.unwrap());
    }

    async fn try_put_topic(&self, topic: &str, settings: Value) -> reqwest::Response {
        let address = format!("{}/topics/{topic}", self.process.url());
        self.http.put(address).json(&settings).send().await.unwrap()
    }

    async fn settings(&self, topic: &str) -> Value {
        let address = format!("{}/topics/{topic}", self.process.url());
        let answer: Value = self.http.get(address).send().await.unwrap().json().await.unwrap();
        answer["settings"].clone()
    }

    /// The partition that an event of this key went to.
    async fn publish(&self, topic: &str, key: &str) -> u32 {
        self.client.publish(topic, json!(key)).key(key).await.unwrap().partition
    }
}

async fn two_hubs() -> (Hub, Hub) {
    let url = shared().await.unwrap().fresh_url();
    (Hub::start(&url).await, Hub::start(&url).await)
}

async fn next_key(events: &mut Subscription) -> String {
    let delivery = tokio::time::timeout(DEADLINE, events.next()).await.expect("nothing came").unwrap();
    let key = delivery.key().unwrap().to_owned();
    delivery.ack().await.unwrap();
    key
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_created_through_one_hub_has_its_settings_and_partitions_on_the_other() {
    let (one, other) = two_hubs().await;
    let settings = json!({"partitions": 4, "retention": {"age_ms": 3_600_000}, "max_attempts": 7});
    one.put_topic("orders.placed", settings).await;
    let made = one.settings("orders.placed").await;
    // At once: it must not matter whether the news has arrived.
    for n in 0..20 {
        let key = format!("customer-{n}");
        let (there, here) = (other.publish("orders.placed", &key).await, one.publish("orders.placed", &key).await);
        assert_eq!((there, here), (partition_of(&key, 4), partition_of(&key, 4)), "{key}");
    }
    assert_eq!(other.settings("orders.placed").await, made);
    assert_eq!(one.settings("orders.placed").await, made, "the other hub's first publish changed nothing");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pattern_on_one_hub_gets_the_events_of_topics_first_published_through_the_other() {
    let (one, other) = two_hubs().await;
    let mut events = other.client.subscribe("orders.*", "billing").from(Position::Earliest).start().await.unwrap();
    one.publish("orders.placed", "first").await;
    assert_eq!(next_key(&mut events).await, "first");
    one.put_topic("orders.paid", json!({"partitions": 3})).await;
    for key in ["a", "b", "c", "d", "e"] {
        one.publish("orders.paid", key).await;
    }
    let mut keys = Vec::new();
    for _ in 0..5 {
        keys.push(next_key(&mut events).await);
    }
    keys.sort_unstable();
    assert_eq!(keys, ["a", "b", "c", "d", "e"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partitions_raised_through_one_hub_are_used_by_the_other() {
    let (one, other) = two_hubs().await;
    other.publish("orders", "before").await;
    let mut events = other.client.subscribe("orders", "billing").from(Position::Earliest).start().await.unwrap();
    assert_eq!(next_key(&mut events).await, "before");
    one.put_topic("orders", json!({"partitions": 8})).await;
    let waiting = async {
        while other.settings("orders").await["partitions"] != 8 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(DEADLINE, waiting).await.expect("the other hub did not hear of the raise");
    let keys: Vec<String> = (0..20).map(|n| n.to_string()).collect();
    for key in &keys {
        assert_eq!(other.publish("orders", key).await, partition_of(key, 8));
    }
    let mut got = Vec::new();
    for _ in &keys {
        got.push(next_key(&mut events).await);
    }
    got.sort_unstable_by_key(|key| key.parse::<u32>().unwrap());
    assert_eq!(got, keys, "the new partitions are served");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hubs_that_publish_to_a_new_topic_at_once_create_one() {
    let (one, other) = two_hubs().await;
    for round in 0..10 {
        let topic = format!("orders.{round}");
        let raced = tokio::join!(one.publish(&topic, "a"), other.publish(&topic, "b"));
        assert_eq!(raced, (0, 0));
        let mut events = one.client.subscribe(&topic, "g").from(Position::Earliest).start().await.unwrap();
        let mut keys = [next_key(&mut events).await, next_key(&mut events).await];
        keys.sort_unstable();
        assert_eq!(keys, ["a", "b"]);
        events.unsubscribe().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_is_divided_through_one_hub_or_raised_through_the_other_never_both() {
    let (one, other) = two_hubs().await;
    for round in 0..10 {
        let topic = format!("orders.{round}");
        one.publish(&topic, "first").await;
        let divide = other.client.subscribe(&topic, &format!("group-{round}")).partitions(4).start();
        let (raised, divided) = tokio::join!(one.try_put_topic(&topic, json!({"partitions": 2})), divide);
        assert_ne!(raised.status().is_success(), divided.is_ok(), "round {round}: {raised:?}, {:?}", divided.err());
    }
}
