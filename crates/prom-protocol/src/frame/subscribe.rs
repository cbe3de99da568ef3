//! `SUBSCRIBE{topic, group?, opts?}` → `OK`. Without a group: every event from the given position,
//! no leases, no acks.

use prom_types::{Backoff, Mode, Order};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::client::Fields;
use super::field::{self, Raw, optional, required};
use super::write::Object;
use super::{Corr, FrameError, SubscriptionName};
use crate::limits::BATCH_ITEMS;
use crate::position::PositionFields;

#[derive(Debug, PartialEq)]
pub struct Subscribe {
    pub name: SubscriptionName,
    pub opts: SubscribeOpts,
}

/// What a subscriber may ask for: first what belongs to the group, then what is its own.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SubscribeOpts {
    /// Where a new group begins.
    #[serde(flatten)]
    pub position: PositionFields,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<Order>,
    /// Whether a key stops when its event goes to the dead letters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub park: Option<bool>,
    /// A jq program over the whole event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// Written as `{firstMs, maxMs}`.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "write_backoff")]
    pub backoff: Option<Backoff>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partitions: Option<u32>,
    /// Milliseconds without a subscriber after which the group is deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expire_after: Option<u64>,
    /// Without a group: of the events that pass the filter, only so many each second are sent; THINNED tells of the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_per_second: Option<u32>,

    /// More topics or patterns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub topics: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch_size: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_in_flight: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_timeout_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub normalize: Option<bool>,
    /// A name that people see when they ask who holds an event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member_id: Option<String>,
    /// What people see beside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meta: Option<Value>,
    /// Its share of the partitions in relation to other members.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<u32>,
    /// Partitions that go to it first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pin: Vec<u32>,
    /// Milliseconds of silence after which its partitions go to others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// Whether ASSIGNED and REVOKED come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assignments: Option<bool>,
    /// Whether parts that are hidden from others are hidden here too; always where the token does not let them be seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub masked: Option<bool>,
}

/// The fields as they came, not read yet.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct OptsFields<'a> {
    #[serde(borrow)]
    from: Raw<'a>,
    #[serde(borrow)]
    ts: Raw<'a>,
    #[serde(borrow)]
    after_id: Raw<'a>,
    #[serde(borrow)]
    offset: Raw<'a>,
    #[serde(borrow)]
    mode: Raw<'a>,
    #[serde(borrow)]
    order: Raw<'a>,
    #[serde(borrow)]
    park: Raw<'a>,
    #[serde(borrow)]
    filter: Raw<'a>,
    #[serde(borrow)]
    max_attempts: Raw<'a>,
    #[serde(borrow)]
    backoff: Raw<'a>,
    #[serde(borrow)]
    partitions: Raw<'a>,
    #[serde(borrow)]
    expire_after: Raw<'a>,
    #[serde(borrow)]
    max_per_second: Raw<'a>,
    #[serde(borrow)]
    topics: Raw<'a>,
    #[serde(borrow)]
    batch_size: Raw<'a>,
    #[serde(borrow)]
    max_in_flight: Raw<'a>,
    #[serde(borrow)]
    ack_timeout_ms: Raw<'a>,
    #[serde(borrow)]
    normalize: Raw<'a>,
    #[serde(borrow)]
    member_id: Raw<'a>,
    #[serde(borrow)]
    meta: Raw<'a>,
    #[serde(borrow)]
    weight: Raw<'a>,
    #[serde(borrow)]
    pin: Raw<'a>,
    #[serde(borrow, alias = "ttl_ms")]
    ttl_ms: Raw<'a>,
    #[serde(borrow)]
    assignments: Raw<'a>,
    #[serde(borrow)]
    masked: Raw<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct BackoffFields<'a> {
    #[serde(borrow)]
    first_ms: Raw<'a>,
    #[serde(borrow)]
    max_ms: Raw<'a>,
}

impl Subscribe {
    pub(super) fn read(fields: &Fields<'_>) -> Result<Self, FrameError> {
        let opts = optional("opts", fields.opts, |_, raw| SubscribeOpts::read(raw))?.unwrap_or_default();
        Ok(Self { name: SubscriptionName::read(fields)?, opts })
    }

    pub fn write(&self, out: &mut Vec<u8>, corr: Option<&Corr>) {
        let mut object = Object::frame(out, "SUBSCRIBE", corr);
        self.name.write(&mut object);
        if let Ok(opts) = serde_json::to_string(&self.opts) {
            object.raw("opts", opts.as_bytes());
        }
        object.end();
    }
}

impl SubscribeOpts {
    fn read(raw: &RawValue) -> Result<Self, FrameError> {
        let fields: OptsFields<'_> = field::object("opts", raw)?;
        Ok(Self {
            position: PositionFields {
                from: optional("opts.from", fields.from, field::choice)?,
                ts: optional("opts.ts", fields.ts, field::number)?,
                after_id: optional("opts.afterId", fields.after_id, field::event_id)?,
                offset: optional("opts.offset", fields.offset, field::number)?,
            },
            mode: optional("opts.mode", fields.mode, field::choice)?,
            order: optional("opts.order", fields.order, field::choice)?,
            park: optional("opts.park", fields.park, field::flag)?,
            filter: optional("opts.filter", fields.filter, field::owned_text)?,
            max_attempts: optional("opts.maxAttempts", fields.max_attempts, field::number)?,
            backoff: optional("opts.backoff", fields.backoff, read_backoff)?,
            partitions: optional("opts.partitions", fields.partitions, field::number)?,
            expire_after: optional("opts.expireAfter", fields.expire_after, field::number)?,
            max_per_second: optional("opts.maxPerSecond", fields.max_per_second, field::number)?,
            topics: optional("opts.topics", fields.topics, field::texts::<BATCH_ITEMS>)?.unwrap_or_default(),
            batch_size: optional("opts.batchSize", fields.batch_size, field::number)?,
            max_in_flight: optional("opts.maxInFlight", fields.max_in_flight, field::number)?,
            ack_timeout_ms: optional("opts.ackTimeoutMs", fields.ack_timeout_ms, field::number)?,
            normalize: optional("opts.normalize", fields.normalize, field::flag)?,
            member_id: optional("opts.memberId", fields.member_id, field::owned_text)?,
            meta: optional("opts.meta", fields.meta, field::any)?,
            weight: optional("opts.weight", fields.weight, field::number)?,
            pin: optional("opts.pin", fields.pin, field::numbers)?.unwrap_or_default(),
            ttl_ms: optional("opts.ttlMs", fields.ttl_ms, field::number)?,
            assignments: optional("opts.assignments", fields.assignments, field::flag)?,
            masked: optional("opts.masked", fields.masked, field::flag)?,
        })
    }
}

fn read_backoff(name: &str, raw: &RawValue) -> Result<Backoff, FrameError> {
    let fields: BackoffFields<'_> = field::object(name, raw)?;
    Ok(Backoff {
        first_ms: required("opts.backoff.firstMs", fields.first_ms, field::number)?,
        max_ms: required("opts.backoff.maxMs", fields.max_ms, field::number)?,
    })
}

fn write_backoff<S: serde::Serializer>(backoff: &Option<Backoff>, serializer: S) -> Result<S::Ok, S::Error> {
    let members = |backoff: &Backoff| [("firstMs", backoff.first_ms), ("maxMs", backoff.max_ms)];
    serializer.collect_map(backoff.iter().flat_map(members))
}

impl SubscriptionName {
    pub fn new(topic: impl Into<String>, group: Option<&str>) -> Self {
        Self { topic: topic.into(), group: group.map(str::to_owned) }
    }

    pub(super) fn write(&self, object: &mut Object<'_>) {
        object.text("topic", &self.topic);
        if let Some(group) = &self.group {
            object.text("group", group);
        }
    }
}
