//! Two hubs drain one outbox; one is killed again and again, also between publishing and marking.
//!
//! `PROM_OUTBOX_ROWS` (100 000 is the long form), `PROM_OUTBOX_KILLS` and `PROM_CRASH_SEED` make it longer or another.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mongodb::bson::{Document, doc};
use prom_testkit::Random;
use prom_types::EventId;
use serde_json::{Value, json};
use sqlx::{PgPool, SqlitePool, query, query_scalar, raw_sql};

use super::scene::{Scene, events, ever_published, postgres};
use crate::rounds::rounds;

const TOPIC: &str = "orders.placed";
/// Rows of one insert.
const PORTION: u64 = 1000;
const LIMITS: &str = "lease = \"2s\"\nbatch = 50\n";

/// A service's database.
enum Service {
    Mongo(mongodb::Collection<Document>),
    Postgres(PgPool),
    Sqlite(SqlitePool),
}

impl Service {
    /// Rows of all keys in turn, each a millisecond after the one before.
    async fn write(&self, numbers: std::ops::Range<u64>, keys: u64) {
        let key = |n: u64| format!("k{}", n % keys);
        let id = |n: u64| EventId::derived(&n.to_string()).to_string();
        match self {
            Self::Mongo(rows) => {
                let row = |n: u64| {
                    doc! {
                        "_id": id(n), "topic": TOPIC, "key": key(n), "payload": { "n": n as i64 },
                        "status": "pending", "ts": n as i64,
                    }
                };
                rows.insert_many(numbers.map(row)).await.unwrap();
            }
            Self::Postgres(pool) => {
                let text = "INSERT INTO outbox (_id, topic, key, payload, ts) \
                            SELECT r->>'id', $2, r->>'key', json_build_object('n', (r->>'n')::bigint), (r->>'n')::bigint \
                            FROM json_array_elements($1::json) r";
                query(text).bind(self.listed(numbers, keys)).bind(TOPIC).execute(pool).await.unwrap();
            }
            Self::Sqlite(pool) => {
                let text = "INSERT INTO outbox (_id, topic, key, payload, ts) \
                            SELECT value->>'id', ?2, value->>'key', json_object('n', value->>'n'), value->>'n' \
                            FROM json_each(?1)";
                query(text).bind(self.listed(numbers, keys)).bind(TOPIC).execute(pool).await.unwrap();
            }
        }
    }

    fn listed(&self, numbers: std::ops::Range<u64>, keys: u64) -> String {
        let row = |n: u64| json!({ "id": EventId::derived(&n.to_string()).to_string(), "key": format!("k{}", n % keys), "n": n });
        Value::from(numbers.map(row).collect::<Vec<Value>>()).to_string()
    }

    async fn unsent(&self) -> i64 {
        let text = "SELECT count(*) FROM outbox WHERE status <> 'sent'";
        match self {
            Self::Mongo(rows) => rows.count_documents(doc! { "status": { "$ne": "sent" } }).await.unwrap() as i64,
            Self::Postgres(pool) => query_scalar(text).fetch_one(pool).await.unwrap(),
            Self::Sqlite(pool) => query_scalar(text).fetch_one(pool).await.unwrap(),
        }
    }
}

async fn survives_kills(scene: &Scene, service: Service) {
    let (rows, kills, seed) =
        (rounds("PROM_OUTBOX_ROWS", 5_000), rounds("PROM_OUTBOX_KILLS", 5), rounds("PROM_CRASH_SEED", 1));
    let keys = (rows / 100).max(10);
    eprintln!("outbox: {rows} rows, {keys} keys, {kills} kills, seed {seed}");
    let mut random = Random::seeded(seed);
    let (mut killed, steady) = (scene.hub(), scene.hub());
    let writing = async {
        for first in (0..rows).step_by(usize::try_from(PORTION).unwrap()) {
            service.write(first..rows.min(first + PORTION), keys).await;
        }
    };
    let killing = async {
        for _ in 0..kills {
            tokio::time::sleep(Duration::from_millis(random.within(50..1_500))).await;
            tokio::task::block_in_place(|| {
                killed.kill().unwrap();
                killed.restart().unwrap();
            });
        }
    };
    tokio::join!(writing, killing);
    let events = events(&steady, TOPIC, usize::try_from(rows).unwrap()).await;
    while service.unsent().await > 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(ever_published(&steady, TOPIC).await, rows, "an event was stored twice");
    let ids: BTreeSet<String> = events.iter().map(|event| event.id().to_string()).collect();
    let expected: BTreeSet<String> = (0..rows).map(|n| EventId::derived(&n.to_string()).to_string()).collect();
    assert!(ids == expected, "{} ids of {rows}", ids.intersection(&expected).count());
    let mut last: BTreeMap<String, u64> = BTreeMap::new();
    for event in &events {
        let n = event.payload::<Value>().unwrap()["n"].as_u64().unwrap();
        let before = last.insert(event.key().unwrap().to_owned(), n);
        assert!(before.is_none_or(|before| before < n), "{:?}: {before:?} before {n}", event.key());
    }
    assert_eq!(last.len() as u64, keys);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_row_in_mongodb_is_published_once_and_in_order_through_kills() {
    let outbox = "[[outbox]]\nname = \"shop\"\nsource = \"mongo\"\nurl = \"{mongo}\"\ntable = \"outbox\"\n";
    let scene = Scene::new(&format!("{outbox}{LIMITS}")).await;
    let client = mongodb::Client::with_uri_str(&scene.database).await.unwrap();
    let rows = client.default_database().unwrap().collection("outbox");
    survives_kills(&scene, Service::Mongo(rows)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_row_in_postgresql_is_published_once_and_in_order_through_kills() {
    let Some(cluster) = postgres() else { return };
    let pool = PgPool::connect(&cluster.url()).await.unwrap();
    raw_sql(prom_flows::outbox::POSTGRES_DDL).execute(&pool).await.unwrap();
    let url = cluster.url();
    let outbox = format!("[[outbox]]\nname = \"shop\"\nsource = \"postgres\"\nurl = \"{url}\"\ntable = \"outbox\"\n");
    let scene = Scene::new(&format!("{outbox}{LIMITS}")).await;
    survives_kills(&scene, Service::Postgres(pool)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_row_in_sqlite_is_published_once_and_in_order_through_kills() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("shop.db").display());
    let pool = SqlitePool::connect(&format!("{url}?mode=rwc")).await.unwrap();
    raw_sql("PRAGMA journal_mode = wal").execute(&pool).await.unwrap();
    raw_sql(prom_flows::outbox::SQLITE_DDL).execute(&pool).await.unwrap();
    let outbox = format!("[[outbox]]\nname = \"shop\"\nsource = \"sqlite\"\nurl = \"{url}\"\ntable = \"outbox\"\n");
    let scene = Scene::new(&format!("{outbox}{LIMITS}")).await;
    survives_kills(&scene, Service::Sqlite(pool)).await;
}
