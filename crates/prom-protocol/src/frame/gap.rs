//! `GAP{topic, group, event_topic, partition, from, to, reason}`: events that should have come and are gone.

use prom_types::Gap;

use super::SubscriptionName;
use super::write::Object;

/// Appends the frame that tells a subscription of a gap.
pub fn write(gap: &Gap, out: &mut Vec<u8>, name: &SubscriptionName) {
    let mut object = Object::frame(out, "GAP", None);
    name.write(&mut object);
    object
        .text("event_topic", &gap.topic)
        .number("partition", gap.partition)
        .number("from", gap.from)
        .number("to", gap.to)
        .text("reason", &gap.reason.to_string());
    object.end();
}
