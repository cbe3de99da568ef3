//! Rows become visible when their transactions commit, which is not when they were written.

use mongodb::bson::doc;
use prom_flows::outbox::OutboxFlow;

use crate::database::{Database, Kind, Row, add_to_postgres, document};
use crate::scene::{bus, by_key, options, published, until_published};

#[tokio::test(flavor = "multi_thread")]
async fn in_postgresql_nothing_is_skipped_and_what_becomes_visible_together_is_in_order() {
    let Some(database) = Database::start(Kind::Postgres).await else { return };
    let Database::Postgres { pool, .. } = &database else { panic!("another database") };
    let bus = bus().await;
    let outbox = OutboxFlow::start(&bus, options(database.place()));
    // An old reader keeps every dead row in the table.
    let mut reader = pool.begin().await.unwrap();
    sqlx::raw_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT 1").execute(&mut *reader).await.unwrap();
    // An old writer has rows before and behind all others.
    let mut writer = pool.begin().await.unwrap();
    for n in [50, 500, 120] {
        add_to_postgres(&mut writer, &Row::new(n, "slow")).await;
    }
    database.add(&(60..200).map(|n| Row::new(n, &format!("k{}", n % 7))).collect::<Vec<_>>()).await;
    until_published(&bus, &outbox, 140).await;
    database.add(&(200..300).map(|n| Row::new(n, &format!("k{}", n % 7))).collect::<Vec<_>>()).await;
    until_published(&bus, &outbox, 240).await;
    writer.commit().await.unwrap();
    until_published(&bus, &outbox, 243).await;
    let keys = by_key(&bus).await;
    assert_eq!(keys["slow"], [50, 120, 500]);
    assert!(keys.values().all(|numbers| numbers.is_sorted()), "{keys:?}");
    reader.rollback().await.unwrap();
    outbox.end().await;
    assert_eq!(database.unsent().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn in_mongodb_nothing_is_skipped_and_what_is_rolled_back_is_never_published() {
    let Some(database) = Database::start(Kind::Mongo).await else { return };
    let Database::Mongo { rows, .. } = &database else { panic!("another database") };
    database.add(&[Row::new(1, "first")]).await;
    let bus = bus().await;
    let outbox = OutboxFlow::start(&bus, options(database.place()));
    until_published(&bus, &outbox, 1).await;
    let client = rows.client();
    let mut slow = client.start_session().await.unwrap();
    slow.start_transaction().await.unwrap();
    rows.insert_one(document(&Row::new(2, "k"))).session(&mut slow).await.unwrap();
    let mut undone = client.start_session().await.unwrap();
    undone.start_transaction().await.unwrap();
    rows.insert_one(document(&Row::new(3, "k"))).session(&mut undone).await.unwrap();
    database.add(&[Row::new(4, "k")]).await;
    until_published(&bus, &outbox, 2).await;
    undone.abort_transaction().await.unwrap();
    slow.commit_transaction().await.unwrap();
    until_published(&bus, &outbox, 3).await;
    assert_eq!(by_key(&bus).await["k"], [4, 2], "what becomes visible later comes later");
    outbox.end().await;
    assert_eq!(rows.count_documents(doc! { "status": "sent" }).await.unwrap(), 3);
    assert_eq!(published(&bus).await.len(), 3);
}
