//! What a program does without us: one document per event, with the indexes that needs.

use std::time::{Duration, Instant};

use mongodb::bson::{Document, doc};
use mongodb::options::{Acknowledgment, IndexOptions, ReadConcern, WriteConcern};
use mongodb::{Client, Collection, IndexModel};

use super::mongo_bus::drop_database;
use crate::bus_load::{TOPIC, payload};

const AT_ONCE: u64 = 1000;

/// Events per second of an `insertMany` loop, and of reading them back in order.
pub async fn publish_and_read(url: &str, span: Duration) -> anyhow::Result<(f64, f64)> {
    let events = collection(url).await?;
    for (keys, is_unique) in [
        (doc! { "topic": 1, "partition": 1, "offset": 1 }, true),
        (doc! { "id": 1 }, true),
        (doc! { "stored_ts": 1 }, false),
        (doc! { "key": 1 }, false),
    ] {
        let options = IndexOptions::builder().unique(is_unique).build();
        events.create_index(IndexModel::builder().keys(keys).options(options).build()).await?;
    }
    let payload: Document = serde_json::from_str(&payload())?;
    let mut next = insert_for(&events, &payload, 0, span / 4).await?;
    let started = Instant::now();
    let begin = next;
    next = insert_for(&events, &payload, next, span).await?;
    let published = (next - begin) as f64 / started.elapsed().as_secs_f64();
    let started = Instant::now();
    let read = read_all(&events).await? as f64 / started.elapsed().as_secs_f64();
    drop_database(url).await?;
    Ok((published, read))
}

pub async fn collection(url: &str) -> anyhow::Result<Collection<Document>> {
    let mut options = mongodb::options::ClientOptions::parse(url).await?;
    let mut write_concern = WriteConcern::default();
    write_concern.w = Some(Acknowledgment::Majority);
    write_concern.journal = Some(true);
    options.write_concern = Some(write_concern);
    options.read_concern = Some(ReadConcern::majority());
    let database = Client::with_options(options)?.default_database();
    Ok(database.ok_or_else(|| anyhow::anyhow!("the address names no database"))?.collection("raw_events"))
}

/// An event as this program would keep it.
pub fn document(payload: &Document, offset: u64) -> Document {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let now_ms = now.as_millis() as i64;
    doc! {
        "id": mongodb::bson::Uuid::new(),
        "ts": now_ms,
        "stored_ts": now_ms,
        "topic": TOPIC,
        "key": format!("customer-{}", offset % 1000),
        "partition": 0,
        "offset": offset as i64,
        "payload": payload.clone(),
    }
}

async fn insert_for(
    events: &Collection<Document>,
    payload: &Document,
    mut next: u64,
    span: Duration,
) -> anyhow::Result<u64> {
    let started = Instant::now();
    while started.elapsed() < span {
        let batch: Vec<_> = (next..next + AT_ONCE).map(|offset| document(payload, offset)).collect();
        events.insert_many(batch).await?;
        next += AT_ONCE;
    }
    Ok(next)
}

async fn read_all(events: &Collection<Document>) -> anyhow::Result<u64> {
    let find = events.find(doc! { "topic": TOPIC, "partition": 0, "offset": { "$gte": 0 } });
    let mut cursor = find.sort(doc! { "topic": 1, "partition": 1, "offset": 1 }).batch_size(AT_ONCE as u32).await?;
    let mut read = 0;
    while cursor.advance().await? {
        // A program wants the event, not bytes.
        let event: Document = cursor.deserialize_current()?;
        read += u64::from(!event.is_empty());
    }
    Ok(read)
}
