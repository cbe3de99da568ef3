//! Helpers shared by the tests of this store.
#![allow(dead_code, reason = "each test binary uses its part")]

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use mongodb::Client;
use mongodb::bson::{Document, doc};
use prom_store::{Commit, CursorName, Dedupe, EncodedEvent, LogName, Logs, ReadLimit, Record};
use prom_store_mongo::{MongoOptions, MongoStore};
use prom_types::{EventId, GroupName, Json, NewEvent, TopicName};

/// Nothing here takes this long unless it hangs.
const DEADLINE: Duration = Duration::from_secs(60);

pub async fn database() -> String {
    prom_testkit::mongo::shared().await.expect("a MongoDB server").fresh_url()
}

pub async fn open(url: &str) -> Arc<MongoStore> {
    open_with(url, |_| {}).await
}

pub async fn open_with(url: &str, change: impl FnOnce(&mut MongoOptions)) -> Arc<MongoStore> {
    let mut options = MongoOptions::default();
    change(&mut options);
    MongoStore::open(url, options).await.unwrap()
}

pub fn log(topic: &str) -> LogName {
    LogName::new(TopicName::parse(topic).unwrap(), 0)
}

/// The name determines the id.
pub fn draft(name: &str) -> NewEvent {
    NewEvent::new(log("orders").topic, Json::from_value(&name).unwrap())
}

pub fn named(name: &str, dedupe: Dedupe) -> NewEvent {
    let mut event = draft(name);
    event.exact = dedupe == Dedupe::Exact;
    event
}

pub fn append(log: &LogName, event: NewEvent, dedupe: Dedupe) -> Commit {
    let id = EventId::derived(event.payload.as_str());
    Commit::append(log.clone(), EncodedEvent::encode(&event, id, 0).unwrap(), dedupe)
}

pub fn cursor_name(group: &str) -> CursorName {
    CursorName::new(log("orders"), GroupName::parse(group).unwrap())
}

pub async fn read_all(store: &MongoStore, log: &LogName) -> Vec<Record> {
    let (mut records, mut from) = (Vec::new(), 0);
    loop {
        let batch = store.read(log, from, ReadLimit::default()).await.unwrap();
        records.extend(batch.records);
        if batch.next >= batch.bounds.next {
            return records;
        }
        from = batch.next;
    }
}

pub async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, what).await.expect("it did not happen")
}

pub async fn collection(url: &str, name: &str) -> mongodb::Collection<Document> {
    Client::with_uri_str(url).await.unwrap().default_database().unwrap().collection(name)
}

/// How many documents hold the events.
pub async fn batches(url: &str) -> u64 {
    collection(url, "event_batches").await.count_documents(doc! {}).await.unwrap()
}
