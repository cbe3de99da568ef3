//! Every query of the store, in one place. The code runs them, and a test explains each one.
//!
//! Promise: each is answered by a bounded index scan.

use mongodb::bson::oid::ObjectId;
use mongodb::bson::{Bson, Document, doc};
use prom_store::LogName;
use prom_types::{EpochMs, EventId, Offset, TopicName};

use crate::codec::binary_id;

/// A filter, with the order of the results.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexedQuery {
    pub filter: Document,
    pub sort: Document,
    /// Empty: all fields.
    pub projection: Document,
}

impl IndexedQuery {
    fn new(filter: Document, sort: Document) -> Self {
        Self { filter, sort, projection: doc! {} }
    }

    fn showing(mut self, projection: Document) -> Self {
        self.projection = projection;
        self
    }
}

pub fn batch_key(log: &LogName, base: Offset) -> Document {
    doc! { "topic": log.topic.as_str(), "partition": log.partition as i32, "base": base as i64 }
}

pub fn log_key(log: &LogName) -> Document {
    doc! { "topic": log.topic.as_str(), "partition": log.partition as i32 }
}

pub fn latest_key(log: &LogName, key: &str) -> Document {
    doc! { "topic": log.topic.as_str(), "partition": log.partition as i32, "key": key }
}

fn between(log: &LogName, from: Offset, before: Offset) -> Document {
    doc! { "_id": { "$gte": batch_key(log, from), "$lt": batch_key(log, before) } }
}

const END: Offset = i64::MAX as Offset;

/// Batches that begin at or after `from`, in order.
pub fn batches_from(log: &LogName, from: Offset) -> IndexedQuery {
    IndexedQuery::new(between(log, from, END), doc! { "_id": 1 })
}

/// Batches that begin before `before`, last first.
pub fn batches_before(log: &LogName, before: Offset) -> IndexedQuery {
    IndexedQuery::new(between(log, 0, before), doc! { "_id": -1 })
}

/// The same, without their events.
pub fn heads_before(log: &LogName, before: Offset) -> IndexedQuery {
    batches_before(log, before).showing(doc! { "events": 0, "exact": 0 })
}

pub fn heads_from(log: &LogName, from: Offset) -> IndexedQuery {
    batches_from(log, from).showing(doc! { "events": 0, "exact": 0 })
}

/// The newest batch.
pub fn head(log: &LogName) -> IndexedQuery {
    heads_before(log, END)
}

/// The ids of batches that begin before `before`, last first.
pub fn ids_before(log: &LogName, before: Offset) -> IndexedQuery {
    batches_before(log, before).showing(id_projection())
}

/// The batches of a topic that hold these ids as exact ids.
pub fn exact_ids(topic: &TopicName, ids: &[EventId]) -> IndexedQuery {
    let ids: Vec<_> = ids.iter().copied().map(binary_id).collect();
    let filter = doc! {
        "topic": topic.as_str(),
        "exact": { "$exists": true, "$in": ids },
    };
    IndexedQuery::new(filter, doc! {}).showing(id_projection())
}

fn id_projection() -> Document {
    doc! { "stored_ts": 1, "last_ts": 1, "at": 1, "next": 1, "events.id": 1, "events.offset": 1, "events.stored_ts": 1 }
}

/// The first batch whose last event was stored at or after this time.
pub fn stored_at(log: &LogName, stored_ts: EpochMs) -> IndexedQuery {
    let filter = doc! {
        "topic": log.topic.as_str(),
        "partition": log.partition as i32,
        "last_ts": { "$gte": stored_ts },
    };
    let sort = doc! { "topic": 1, "partition": 1, "last_ts": 1, "next": 1 };
    IndexedQuery::new(filter, sort).showing(doc! { "events": 0, "exact": 0 })
}

/// Batches between two offsets that hold this id, newest first. Scans the index over that range and looks into each
/// batch.
pub fn with_id(log: &LogName, id: EventId, from: Offset, before: Offset) -> IndexedQuery {
    let mut filter = between(log, from, before);
    filter.insert("events.id", binary_id(id));
    IndexedQuery::new(filter, doc! { "_id": -1 }).showing(id_projection())
}

pub fn log(log: &LogName) -> IndexedQuery {
    IndexedQuery::new(doc! { "_id": log_key(log) }, doc! {})
}

pub fn all_logs() -> IndexedQuery {
    IndexedQuery::new(doc! {}, doc! { "_id": 1 })
}

pub fn latest(log: &LogName, keys: &[&str]) -> IndexedQuery {
    let keys: Vec<_> = keys.iter().map(|key| latest_key(log, key)).collect();
    IndexedQuery::new(doc! { "_id": { "$in": keys } }, doc! {})
}

/// Entries of `latest` whose events retention removed.
pub fn latest_before(log: &LogName, start: Offset) -> IndexedQuery {
    let after = doc! { "topic": log.topic.as_str(), "partition": log.partition as i32 + 1, "key": "" };
    let filter = doc! { "_id": { "$gte": latest_key(log, ""), "$lt": after }, "offset": { "$lt": start as i64 } };
    IndexedQuery::new(filter, doc! { "_id": 1 })
}

/// Those of them that delete their key.
pub fn latest_tombstones_before(log: &LogName, start: Offset) -> IndexedQuery {
    let mut query = latest_before(log, start);
    query.filter.insert("tombstone", true);
    query
}

/// Those of them that still have the event.
pub fn latest_text_before(log: &LogName, start: Offset) -> IndexedQuery {
    let mut query = latest_before(log, start);
    query.filter.insert("event", doc! { "$exists": true });
    query
}

pub fn cursor(id: &str) -> IndexedQuery {
    IndexedQuery::new(doc! { "_id": id }, doc! {})
}

/// The cursors of a topic, or all.
pub fn cursors(topic: Option<&TopicName>) -> IndexedQuery {
    let filter = match topic {
        // A topic name has no colon, and `;` is the character after the colon.
        Some(topic) => doc! { "_id": { "$gte": format!("{topic}::"), "$lt": format!("{topic}:;") } },
        None => doc! { "_id": { "$gte": "" } },
    };
    IndexedQuery::new(filter, doc! { "_id": 1 })
}

/// A lease that is held at `now`, which may be a server expression.
pub fn held_lease(name: &str, now: Bson) -> IndexedQuery {
    IndexedQuery::new(doc! { "_id": name, "$expr": { "$gt": ["$until", now] } }, doc! {})
}

pub fn document(key: &str) -> IndexedQuery {
    IndexedQuery::new(doc! { "_id": key }, doc! {})
}

pub fn documents(after: Option<&str>) -> IndexedQuery {
    let filter = match after {
        Some(after) => doc! { "_id": { "$gt": after } },
        None => doc! { "_id": { "$gte": "" } },
    };
    IndexedQuery::new(filter, doc! { "_id": 1 })
}

/// One of our batches that turned out to be at the wrong offset.
pub fn own_batch(log: &LogName, base: Offset, by: ObjectId, attempt: i64) -> Document {
    doc! { "_id": batch_key(log, base), "by": by, "attempt": attempt }
}
