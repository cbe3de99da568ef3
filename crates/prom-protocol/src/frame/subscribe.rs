//! `SUBSCRIBE{topic, group?, opts?}` → `OK`. Without a group: every event from the given position,
//! no leases, no acks.

use prom_types::{EpochMs, EventId, Offset};
use serde::{Deserialize, Serialize};

use super::client::Fields;
use super::write::Object;
use super::{Corr, FrameError, SubscriptionName, field};

#[derive(Debug, PartialEq)]
pub struct Subscribe {
    pub name: SubscriptionName,
    pub opts: SubscribeOpts,
}

/// What a subscriber may ask for: first what belongs to the group, then what is its own.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SubscribeOpts {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<From>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ts: Option<EpochMs>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after_id: Option<EventId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<Offset>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<Order>,
    /// A jq program over the whole event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff: Option<Backoff>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partitions: Option<u32>,
    /// Milliseconds without a subscriber after which the group is deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expire_after: Option<u64>,

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
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum From {
    Latest,
    Earliest,
    Ts,
    AfterId,
    Offset,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    Shared,
    Partitioned,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    None,
    Key,
}

/// The wait after the first failure, doubling to the longest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Backoff {
    pub first_ms: u64,
    pub max_ms: u64,
}

impl Subscribe {
    pub(super) fn read(fields: &Fields<'_>) -> Result<Self, FrameError> {
        let opts: Option<SubscribeOpts> = field::optional("opts", fields.opts, field::object)?;
        Ok(Self { name: SubscriptionName::read(fields)?, opts: opts.unwrap_or_default() })
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
