//! A service's own database with an outbox, as the service sees it.

use mongodb::bson::{Bson, Document, doc};
use mongodb::{Client, Collection};
use prom_flows::outbox::{OutboxPlace, POSTGRES_DDL, SQLITE_DDL};
use prom_testkit::postgres::Postgres;
use prom_testkit::tools::ToolError;
use sqlx::sqlite::SqlitePool;
use sqlx::{PgPool, query, raw_sql};
use tempfile::TempDir;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Mongo,
    /// Rows in an array of a document for each key.
    MongoField,
    Postgres,
    Sqlite,
}

pub const ALL: [Kind; 4] = [Kind::Mongo, Kind::MongoField, Kind::Postgres, Kind::Sqlite];

pub enum Database {
    Mongo { rows: Collection<Document>, url: String, field: Option<String> },
    Postgres { pool: PgPool, cluster: Postgres },
    Sqlite { pool: SqlitePool, folder: TempDir },
}

/// What a service writes.
#[derive(Debug, Clone)]
pub struct Row {
    pub id: String,
    pub topic: String,
    /// JSON, or not.
    pub payload: String,
    pub key: Option<String>,
    pub ts: i64,
}

impl Row {
    pub fn new(n: usize, key: &str) -> Self {
        let payload = format!("{{\"n\":{n},\"key\":\"{key}\"}}");
        let id = uuid::Uuid::now_v7().to_string();
        Self { id, topic: "orders.placed".to_owned(), payload, key: Some(key.to_owned()), ts: n as i64 + 1 }
    }
}

impl Database {
    /// `None`, with a word: the server is not installed.
    pub async fn start(kind: Kind) -> Option<Self> {
        match kind {
            Kind::Mongo | Kind::MongoField => {
                let url = prom_testkit::mongo::shared().await.unwrap().fresh_url();
                let database = Client::with_uri_str(&url).await.unwrap().default_database().unwrap();
                let field = (kind == Kind::MongoField).then(|| "events".to_owned());
                Some(Self::Mongo { rows: database.collection("outbox"), url, field })
            }
            Kind::Postgres => {
                let cluster = match Postgres::start(&["fsync=off"]) {
                    Ok(cluster) => cluster,
                    Err(missing @ ToolError::Missing(_)) if std::env::var_os("CI").is_none() => {
                        eprintln!("skipped: {missing}");
                        return None;
                    }
                    Err(error) => panic!("{error}"),
                };
                let pool = PgPool::connect(&cluster.url()).await.unwrap();
                raw_sql(POSTGRES_DDL).execute(&pool).await.unwrap();
                Some(Self::Postgres { pool, cluster })
            }
            Kind::Sqlite => {
                let folder = tempfile::tempdir().unwrap();
                let url = format!("sqlite:{}?mode=rwc", folder.path().join("shop.db").display());
                let pool = SqlitePool::connect(&url).await.unwrap();
                raw_sql("PRAGMA journal_mode = wal").execute(&pool).await.unwrap();
                raw_sql(SQLITE_DDL).execute(&pool).await.unwrap();
                Some(Self::Sqlite { pool, folder })
            }
        }
    }

    pub fn place(&self) -> OutboxPlace {
        match self {
            Self::Mongo { rows, url, field } => OutboxPlace::Mongo {
                url: url.clone(),
                database: None,
                collection: rows.name().to_owned(),
                field: field.clone(),
            },
            Self::Postgres { cluster, .. } => OutboxPlace::Postgres { url: cluster.url(), table: "outbox".to_owned() },
            Self::Sqlite { folder, .. } => OutboxPlace::Sqlite {
                url: format!("sqlite:{}", folder.path().join("shop.db").display()),
                table: "outbox".to_owned(),
            },
        }
    }

    /// Writes rows, in one transaction where there is one.
    pub async fn add(&self, rows: &[Row]) {
        match self {
            Self::Mongo { rows: collection, field: None, .. } => {
                collection.insert_many(rows.iter().map(document)).await.unwrap();
            }
            Self::Mongo { rows: collection, field: Some(field), .. } => {
                for row in rows {
                    let of = doc! { "_id": row.key.clone().unwrap_or_else(|| row.id.clone()) };
                    let mut element = document(row);
                    element.remove("key");
                    element.remove("status");
                    let push = doc! { "$push": { field: element }, "$inc": { "written": 1 } };
                    collection.update_one(of, push).upsert(true).await.unwrap();
                }
            }
            Self::Postgres { pool, .. } => {
                let mut transaction = pool.begin().await.unwrap();
                for row in rows {
                    add_to_postgres(&mut transaction, row).await;
                }
                transaction.commit().await.unwrap();
            }
            Self::Sqlite { pool, .. } => {
                let mut transaction = pool.begin().await.unwrap();
                for row in rows {
                    query("INSERT INTO outbox (_id, topic, payload, key, ts) VALUES (?1, ?2, ?3, ?4, ?5)")
                        .bind(&row.id)
                        .bind(&row.topic)
                        .bind(&row.payload)
                        .bind(&row.key)
                        .bind(row.ts)
                        .execute(&mut *transaction)
                        .await
                        .unwrap();
                }
                transaction.commit().await.unwrap();
            }
        }
    }

    /// Rows that are still there and were not sent.
    pub async fn unsent(&self) -> u64 {
        let count = |number: i64| u64::try_from(number).unwrap();
        match self {
            Self::Mongo { rows, field: None, .. } => {
                rows.count_documents(doc! { "status": { "$ne": "sent" } }).await.unwrap()
            }
            Self::Mongo { rows, field: Some(field), .. } => {
                rows.count_documents(doc! { format!("{field}.0"): { "$exists": true } }).await.unwrap()
            }
            Self::Postgres { pool, .. } => {
                let text = "SELECT count(*) FROM outbox WHERE status <> 'sent'";
                count(sqlx::query_scalar(text).fetch_one(pool).await.unwrap())
            }
            Self::Sqlite { pool, .. } => {
                let text = "SELECT count(*) FROM outbox WHERE status <> 'sent'";
                count(sqlx::query_scalar(text).fetch_one(pool).await.unwrap())
            }
        }
    }
}

/// A payload that is no JSON becomes none at all: MongoDB has no such thing.
pub fn document(row: &Row) -> Document {
    let mut document = doc! {
        "_id": &row.id, "topic": &row.topic, "key": row.key.clone(), "status": "pending", "ts": row.ts,
    };
    let payload = serde_json::from_str::<serde_json::Value>(&row.payload).ok();
    let payload = payload.and_then(|payload| payload.as_object().cloned());
    if let Some(payload) = payload {
        let fields = payload.into_iter().map(|(name, value)| {
            let value = value.as_i64().map_or_else(|| Bson::from(value.as_str().unwrap_or_default()), Bson::from);
            (name, value)
        });
        document.insert("payload", fields.collect::<Document>());
    }
    document
}

pub async fn add_to_postgres(connection: &mut sqlx::PgConnection, row: &Row) {
    query("INSERT INTO outbox (_id, topic, payload, key, ts) VALUES ($1, $2, $3::json, $4, $5)")
        .bind(&row.id)
        .bind(&row.topic)
        .bind(&row.payload)
        .bind(&row.key)
        .bind(row.ts)
        .execute(connection)
        .await
        .unwrap();
}
