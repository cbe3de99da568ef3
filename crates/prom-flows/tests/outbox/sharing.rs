//! Several drainers share the buckets, keep the order of keys, and take over from one that leaves or is silent.

use std::collections::BTreeSet;

use prom_flows::outbox::OutboxFlow;
use prom_jobs::{Flow, FlowState};

use crate::database::{ALL, Database};
use crate::order::rows;
use crate::scene::{bus, by_key, options, until_published, until_status};

const ROWS: usize = 400;
const KEYS: usize = 40;

#[tokio::test(flavor = "multi_thread")]
async fn two_drainers_take_half_each_and_the_other_half_when_one_leaves() {
    for kind in ALL {
        let Some(database) = Database::start(kind).await else { continue };
        let bus = bus().await;
        let one = OutboxFlow::start(&bus, options(database.place()));
        until_status(&one, "all buckets", |status| status.details["buckets"] == "32").await;
        let other = OutboxFlow::start(&bus, options(database.place()));
        for outbox in [&one, &other] {
            until_status(outbox, "half of the buckets", |status| status.details["buckets"] == "16").await;
        }
        let rows = rows(ROWS, KEYS);
        let (first, second) = rows.split_at(ROWS / 2);
        database.add(first).await;
        until_published(&bus, &one, ROWS / 2).await;
        assert!([&one, &other].iter().all(|outbox| outbox.status().counts.written > 0), "{kind:?}: one did everything");
        one.end().await;
        database.add(second).await;
        until_published(&bus, &other, ROWS).await;
        for (key, numbers) in by_key(&bus).await {
            assert!(numbers.is_sorted(), "{kind:?}: {key} {numbers:?}");
            assert_eq!(numbers.len(), numbers.iter().collect::<BTreeSet<_>>().len(), "{kind:?}: {key}");
        }
        assert_eq!(other.status().state, FlowState::Running);
        other.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_cannot_be_reached_is_told_and_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("later.db").display());
    let place = prom_flows::outbox::OutboxPlace::Sqlite { url: url.clone(), table: "outbox".to_owned() };
    let bus = bus().await;
    let outbox = OutboxFlow::start(&bus, options(place));
    until_status(&outbox, "told", |status| status.state == FlowState::Retrying).await;
    assert!(outbox.status().error.is_some_and(|failure| failure.retry_at.is_some()));
    let pool = sqlx::SqlitePool::connect(&format!("{url}?mode=rwc")).await.unwrap();
    until_status(&outbox, "told how to mend it", |status| {
        status.error.as_ref().is_some_and(|failure| failure.reason.contains("docs/guide/outbox.md"))
    })
    .await;
    sqlx::raw_sql(prom_flows::outbox::SQLITE_DDL).execute(&pool).await.unwrap();
    until_status(&outbox, "running", |status| status.state == FlowState::Running && status.error.is_none()).await;
    outbox.end().await;
}
