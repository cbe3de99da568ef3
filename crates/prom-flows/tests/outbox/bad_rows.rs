//! A row that cannot be published stops its key and no other, until an operator acts.

use prom_flows::outbox::{OnError, OutboxFlow, OutboxOptions};
use prom_jobs::{Flow, FlowAction, FlowRowQuery};

use crate::database::{ALL, Database, Kind, Row};
use crate::scene::{TOPIC, bus, by_key, options, until_published, until_status};

fn in_error() -> FlowRowQuery {
    FlowRowQuery { status: Some("error".to_owned()), ..FlowRowQuery::default() }
}

/// Key `a` has a topic that nobody made, key `b` a payload that is none, key `c` is well.
fn rows() -> Vec<Row> {
    let unknown = Row { topic: "no.such.topic".to_owned(), ..Row::new(1, "a") };
    let broken = Row { payload: "{".to_owned(), ..Row::new(2, "b") };
    let well = [Row::new(3, "a"), Row::new(4, "b"), Row::new(5, "c"), Row::new(6, "c")];
    [vec![unknown, broken], well.to_vec()].concat()
}

fn is_possible(kind: Kind) -> bool {
    // A column of type `json` takes nothing else.
    kind != Kind::Postgres
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_behind_one_in_error_wait_until_it_is_dropped_or_requeued() {
    for kind in ALL.into_iter().filter(|kind| is_possible(*kind)) {
        let Some(database) = Database::start(kind).await else { continue };
        database.add(&rows()).await;
        let bus = bus().await;
        let outbox = OutboxFlow::start(&bus, options(database.place()));
        until_status(&outbox, "two rows in error", |status| status.counts.failed == 2).await;
        until_published(&bus, &outbox, 2).await;
        assert_eq!(by_key(&bus).await.into_keys().collect::<Vec<_>>(), ["c"], "{kind:?}");
        let failed = outbox.rows(in_error()).await.unwrap();
        let told = failed.iter().map(|row| (row.key.as_deref(), row.last_err.is_some())).collect::<Vec<_>>();
        assert_eq!(told, [(Some("a"), true), (Some("b"), true)], "{kind:?}");
        assert_eq!(failed[0].attempts, 2, "{kind:?}: as often as configured");

        let of_a = FlowRowQuery { key: Some("a".to_owned()), ..in_error() };
        bus.create_topic(prom_engine::TopicSettings::new("no.such.topic").unwrap()).await.unwrap();
        assert_eq!(outbox.act(FlowAction::Requeue(of_a)).await.unwrap().rows, Some(1), "{kind:?}");
        until_published(&bus, &outbox, 3).await;
        assert_eq!(by_key(&bus).await["a"], [3], "{kind:?}");
        assert_eq!(bus.read("no.such.topic", 0, 0, 9usize).await.unwrap().events.len(), 1, "{kind:?}");

        let by_id = FlowRowQuery { ids: vec![failed[1].id.clone()], ..FlowRowQuery::default() };
        assert_eq!(outbox.act(FlowAction::Drop(by_id)).await.unwrap().rows, Some(1), "{kind:?}");
        until_published(&bus, &outbox, 4).await;
        assert_eq!(by_key(&bus).await["b"], [4], "{kind:?}");
        outbox.end().await;
        assert_eq!(database.unsent().await, 0, "{kind:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_behind_one_in_error_go_where_that_is_configured() {
    for kind in ALL.into_iter().filter(|kind| is_possible(*kind)) {
        let Some(database) = Database::start(kind).await else { continue };
        database.add(&rows()).await;
        let bus = bus().await;
        let options = OutboxOptions { on_error: OnError::Skip, ..options(database.place()) };
        let outbox = OutboxFlow::start(&bus, options);
        until_published(&bus, &outbox, 4).await;
        until_status(&outbox, "two rows in error", |status| status.counts.failed == 2).await;
        assert_eq!(by_key(&bus).await.len(), 3, "{kind:?}");
        assert_eq!(outbox.rows(in_error()).await.unwrap().len(), 2, "{kind:?}");
        outbox.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn in_postgresql_a_row_in_error_holds_its_key_until_it_is_requeued() {
    let Some(database) = Database::start(Kind::Postgres).await else { return };
    let bus = bus().await;
    let outbox = OutboxFlow::start(&bus, options(database.place()));
    let unknown = Row { topic: "no.such.topic".to_owned(), ..Row::new(1, "a") };
    database.add(&[unknown, Row::new(2, "a"), Row::new(3, "b")]).await;
    until_status(&outbox, "a row in error", |status| status.counts.failed == 1).await;
    // Many rows later the reach of claims is far beyond those that wait.
    database.add(&(10..100).map(|n| Row::new(n, "c")).collect::<Vec<_>>()).await;
    until_published(&bus, &outbox, 91).await;
    bus.create_topic(prom_engine::TopicSettings::new("no.such.topic").unwrap()).await.unwrap();
    outbox.act(FlowAction::Requeue(in_error())).await.unwrap();
    until_published(&bus, &outbox, 92).await;
    assert_eq!(by_key(&bus).await["a"], [2]);
    outbox.end().await;
    assert_eq!(database.unsent().await, 0);
    assert!(bus.read(TOPIC, 0, 0, 1usize).await.is_ok());
}
