//! Effects that happen once, although events come again: in SQLite, in MongoDB, and as a publish.

use std::time::Duration;

use mongodb::bson::{Document, doc};
use prom_client::once::{MongoMarks, Once, SqlMarks, once};
use prom_client::{Client, ClientOptions, Delivery, Position, json};
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool};

use crate::scene::Scene;

const EVENTS: i64 = 30;

/// Every event comes three times: its handler fails before the commit, then after it, then not at all.
async fn each_delivery(client: &Client, handle: impl AsyncFn(&Delivery, bool) -> bool) {
    for n in 0..EVENTS {
        client.publish("orders.paid", json!({"n": n})).await.unwrap();
    }
    let orders = client.subscribe("orders.paid", "billing").from(Position::Earliest);
    let mut orders = orders.backoff(Duration::from_millis(1), Duration::from_millis(2)).start().await.unwrap();
    let mut done = 0;
    while done < EVENTS {
        let delivery = orders.next().await.unwrap();
        let made = handle(&delivery, delivery.attempt() > 1).await;
        assert_eq!(made, delivery.attempt() == 2, "made at the first attempt that was committed, and only then");
        if delivery.attempt() == 3 {
            delivery.ack().await.unwrap();
            done += 1;
        } else {
            delivery.nack("again").await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_sqlite_the_mark_and_the_effect_are_one_transaction() {
    let hub = Scene::open().await;
    let client = Client::connect(&format!("http://{}", hub.address), ClientOptions::default()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let options = SqliteConnectOptions::new().filename(folder.path().join("a.db")).create_if_missing(true);
    let pool = SqlitePool::connect_with(options).await.unwrap();
    let marks = SqlMarks::new("handled").unwrap();
    for statement in marks.schema() {
        sqlx::query(sqlx::AssertSqlSafe(statement)).execute(&pool).await.unwrap();
    }
    sqlx::query("CREATE TABLE account (total BIGINT NOT NULL)").execute(&pool).await.unwrap();
    sqlx::query("INSERT INTO account VALUES (0)").execute(&pool).await.unwrap();
    each_delivery(&client, async |delivery, commits| {
        let n = delivery.payload::<serde_json::Value>().unwrap()["n"].as_i64().unwrap();
        let mut transaction = pool.begin().await.unwrap();
        let effect = once(&marks, &mut *transaction, "billing", delivery, async |transaction| {
            sqlx::query("UPDATE account SET total = total + ?").bind(n).execute(transaction).await
        });
        let made = effect.await.unwrap();
        if commits {
            transaction.commit().await.unwrap()
        } else {
            transaction.rollback().await.unwrap()
        }
        commits && matches!(made, Once::First(_))
    })
    .await;
    let total: i64 = sqlx::query_scalar("SELECT total FROM account").fetch_one(&pool).await.unwrap();
    assert_eq!(total, (0..EVENTS).sum::<i64>());
    assert!(SqlMarks::new("a; DROP TABLE account").is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_mongo_the_mark_and_the_effect_are_one_transaction() {
    let hub = Scene::open().await;
    let client = Client::connect(&format!("http://{}", hub.address), ClientOptions::default()).await.unwrap();
    let url = prom_testkit::mongo::shared().await.unwrap().fresh_url();
    let mongo = mongodb::Client::with_uri_str(&url).await.unwrap();
    let database = mongo.default_database().unwrap();
    let marks = MongoMarks::open(database.collection("handled")).await.unwrap();
    let account = database.collection::<Document>("account");
    account.insert_one(doc! { "_id": 1, "total": 0_i64 }).await.unwrap();
    each_delivery(&client, async |delivery, commits| {
        let n = delivery.payload::<serde_json::Value>().unwrap()["n"].as_i64().unwrap();
        let mut session = mongo.start_session().await.unwrap();
        session.start_transaction().await.unwrap();
        let made = once(&marks, &mut session, "billing", delivery, async |session| {
            account.update_one(doc! { "_id": 1 }, doc! { "$inc": { "total": n } }).session(session).await
        });
        let made = made.await.unwrap();
        if commits {
            session.commit_transaction().await.unwrap()
        } else {
            session.abort_transaction().await.unwrap()
        }
        commits && matches!(made, Once::First(_))
    })
    .await;
    let found = account.find_one(doc! {}).await.unwrap().unwrap();
    assert_eq!(found.get_i64("total").unwrap(), (0..EVENTS).sum::<i64>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_publish_that_is_an_effect_is_stored_once_however_often_it_is_made() {
    let hub = Scene::open().await;
    let client = Client::connect(&format!("http://{}", hub.address), ClientOptions::default()).await.unwrap();
    client.publish("orders.paid", json!({"n": 1})).await.unwrap();
    let mut orders = client.subscribe("orders.paid", "billing").from(Position::Earliest).start().await.unwrap();
    let delivery = orders.next().await.unwrap();
    let publish =
        |name: &str| client.publish("orders.invoiced", json!({"name": name})).once("billing", &delivery, name);
    let first = publish("").await.unwrap();
    let again = publish("").await.unwrap();
    let other = publish("reminder").await.unwrap();
    assert_eq!((again.offset, again.duplicate, other.offset), (first.offset, true, first.offset + 1));
}
