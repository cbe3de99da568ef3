//! Every row becomes one event, in the order of its key, and is marked.

use prom_flows::outbox::OutboxFlow;
use prom_jobs::{Flow, FlowState};

use crate::database::{ALL, Database, Kind, Row};
use crate::scene::{bus, by_key, options, published, until, until_published, until_status};

const ROWS: usize = 600;
const KEYS: usize = 20;

pub fn rows(count: usize, keys: usize) -> Vec<Row> {
    (0..count).map(|n| Row::new(n, &format!("k{}", n % keys))).collect()
}

async fn publishes_each_row_once_in_order(kind: Kind) {
    let Some(database) = Database::start(kind).await else { return };
    let rows = rows(ROWS, KEYS);
    // Half is there before the drainer, half comes while it works; what was written first is not always the oldest.
    let (before, during) = rows.split_at(ROWS / 2);
    let mut mixed = before.to_vec();
    if kind != Kind::MongoField {
        mixed.reverse();
    }
    database.add(&mixed).await;
    let bus = bus().await;
    let outbox = OutboxFlow::start(&bus, options(database.place()));
    for some in during.chunks(10) {
        database.add(some).await;
    }
    until_published(&bus, &outbox, ROWS).await;
    until("marked", async || match database.unsent().await {
        0 => Ok(()),
        left => Err(left),
    })
    .await;
    let expected = |key: usize| (0..ROWS as u64).filter(|n| n % KEYS as u64 == key as u64).collect::<Vec<u64>>();
    let keys = by_key(&bus).await;
    for key in 0..KEYS {
        assert_eq!(keys[&format!("k{key}")], expected(key), "{kind:?}");
    }
    let page = bus.read(crate::scene::TOPIC, 0, 0, 1usize).await.unwrap();
    assert!(rows.iter().any(|row| row.id == page.events[0].id().to_string()), "an event has the id of its row");
    until_status(&outbox, "nothing waits", |status| status.pending == Some(0)).await;
    let status = outbox.status();
    assert_eq!((status.state, status.counts.written), (FlowState::Running, ROWS as u64));
    assert_eq!(status.stages[0].name, "commit_to_publish");
    outbox.end().await;
    assert_eq!(published(&bus).await.len(), ROWS);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_row_is_published_once_in_the_order_of_its_key_from_mongodb() {
    publishes_each_row_once_in_order(Kind::Mongo).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_row_is_published_once_in_the_order_of_its_key_from_an_array() {
    publishes_each_row_once_in_order(Kind::MongoField).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_row_is_published_once_in_the_order_of_its_key_from_postgresql() {
    publishes_each_row_once_in_order(Kind::Postgres).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_row_is_published_once_in_the_order_of_its_key_from_sqlite() {
    publishes_each_row_once_in_order(Kind::Sqlite).await;
}

/// As after a crash between publishing and marking: a new drainer finds everything pending.
#[tokio::test(flavor = "multi_thread")]
async fn rows_that_were_published_but_not_marked_are_not_stored_twice() {
    for kind in ALL {
        let Some(database) = Database::start(kind).await else { continue };
        let bus = bus().await;
        let rows = rows(50, 5);
        for row in &rows {
            let id = prom_types::EventId::parse(&row.id).unwrap();
            let payload = prom_types::Json::parse(row.payload.clone()).unwrap();
            bus.publish(&row.topic, payload).exact_id(id).key(row.key.clone().unwrap()).await.unwrap();
        }
        database.add(&rows).await;
        let outbox = OutboxFlow::start(&bus, options(database.place()));
        until_status(&outbox, "found again", |status| status.counts.skipped == 50).await;
        assert_eq!((outbox.status().counts.written, published(&bus).await.len()), (0, 50), "{kind:?}");
        outbox.end().await;
        assert_eq!(database.unsent().await, 0, "{kind:?}");
    }
}
