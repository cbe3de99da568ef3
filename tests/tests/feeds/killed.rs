//! A hub killed again and again while its feed publishes mixed operations. At the end the topic has, for each document, exactly the
//! changes that MongoDB's own change stream tells of, in that order.

use std::collections::BTreeMap;
use std::time::Duration;

use mongodb::bson::{Document, doc};
use mongodb::change_stream::ChangeStream;
use mongodb::change_stream::event::{ChangeStreamEvent, OperationType};
use mongodb::{Client, Collection};
use prom_testkit::mongo::shared;
use prom_testkit::{HubProcess, Random};
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::rounds::rounds;

const TOPIC: &str = "shop.orders";
const KEYS: u64 = 200;
/// Longer than anything that works takes, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// For each document, what was done to it, in order: the operation and the cluster time.
type Histories = BTreeMap<String, Vec<(String, String)>>;

/// On the embedded store. More with `PROM_FEED_OPERATIONS` (50 000 is the long form) and `PROM_FEED_KILLS`; other operations and kill
/// points with `PROM_CRASH_SEED`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hub_that_is_killed_among_mixed_operations_publishes_each_once_in_the_oplogs_order() {
    let data = tempfile::tempdir().unwrap();
    let store = format!("[server]\ndata = {:?}\n", data.path().display().to_string());
    killed_and_started_again(&store, rounds("PROM_FEED_OPERATIONS", 5000)).await;
}

/// The same with events and positions in MongoDB.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hub_on_mongodb_that_is_killed_among_mixed_operations_publishes_each_once_too() {
    let url = shared().await.unwrap().fresh_url();
    let store = format!("[store]\nkind = \"mongo\"\n[mongo]\nurl = \"{url}\"\n");
    killed_and_started_again(&store, rounds("PROM_FEED_OPERATIONS", 2000)).await;
}

async fn killed_and_started_again(store: &str, operations: u64) {
    let (kills, seed) = (rounds("PROM_FEED_KILLS", 3), rounds("PROM_CRASH_SEED", 1));
    eprintln!("feed: {operations} operations, {kills} kills, seed {seed}");
    let url = shared().await.unwrap().fresh_url();
    let database = Client::with_uri_str(&url).await.unwrap().default_database().unwrap();
    let orders = database.collection::<Document>("orders");
    orders.insert_one(doc! { "_id": "before the feed" }).await.unwrap();

    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("prom.toml");
    let feed = format!(
        "{store}[[changefeed]]\nname = \"orders\"\nurl = \"{url}\"\ndatabase = \"{}\"\ncollection = \"orders\"\ntopic = \
         \"{TOPIC}\"\n",
        database.name()
    );
    std::fs::write(&config, feed).unwrap();
    let mut hub = HubProcess::start(&["--config", &config.to_string_lossy()], &[]).unwrap();
    // The feed begins with what comes after its start: this document tells that it has.
    let began = until_event(&hub, async |number| {
        orders.insert_one(doc! { "_id": format!("begun-{number}") }).await.unwrap();
    })
    .await;
    eprintln!("feed: began after {began} documents");

    let watched = orders.watch().await.unwrap();
    let writing = tokio::spawn(operate(orders.clone(), operations, seed));
    let mut random = Random::seeded(seed);
    let (mut within, mut published) = (0, 0);
    for _ in 0..kills {
        // The feed is at work again: it has published something since the last kill.
        published = until_more(&hub, published, &writing).await;
        sleep(Duration::from_millis(random.within(0..200))).await;
        within += u64::from(!writing.is_finished());
        hub.kill().unwrap();
        hub.restart().unwrap();
    }
    assert!(within > 0, "no kill came while changes were written: it proved nothing");
    writing.await.unwrap();
    orders.insert_one(doc! { "_id": "last" }).await.unwrap();

    let expected = until_last_in_oplog(watched).await;
    let published = until_last(&hub).await;
    let changes: usize = expected.values().map(Vec::len).sum();
    eprintln!(
        "feed: {changes} changes of {} documents, {within} of {kills} kills while they were written",
        expected.len()
    );
    for (key, history) in &expected {
        assert_eq!(published.get(key), Some(history), "{key}");
    }
    let begun = published.keys().filter(|key| key.starts_with("begun-")).count();
    assert_eq!(published.len(), expected.len() + begun, "nothing else was published");
}

/// What MongoDB's own change stream tells of.
async fn until_last_in_oplog(mut watched: ChangeStream<ChangeStreamEvent<Document>>) -> Histories {
    let mut histories = Histories::new();
    while !histories.contains_key("last") {
        let Some(change) = watched.next_if_any().await.unwrap() else { continue };
        let key = change.document_key.unwrap().get_str("_id").unwrap().to_owned();
        let time = change.cluster_time.unwrap();
        let op = match change.operation_type {
            OperationType::Insert => "insert",
            OperationType::Update => "update",
            OperationType::Replace => "replace",
            OperationType::Delete => "delete",
            other => panic!("{other:?}"),
        };
        histories.entry(key).or_default().push((op.to_owned(), format!("{}.{}", time.time, time.increment)));
    }
    histories
}

/// Operations of every kind on few documents; some in transactions.
async fn operate(orders: Collection<Document>, operations: u64, seed: u64) {
    let mut random = Random::seeded(seed ^ 0xfeed);
    let client = orders.client().clone();
    for n in 0..operations {
        let id = format!("order-{}", random.within(0..KEYS));
        match random.within(0..10) {
            0 => drop(orders.delete_one(doc! { "_id": &id }).await.unwrap()),
            1 => drop(orders.replace_one(doc! { "_id": &id }, doc! { "n": n as i64 }).await.unwrap()),
            2 => {
                // At once behind each other: the document is often gone when the update is looked up.
                orders.update_one(doc! { "_id": &id }, doc! { "$set": { "gone": n as i64 } }).await.unwrap();
                orders.delete_one(doc! { "_id": &id }).await.unwrap();
            }
            3 => {
                let mut session = client.start_session().await.unwrap();
                session.start_transaction().await.unwrap();
                for id in [id, format!("order-{}", random.within(0..KEYS))] {
                    let set = doc! { "$set": { "together": n as i64 } };
                    orders.update_one(doc! { "_id": id }, set).upsert(true).session(&mut session).await.unwrap();
                }
                session.commit_transaction().await.unwrap();
            }
            _ => {
                let set = doc! { "$set": { "n": n as i64 }, "$inc": { "times": 1 } };
                drop(orders.update_one(doc! { "_id": &id }, set).upsert(true).await.unwrap());
            }
        }
    }
}

/// Writes documents until one of them was published; how many it took.
async fn until_event(hub: &HubProcess, write: impl AsyncFn(u64)) -> u64 {
    let deadline = Instant::now() + PATIENCE;
    for number in 1.. {
        write(number).await;
        if !read(hub).await.is_empty() {
            return number;
        }
        assert!(Instant::now() < deadline, "the feed did not begin");
        sleep(Duration::from_millis(100)).await;
    }
    unreachable!("numbers do not end")
}

/// How many events there are, once there are more than before, or nothing more is written.
async fn until_more(hub: &HubProcess, before: usize, writing: &JoinHandle<()>) -> usize {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let published = read(hub).await.values().map(Vec::len).sum();
        if published > before || writing.is_finished() {
            return published;
        }
        assert!(Instant::now() < deadline, "the feed does not go on after a kill");
        sleep(Duration::from_millis(20)).await;
    }
}

async fn until_last(hub: &HubProcess) -> Histories {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let published = read(hub).await;
        if published.contains_key("last") {
            return published;
        }
        assert!(Instant::now() < deadline, "the last change was not published");
        sleep(Duration::from_millis(100)).await;
    }
}

async fn read(hub: &HubProcess) -> Histories {
    let answer = reqwest::get(format!("{}/export?topic={TOPIC}&ndjson=1", hub.url())).await.unwrap();
    if !answer.status().is_success() {
        return Histories::new();
    }
    let mut histories = Histories::new();
    for line in answer.text().await.unwrap().lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        let header = |name: &str| event["headers"][name].as_str().unwrap().to_owned();
        let (op, time) = (header("x-mongo-op"), header("x-change-cluster-time"));
        assert_eq!(event["payload"].is_null(), op == "delete", "only deletes are tombstones: {event}");
        histories.entry(event["key"].as_str().unwrap().to_owned()).or_default().push((op, time));
    }
    histories
}
