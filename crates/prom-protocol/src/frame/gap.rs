//! `GAP{topic, group, event_topic, partition, from, to, reason}`: events that should have come and are gone.

use prom_types::{Offset, TopicName};
use serde::Deserialize;

use super::SubscriptionName;
use super::write::Object;

/// Offsets from `from` up to, not including, `to`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Gap {
    /// The concrete topic.
    pub event_topic: TopicName,
    pub partition: u32,
    pub from: Offset,
    pub to: Offset,
    pub reason: String,
}

impl Gap {
    pub fn write(&self, out: &mut Vec<u8>, name: &SubscriptionName) {
        let mut object = Object::frame(out, "GAP", None);
        name.write(&mut object);
        object
            .text("event_topic", &self.event_topic)
            .number("partition", self.partition)
            .number("from", self.from)
            .number("to", self.to)
            .text("reason", &self.reason);
        object.end();
    }
}
