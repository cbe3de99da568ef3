//! Events whose BSON is much larger than their text, and events that the database refuses: others are stored all the same.
#![allow(clippy::unwrap_used)]

mod support;

use std::time::Duration;

use mongodb::Client;
use mongodb::bson::doc;
use prom_store::{Commit, CommitError, CompactPlan, Dedupe, EncodedEvent, LogOptions, Logs, Outcome, Store};
use prom_types::limits::PAYLOAD_BYTES;
use prom_types::{EventId, Json, NewEvent};
use support::{append, batches, database, draft, log, open, open_with, read_all};

/// `[1,1,…]` of half the largest size; as BSON six times as large. The number makes it different from others.
fn ones(number: usize) -> NewEvent {
    let mut text = format!("[{number}");
    text.extend(std::iter::repeat_n(",1", PAYLOAD_BYTES / 4));
    text.push(']');
    let mut event = draft("");
    event.payload = Json::parse(text).unwrap();
    event.key = Some(format!("key-{}", number % 3));
    event
}

fn append_ones(number: usize) -> Commit {
    let encoded = EncodedEvent::encode(&ones(number), EventId::derived(&number.to_string()), 0).unwrap();
    Commit::append(log("orders"), encoded, Dedupe::Fresh)
}

#[tokio::test]
async fn events_that_grow_as_bson_are_stored_with_those_of_others() {
    let url = database().await;
    let store = open_with(&url, |options| options.times.keep_physically = Duration::ZERO).await;
    let orders = log("orders");
    let compacted = vec![(orders.clone(), LogOptions { compacted: true, versions: false })];
    store.commit(Commit { logs: compacted, ..Commit::default() }).await.unwrap();

    let mut small = draft("small");
    small.key = Some("small".to_owned());
    let mut under_way: Vec<_> = (0..9).map(|number| store.commit(append_ones(number))).collect();
    under_way.push(store.commit(append(&orders, small, Dedupe::Fresh)));
    for pending in under_way {
        pending.await.unwrap();
    }
    let mut whole = Commit::default();
    (9..18).for_each(|number| whole.appends.extend(append_ones(number).appends));
    store.commit(whole).await.unwrap();

    store.sweep_now().await.unwrap();
    let fresh = open(&url).await;
    let read = read_all(&fresh, &orders).await;
    assert_eq!(read.len(), 19);
    for number in 0..18 {
        let expected = ones(number).payload;
        assert!(
            read.iter().any(|record| record.payload().as_str() == expected.as_str()),
            "number {number} is not there"
        );
    }
    store.compact(&orders, CompactPlan::everything(Duration::ZERO)).await.unwrap();
    let latest = fresh.latest_by_key(&orders, &["key-0"]).await.unwrap().remove(0).unwrap();
    assert_eq!(latest.payload().as_str(), ones(15).payload.as_str());
}

#[tokio::test]
async fn an_event_that_the_database_refuses_does_not_take_others_with_it() {
    let url = database().await;
    let store = open(&url).await;
    let orders = log("orders");
    let client = Client::with_uri_str(&url).await.unwrap().default_database().unwrap();
    let validator = doc! { "events.payload": { "$ne": "poison" } };
    client.run_command(doc! { "collMod": "event_batches", "validator": validator }).await.unwrap();

    let names = ["first", "second", "poison", "third", "fourth"];
    let under_way: Vec<_> =
        names.iter().map(|name| (name, store.commit(append(&orders, draft(name), Dedupe::Window)))).collect();
    for (name, pending) in under_way {
        let answer = pending.await;
        if *name == "poison" {
            let Err(CommitError::Failed { reason, outcome: Outcome::NotStored }) = answer else { panic!("{answer:?}") };
            assert!(reason.contains("validation"), "{reason}");
        } else {
            answer.unwrap();
        }
    }
    let read = read_all(&store, &orders).await;
    let payloads: Vec<_> = read.iter().map(|record| record.payload().as_str().to_owned()).collect();
    assert_eq!(payloads, ["\"first\"", "\"second\"", "\"third\"", "\"fourth\""]);
    assert!(batches(&url).await >= 2);
}
