//! A row that cannot be published stops its key and no other, until an operator acts.

use mongodb::bson::{Bson, Document, doc, oid::ObjectId, spec::BinarySubtype};
use prom_flows::outbox::{OnError, OutboxFlow, OutboxOptions};
use prom_jobs::{Flow, FlowAction, FlowRowQuery};
use sqlx::query;

use crate::database::{ALL, Database, Kind, Row};
use crate::scene::{TOPIC, bus, by_key, options, published, until_published, until_status};

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

#[tokio::test(flavor = "multi_thread")]
async fn in_postgresql_rows_behind_one_in_error_are_counted_as_waiting() {
    let Some(database) = Database::start(Kind::Postgres).await else { return };
    let bus = bus().await;
    let outbox = OutboxFlow::start(&bus, options(database.place()));
    let unknown = Row { topic: "no.such.topic".to_owned(), ..Row::new(1, "a") };
    database.add(&[unknown, Row::new(2, "a"), Row::new(3, "a")]).await;
    until_status(&outbox, "a row in error", |status| status.counts.failed == 1).await;
    database.add(&(10..100).map(|n| Row::new(n, "c")).collect::<Vec<_>>()).await;
    until_published(&bus, &outbox, 90).await;
    // Only now, so that the count is one with the reach of claims far beyond them.
    database.add(&[Row::new(4, "a")]).await;
    until_status(&outbox, "three rows that wait", |status| (status.pending, status.oldest) == (Some(3), Some(3))).await;
    outbox.end().await;
}

/// SQLite keeps any value in any column.
#[tokio::test(flavor = "multi_thread")]
async fn in_sqlite_values_of_another_type_stop_no_other_row() {
    let database = Database::start(Kind::Sqlite).await.unwrap();
    let Database::Sqlite { pool, .. } = &database else { unreachable!() };
    let insert = "INSERT INTO outbox (_id, topic, payload, key, ts) VALUES (?1, 'orders.placed', '{\"n\":1}', ?2, ?3)";
    query(insert).bind("a fraction").bind("f").bind(1.5).execute(pool).await.unwrap();
    query(insert).bind("a word").bind("w").bind("now").execute(pool).await.unwrap();
    query(insert).bind("bytes").bind(&b"\xff\xfe"[..]).bind(2).execute(pool).await.unwrap();
    query(insert).bind(&b"\x01\x02"[..]).bind("b").bind(3).execute(pool).await.unwrap();
    database.add(&[Row::new(7, "c")]).await;
    let bus = bus().await;
    let outbox = OutboxFlow::start(&bus, options(database.place()));
    until_published(&bus, &outbox, 4).await;
    until_status(&outbox, "a row in error", |status| status.counts.failed == 1).await;
    let failed = outbox.rows(in_error()).await.unwrap();
    assert_eq!((failed[0].id.as_str(), failed.len()), ("0102", 1));
    assert!(failed[0].last_err.as_ref().unwrap().contains("no text"), "{failed:?}");
    let it = FlowRowQuery { ids: vec!["0102".to_owned()], ..FlowRowQuery::default() };
    assert_eq!(outbox.act(FlowAction::Drop(it)).await.unwrap().rows, Some(1));
    outbox.end().await;
    assert_eq!(database.unsent().await, 0);
}

fn element(id: impl Into<Bson>, topic: &str, n: i64) -> Document {
    doc! { "_id": id.into(), "topic": topic, "payload": { "n": n }, "ts": n }
}

/// More documents than one claim looks at, before one that is well.
#[tokio::test(flavor = "multi_thread")]
async fn any_number_of_documents_with_bad_rows_hides_no_other() {
    for on_error in [OnError::Hold, OnError::Skip] {
        let database = Database::start(Kind::MongoField).await.unwrap();
        let Database::Mongo { rows, .. } = &database else { unreachable!() };
        let bytes = |n: i64| mongodb::bson::Binary {
            subtype: BinarySubtype::Uuid,
            bytes: u128::from(n as u64).to_be_bytes().into(),
        };
        let bad = |n: i64| doc! { "_id": bytes(n), "events": [element(n, "no topic", n)] };
        rows.insert_many((0..100).map(bad)).await.unwrap();
        let without_id = |n: i64| doc! { "_id": n, "events": [{ "topic": TOPIC, "payload": { "n": n }, "ts": n }] };
        rows.insert_many((100..200).map(without_id)).await.unwrap();
        let bus = bus().await;
        let first = OutboxFlow::start(&bus, OutboxOptions { on_error, ..options(database.place()) });
        until_status(&first, "all bad rows in error", |status| status.counts.failed == 200).await;
        first.end().await;
        let outbox = OutboxFlow::start(&bus, OutboxOptions { on_error, ..options(database.place()) });
        rows.insert_one(doc! { "_id": "well", "events": [element("w", TOPIC, 900)] }).await.unwrap();
        until_published(&bus, &outbox, 1).await;
        let told = outbox.rows(FlowRowQuery { ids: vec!["null".to_owned()], ..in_error() }).await.unwrap();
        assert!(told[0].last_err.as_ref().unwrap().contains("no _id"), "{told:?}");
        until_status(&outbox, "nothing that waits", |status| (status.pending, status.oldest) == (Some(0), None)).await;
        assert_eq!(outbox.act(FlowAction::Drop(in_error())).await.unwrap().rows, Some(200));
        outbox.end().await;
        assert_eq!(database.unsent().await, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_two_documents_may_count_from_one_and_a_row_needs_no_time() {
    let database = Database::start(Kind::MongoField).await.unwrap();
    let Database::Mongo { rows, .. } = &database else { unreachable!() };
    for (id, n) in [(Bson::from(ObjectId::new()), 10), (Bson::from("b"), 20)] {
        rows.insert_one(doc! { "_id": id, "events": [element(1, TOPIC, n), element(2, TOPIC, n + 1)] }).await.unwrap();
    }
    let mut timeless = element(3, TOPIC, 30);
    timeless.remove("ts");
    rows.insert_one(doc! { "_id": "c", "events": [timeless] }).await.unwrap();
    rows.insert_one(doc! { "_id": "d", "events": element(4, TOPIC, 40) }).await.unwrap();
    let bus = bus().await;
    let outbox = OutboxFlow::start(&bus, options(database.place()));
    until_published(&bus, &outbox, 5).await;
    let mut numbers: Vec<u64> = published(&bus).await.into_iter().map(|(_, n)| n).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [10, 11, 20, 21, 30]);
    until_status(&outbox, "nothing that waits", |status| status.pending == Some(0)).await;
    outbox.end().await;
}
