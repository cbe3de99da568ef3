//! A service's database with an outbox: filled and drained by the driver alone.

use std::time::{Duration, Instant};

use anyhow::Context;
use mongodb::bson::{Bson, DateTime, Document, doc};
use mongodb::options::{ReadConcern, WriteConcern};
use mongodb::{Client, Collection};
use prom_flows::outbox::{OutboxPlace, POSTGRES_DDL, SQLITE_DDL};
use prom_testkit::mongo::ReplicaSet;
use prom_testkit::postgres::Postgres;
use prom_types::Clock as _;
use prom_types::{IdMaker, SystemClock};
use serde_json::{Value, json};
use sqlx::{PgPool, SqlitePool, query, query_as, query_scalar, raw_sql};

use crate::work_dir::WorkDir;

pub const TOPIC: &str = "orders.placed";
pub const KEYS: u64 = 1000;
/// Rows of one statement of the driver: as many as a drainer takes that is behind.
const PORTION: u64 = 1000;

#[derive(Debug, Clone, Copy)]
pub enum Kind {
    Mongo,
    Postgres,
    Sqlite,
}

/// Ends its servers when dropped.
pub enum Service {
    Mongo { rows: Collection<Document>, url: String, _set: ReplicaSet },
    Postgres { pool: PgPool, cluster: Postgres },
    Sqlite { pool: SqlitePool, file: String },
}

impl Service {
    pub async fn start(kind: Kind, work_dir: &WorkDir) -> anyhow::Result<Self> {
        match kind {
            Kind::Mongo => {
                let set = ReplicaSet::start(1).await?;
                let url = set.url("shop");
                let mut options = mongodb::options::ClientOptions::parse(&url).await?;
                options.read_concern = Some(ReadConcern::majority());
                options.write_concern = Some(WriteConcern::majority());
                let rows = Client::with_options(options)?.database("shop").collection("outbox");
                // As the hub makes it, so that the driver's inserts and marks cost what they cost there.
                let by_time = doc! { "createIndexes": "outbox", "indexes": [
                    { "name": "outbox_pending", "key": { "ts": 1, "_id": 1 }, "partialFilterExpression": { "status": "pending" } },
                    { "name": "outbox_sent", "key": { "sent_at": 1 }, "expireAfterSeconds": 3600 },
                ] };
                rows.client().database("shop").run_command(by_time).await?;
                Ok(Self::Mongo { rows, url, _set: set })
            }
            Kind::Postgres => {
                let cluster = Postgres::start(&["shared_buffers=256MB"])?;
                let pool = PgPool::connect(&cluster.url()).await?;
                raw_sql(POSTGRES_DDL).execute(&pool).await?;
                Ok(Self::Postgres { pool, cluster })
            }
            Kind::Sqlite => {
                let file = format!("sqlite:{}", work_dir.fresh("sqlite")?.with_extension("db").display());
                let pool = SqlitePool::connect(&format!("{file}?mode=rwc")).await?;
                raw_sql("PRAGMA journal_mode = wal").execute(&pool).await?;
                raw_sql(SQLITE_DDL).execute(&pool).await?;
                Ok(Self::Sqlite { pool, file })
            }
        }
    }

    pub fn place(&self) -> OutboxPlace {
        let table = || "outbox".to_owned();
        match self {
            Self::Mongo { url, .. } => {
                OutboxPlace::Mongo { url: url.clone(), database: None, collection: table(), field: None }
            }
            Self::Postgres { cluster, .. } => OutboxPlace::Postgres { url: cluster.url(), table: table() },
            Self::Sqlite { file, .. } => OutboxPlace::Sqlite { url: file.clone(), table: table() },
        }
    }

    /// Writes rows of all keys in turn, a thousand in a transaction.
    pub async fn fill(&self, rows: u64) -> anyhow::Result<Duration> {
        let maker = (SystemClock::new(), IdMaker::new());
        let note = "x".repeat(200);
        let mut took = Duration::ZERO;
        for first in (0..rows).step_by(PORTION as usize) {
            let numbers = first..rows.min(first + PORTION);
            let id = || maker.1.make(maker.0.now_ms());
            let began = match self {
                Self::Mongo { rows, .. } => {
                    let row = |n: u64| {
                        let id = id();
                        doc! {
                            "_id": id.to_string(), "topic": TOPIC, "key": format!("k{}", n % KEYS), "status": "pending",
                            "ts": id.made_ms(), "payload": { "n": n as i64, "note": &note },
                        }
                    };
                    let documents: Vec<Document> = numbers.map(row).collect();
                    let began = Instant::now();
                    rows.insert_many(documents).await?;
                    began
                }
                Self::Postgres { .. } | Self::Sqlite { .. } => {
                    let row = |n: u64| {
                        let id = id();
                        let payload = json!({ "n": n, "note": &note }).to_string();
                        json!({ "id": id.to_string(), "key": format!("k{}", n % KEYS), "ts": id.made_ms(), "p": payload })
                    };
                    let list = Value::from(numbers.map(row).collect::<Vec<Value>>()).to_string();
                    let began = Instant::now();
                    self.insert(&list).await?;
                    began
                }
            };
            took += began.elapsed();
        }
        Ok(took)
    }

    async fn insert(&self, list: &str) -> anyhow::Result<()> {
        let postgres = "INSERT INTO outbox (_id, topic, key, payload, ts) \
                        SELECT r->>'id', $2, r->>'key', (r->>'p')::json, (r->>'ts')::bigint \
                        FROM json_array_elements($1::json) r";
        let sqlite = "INSERT INTO outbox (_id, topic, key, payload, ts) \
                      SELECT value->>'id', ?2, value->>'key', value->>'p', value->>'ts' FROM json_each(?1)";
        match self {
            Self::Mongo { .. } => Ok(()),
            Self::Postgres { pool, .. } => {
                query(postgres).bind(list).bind(TOPIC).execute(pool).await?;
                Ok(())
            }
            Self::Sqlite { pool, .. } => {
                query(sqlite).bind(list).bind(TOPIC).execute(pool).await?;
                Ok(())
            }
        }
    }

    /// What a drainer asks of the database, without publishing: claims in order, and marks.
    pub async fn drain_with_driver(&self, rows: u64) -> anyhow::Result<Duration> {
        let began = Instant::now();
        let mut done = 0;
        while done < rows {
            let claimed = match self {
                Self::Mongo { rows, .. } => claim_and_mark_mongo(rows).await?,
                Self::Postgres { pool, .. } => {
                    let text = "SELECT _id, topic, payload::text, key, ts FROM outbox WHERE status = 'pending' \
                                ORDER BY ts, _id LIMIT 1000";
                    let claimed: Vec<(String, String, String, String, i64)> = query_as(text).fetch_all(pool).await?;
                    let ids: Vec<&String> = claimed.iter().map(|row| &row.0).collect();
                    query("DELETE FROM outbox WHERE _id = ANY($1)").bind(ids).execute(pool).await?;
                    claimed.len()
                }
                Self::Sqlite { pool, .. } => {
                    let text = "SELECT _id, topic, payload, key, ts FROM outbox WHERE status = 'pending' \
                                ORDER BY ts, _id LIMIT 1000";
                    let claimed: Vec<(String, String, String, String, i64)> = query_as(text).fetch_all(pool).await?;
                    let ids = Value::from(claimed.iter().map(|row| row.0.as_str()).collect::<Vec<&str>>()).to_string();
                    let text = "DELETE FROM outbox WHERE _id IN (SELECT value FROM json_each(?1))";
                    query(text).bind(ids).execute(pool).await?;
                    claimed.len()
                }
            };
            anyhow::ensure!(claimed > 0, "{done} of {rows} rows were there");
            done += claimed as u64;
        }
        Ok(began.elapsed())
    }

    pub async fn unsent(&self) -> anyhow::Result<u64> {
        let text = "SELECT count(*) FROM outbox WHERE status <> 'sent'";
        let left: i64 = match self {
            Self::Mongo { rows, .. } => return Ok(rows.count_documents(doc! { "status": { "$ne": "sent" } }).await?),
            Self::Postgres { pool, .. } => query_scalar(text).fetch_one(pool).await?,
            Self::Sqlite { pool, .. } => query_scalar(text).fetch_one(pool).await?,
        };
        Ok(left.try_into()?)
    }
}

async fn claim_and_mark_mongo(rows: &Collection<Document>) -> anyhow::Result<usize> {
    let find = rows.find(doc! { "status": "pending" }).sort(doc! { "ts": 1, "_id": 1 }).limit(PORTION as i64);
    let mut cursor = find.batch_size(PORTION as u32).await?;
    let mut ids: Vec<Bson> = Vec::new();
    while cursor.advance().await? {
        let row: Document = cursor.deserialize_current()?;
        ids.push(row.get("_id").cloned().context("a row without an id")?);
    }
    let claimed = ids.len();
    let sent = doc! { "$set": { "status": "sent", "sent_at": DateTime::now() } };
    rows.update_many(doc! { "_id": { "$in": ids }, "status": "pending" }, sent).await?;
    Ok(claimed)
}
