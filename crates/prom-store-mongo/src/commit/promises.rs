//! What happens to a hub that slept while others wrote.

use std::sync::Arc;
use std::time::Duration;

use mongodb::bson::{Timestamp, doc};
use prom_store::contract::TestClock;
use prom_store::{Commit, Dedupe, EncodedEvent, LogName, LogOptions, Logs, ReadLimit};
use prom_types::{EventId, Json, NewEvent, TopicName};

use super::commit;
use super::place::LogEnd;
use crate::log::{ensure_loaded, reload};
use crate::options::MongoOptions;
use crate::shared::MongoShared;
use crate::{MongoStore, latest, open, queries, sweep};

fn orders() -> LogName {
    LogName::new(TopicName::parse("orders").unwrap(), 0)
}

fn append(name: &str) -> Commit {
    let event = NewEvent::new(orders().topic, Json::from_value(&name).unwrap());
    Commit::append(orders(), EncodedEvent::encode(&event, EventId::derived(name), 0).unwrap(), Dedupe::Fresh)
}

/// A store without a change stream: it learns of nothing.
async fn deaf(url: &str, change: impl FnOnce(&mut MongoOptions)) -> Arc<MongoShared> {
    let mut options = MongoOptions::default();
    change(&mut options);
    Arc::new(open::open(url, options).await.unwrap())
}

#[tokio::test]
async fn a_batch_put_where_others_were_merged_away_is_withdrawn_and_goes_to_the_end() {
    let url = prom_testkit::mongo::shared().await.unwrap().fresh_url();
    merged(&url).await;
    // Every view is too old by the time the answer comes.
    let sleeper = deaf(&url, |options| options.times.head_age = Duration::ZERO).await;
    let log = sleeper.log(&orders());
    ensure_loaded(&sleeper, &log).await.unwrap();
    // Its view from before it slept.
    log.lock().bounds.next = 5;
    let record = record_at(5, "late");
    let inserted = super::insert::insert(&sleeper, &log, end_at(5), &[record], deadline()).await;
    assert!(matches!(inserted, super::insert::Inserted::OthersWereFirst));
    let stray = doc! { "_id": queries::batch_key(&orders(), 5) };
    assert_eq!(sleeper.collections.batches.count_documents(stray).await.unwrap(), 0, "it was left behind");
    let stored = commit(&sleeper, append("late")).await.unwrap().stored[0];
    assert_eq!(stored.offset, 600);
}

/// A log whose small batches were merged.
async fn merged(url: &str) {
    let writer = deaf(url, |options| options.times.keep_physically = Duration::ZERO).await;
    for n in 0..600 {
        commit(&writer, append(&n.to_string())).await.unwrap();
    }
    sweep::sweep(&writer).await.unwrap();
}

/// A batch inside that range, as a hub inserts it that slept meanwhile.
async fn stray_at_5(url: &str) -> Arc<MongoShared> {
    let sleeper = deaf(url, |_| {}).await;
    let log = sleeper.log(&orders());
    let stray = [record_at(5, "stray")];
    let plan = super::insert::new_batches(&sleeper, &log, end_at(5), &[&stray]).remove(0);
    sleeper.collections.batches.insert_one(plan.document().unwrap()).await.unwrap();
    sleeper
}

async fn name_at(store: &MongoStore, offset: u64) -> String {
    let read = store.read(&orders(), offset, ReadLimit { events: 1, ..ReadLimit::default() }).await.unwrap();
    read.records[0].payload().as_str().to_owned()
}

#[tokio::test]
async fn a_batch_that_a_hub_withdraws_is_not_read_on_other_hubs() {
    let url = prom_testkit::mongo::shared().await.unwrap().fresh_url();
    merged(&url).await;
    let watching = MongoStore::open(&url, MongoOptions::default()).await.unwrap();
    let mut watch = watching.watch(&orders());
    watching.bounds(&orders()).await.unwrap();
    let sleeper = stray_at_5(&url).await;
    let reading = MongoStore::open(&url, MongoOptions::default()).await.unwrap();
    for offset in [5, 6] {
        assert_eq!(name_at(&reading, offset).await, format!("\"{offset}\""), "read while it was there");
    }

    let stray = doc! { "_id": queries::batch_key(&orders(), 5) };
    sleeper.collections.batches.delete_one(stray).await.unwrap();
    commit(&sleeper, append("late")).await.unwrap();
    while watch.bounds().next < 601 {
        tokio::time::timeout(Duration::from_secs(60), watch.changed()).await.unwrap().unwrap();
    }
    assert_eq!(name_at(&watching, 5).await, "\"5\"", "heard of while it was there");
    assert_eq!(name_at(&reading, 5).await, "\"5\"");
}

#[tokio::test]
async fn after_a_clock_jumped_ahead_ids_are_still_forgotten() {
    const MINUTE: Duration = Duration::from_secs(60);
    let url = prom_testkit::mongo::shared().await.unwrap().fresh_url();
    let ahead = Arc::new(TestClock::new());
    ahead.advance(24 * 60 * MINUTE);
    let clock = Arc::new(TestClock::new());
    let ahead = deaf(&url, |options| options.clock = ahead).await;
    commit(&ahead, windowed("from tomorrow")).await.unwrap();

    let hub = deaf(&url, |options| options.clock = clock.clone()).await;
    for n in 0..60 {
        clock.advance(MINUTE);
        commit(&hub, windowed(&n.to_string())).await.unwrap();
    }
    let remembered = |hub: &MongoShared| hub.log(&orders()).lock().window.as_ref().unwrap().len();
    assert!(remembered(&hub) <= 13, "{} ids are kept", remembered(&hub));
    let again = commit(&hub, windowed("55")).await.unwrap().stored[0];
    assert!(again.duplicate, "an id within the window is known");

    // By the server's clock these were stored long ago.
    let long_ago = Timestamp { time: 1_700_000_000, increment: 1 };
    let old = doc! { "_id": { "$lt": queries::batch_key(&orders(), 50) } };
    hub.collections.batches.update_many(old, doc! { "$set": { "at": long_ago } }).await.unwrap();
    let fresh = deaf(&url, |options| options.clock = clock.clone()).await;
    let again = commit(&fresh, windowed("55")).await.unwrap().stored[0];
    assert!(again.duplicate);
    assert!(remembered(&fresh) <= 13, "{} ids were read", remembered(&fresh));
}

#[tokio::test]
async fn the_newest_event_of_a_key_is_found_though_only_another_hub_has_heard_of_it() {
    let url = prom_testkit::mongo::shared().await.unwrap().fresh_url();
    let (writer, reader) = (deaf(&url, |_| {}).await, deaf(&url, |_| {}).await);
    let options = LogOptions { compacted: false, versions: true };
    commit(&writer, Commit { logs: vec![(orders(), options)], ..Commit::default() }).await.unwrap();
    for name in ["first", "second"] {
        let mut event = NewEvent::new(orders().topic, Json::from_value(&name).unwrap());
        event.key = Some("a".to_owned());
        let encoded = EncodedEvent::encode(&event, EventId::derived(name), 0).unwrap();
        commit(&writer, Commit::append(orders(), encoded, Dedupe::Fresh)).await.unwrap();
        latest::fill(&writer, &writer.log(&orders())).await.unwrap();
        // The reader knows the log as it was after the first one.
        ensure_loaded(&reader, &reader.log(&orders())).await.unwrap();
    }
    let found = latest::latest_by_key(&reader, &orders(), &["a"]).await.unwrap().remove(0);
    assert_eq!(found.map(|record| record.offset()), Some(1));
}

fn windowed(name: &str) -> Commit {
    let mut commit = append(name);
    commit.appends[0].dedupe = Dedupe::Window;
    commit
}

#[tokio::test]
async fn what_was_decided_before_another_hub_wrote_is_decided_again() {
    let url = prom_testkit::mongo::shared().await.unwrap().fresh_url();
    let (hub, other) = (deaf(&url, |_| {}).await, deaf(&url, |_| {}).await);
    let log = hub.log(&orders());
    ensure_loaded(&hub, &log).await.unwrap();
    let (decided, record) = (end_at(0), record_at(0, "ours"));
    commit(&other, append("theirs")).await.unwrap();
    // The hub hears of it between its decision and its insert.
    reload(&hub, &log).await.unwrap();
    let inserted = super::insert::insert(&hub, &log, decided, &[record], deadline()).await;
    assert!(matches!(inserted, super::insert::Inserted::OthersWereFirst));
    assert_eq!(hub.collections.batches.count_documents(doc! {}).await.unwrap(), 1);
    assert_eq!(commit(&hub, append("ours")).await.unwrap().stored[0].offset, 1);
}

fn end_at(next: u64) -> LogEnd {
    LogEnd { next, total: 0 }
}

#[tokio::test]
async fn a_slow_batch_that_continues_the_one_before_it_counts() {
    let url = prom_testkit::mongo::shared().await.unwrap().fresh_url();
    let slow = deaf(&url, |options| options.times.head_age = Duration::ZERO).await;
    for n in 0..3 {
        assert_eq!(commit(&slow, append(&n.to_string())).await.unwrap().stored[0].offset, n);
    }
}

fn record_at(offset: u64, name: &str) -> prom_store::Record {
    let mut bytes = Vec::new();
    append(name).appends[0].event.write_at(offset, 1, &mut bytes);
    prom_store::Record::parse(&bytes.into()).unwrap()
}

fn deadline() -> tokio::time::Instant {
    tokio::time::Instant::now() + Duration::from_secs(30)
}
