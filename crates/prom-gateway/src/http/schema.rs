//! Shapes that other crates own, described for the OpenAPI document.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::problem::Document;

/// What is published.
#[derive(Serialize, ToSchema)]
pub(crate) struct PublishRequest {
    #[schema(example = "orders.placed")]
    topic: String,
    /// Any JSON; `null` deletes the key of a compacted topic.
    #[schema(example = json!({"id": 7}))]
    payload: Value,
    opts: Option<PublishOpts>,
}

/// One event, or many.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "read by the OpenAPI generator only")]
pub(crate) enum PublishBody {
    One(Box<PublishRequest>),
    Many(Vec<PublishRequest>),
}

/// One receipt for one event, else one result per item.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "read by the OpenAPI generator only")]
pub(crate) enum PublishAnswer {
    One(Receipt),
    Many(Vec<BatchResult>),
}

/// Everything about an event that may be left out.
#[derive(Serialize, ToSchema)]
pub(crate) struct PublishOpts {
    /// A UUID, best version 7; made by the hub when absent.
    #[schema(format = "uuid")]
    id: Option<String>,
    /// The id is unique for as long as the event is retained, not only for ten minutes.
    exact: Option<bool>,
    /// When it happened, in epoch milliseconds; decides nothing.
    ts: Option<i64>,
    /// Decides the partition, the order and what compaction keeps.
    key: Option<String>,
    /// Names `x-…`, `content-type`, `traceparent`, `tracestate`.
    headers: Option<BTreeMap<String, String>>,
    tags: Option<Vec<String>>,
    /// Ids of the events that led to this one.
    caused_by: Option<Vec<String>>,
    /// The publisher's session.
    sid: Option<String>,
    /// A partition chosen by hand.
    partition: Option<u32>,
}

/// The promise that an event is stored, and where.
#[derive(Serialize, ToSchema)]
pub(crate) struct Receipt {
    #[schema(format = "uuid")]
    id: String,
    partition: u32,
    offset: u64,
    stored_ts: i64,
    durability: Durability,
}

/// How safe an event is: synced to the disk, handed to the operating system, journaled by a majority, or in memory.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[allow(dead_code, reason = "read by the OpenAPI generator only")]
pub(crate) enum Durability {
    Fsync,
    Os,
    Majority,
    Memory,
}

/// What became of one item of a batch.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "read by the OpenAPI generator only")]
pub(crate) enum BatchResult {
    Stored(Receipt),
    Refused(Document),
}

/// A stored event.
#[derive(Serialize, ToSchema)]
pub(crate) struct Event {
    #[schema(format = "uuid")]
    id: String,
    /// By the publisher's clock.
    ts: i64,
    /// By the hub's clock; never decreases within a partition.
    stored_ts: i64,
    topic: String,
    partition: u32,
    offset: u64,
    #[schema(nullable = false)]
    key: Option<String>,
    #[schema(nullable = false)]
    sid: Option<String>,
    #[schema(nullable = false)]
    headers: Option<BTreeMap<String, String>>,
    #[schema(nullable = false)]
    caused_by: Option<Vec<String>>,
    #[schema(nullable = false)]
    tags: Option<Vec<String>>,
    payload: Value,
}

/// A page of a replay.
#[derive(Serialize, ToSchema)]
pub(crate) struct ReplayPage {
    topic: String,
    count: usize,
    events: Vec<Event>,
    /// Give it as `?next=` to go on, now or later.
    next: String,
    /// Nothing more was there.
    end: bool,
}

/// A CloudEvent 1.0 in structured mode. Extensions are members of their own.
#[derive(Serialize, ToSchema)]
pub(crate) struct CloudEvent {
    #[schema(example = "1.0")]
    specversion: String,
    id: String,
    source: String,
    /// The topic, unless the request names one.
    #[serde(rename = "type")]
    kind: String,
    /// The key.
    #[schema(nullable = false)]
    subject: Option<String>,
    #[schema(nullable = false, format = "date-time")]
    time: Option<String>,
    #[schema(nullable = false)]
    datacontenttype: Option<String>,
    #[schema(nullable = false)]
    dataschema: Option<String>,
    data: Option<Value>,
    #[schema(nullable = false)]
    data_base64: Option<String>,
}
