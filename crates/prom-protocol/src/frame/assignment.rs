//! `ASSIGNED` and `REVOKED{topic, group, event_topic, partitions}`: which partitions a member got, or has to
//! let go of. Only for members that asked, by the option `assignments` of SUBSCRIBE.

use prom_types::TopicName;
use serde::Deserialize;

use super::SubscriptionName;
use super::write::{self, Object};

/// Partitions of a topic that came or went.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Assignment {
    /// The concrete topic.
    pub event_topic: TopicName,
    pub partitions: Vec<u32>,
}

impl Assignment {
    /// Their events come from now on.
    pub fn write_assigned(&self, out: &mut Vec<u8>, name: &SubscriptionName) {
        self.write(out, "ASSIGNED", name);
    }

    /// No more of their events come; what is leased may still be settled, for a short while.
    pub fn write_revoked(&self, out: &mut Vec<u8>, name: &SubscriptionName) {
        self.write(out, "REVOKED", name);
    }

    fn write(&self, out: &mut Vec<u8>, op: &str, name: &SubscriptionName) {
        let mut object = Object::frame(out, op, None);
        name.write(&mut object);
        object.text("event_topic", &self.event_topic);
        let list = object.name("partitions");
        list.push(b'[');
        for (at, partition) in self.partitions.iter().enumerate() {
            if at > 0 {
                list.push(b',');
            }
            write::number(list, *partition);
        }
        list.push(b']');
        object.end();
    }
}
