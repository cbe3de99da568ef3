//! What happens to a hub that slept while others wrote.

use std::sync::Arc;
use std::time::Duration;

use mongodb::bson::doc;
use prom_store::{Commit, Dedupe, EncodedEvent, LogName};
use prom_types::{EventId, Json, NewEvent, TopicName};

use super::commit;
use crate::log::ensure_loaded;
use crate::options::MongoOptions;
use crate::shared::MongoShared;
use crate::{open, queries, sweep};

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
    let writer = deaf(&url, |options| options.times.keep_physically = Duration::ZERO).await;
    for n in 0..600 {
        commit(&writer, append(&n.to_string())).await.unwrap();
    }
    sweep::sweep(&writer).await.unwrap();

    let sleeper = deaf(&url, |_| {}).await;
    let log = sleeper.log(&orders());
    ensure_loaded(&sleeper, &log).await.unwrap();
    {
        // Its view from before it slept; too old by the time the answer comes.
        let mut known = log.lock();
        known.bounds.next = 5;
        known.viewed_at = Duration::ZERO;
    }
    let record = record_at(5, "late");
    let inserted = super::insert::insert(&sleeper, &log, &[record], deadline()).await;
    assert!(matches!(inserted, super::insert::Inserted::OthersWereFirst));
    let stray = doc! { "_id": queries::batch_key(&orders(), 5) };
    assert_eq!(sleeper.collections.batches.count_documents(stray).await.unwrap(), 0, "it was left behind");
    let stored = commit(&sleeper, append("late")).await.unwrap().stored[0];
    assert_eq!(stored.offset, 600);
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
