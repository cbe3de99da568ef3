//! The audit trail: what administration changed, as events on `system.audit`.

use prom_store::CursorName;
use prom_types::{Invalid, NewEvent, Offset, TopicName};
use serde_json::json;

use crate::{Position, TopicSettings};

const TOPIC: &str = "system.audit";

pub(crate) fn is_audit(topic: &TopicName) -> bool {
    topic.as_str() == TOPIC
}

/// A topic got more partitions.
pub(crate) fn partitions_raised(before: &TopicSettings, after: u32) -> Result<(TopicName, NewEvent), Invalid> {
    let topic = TopicName::parse(TOPIC)?;
    let payload = json!({
        "action": "raise_partitions",
        "topic": before.name.as_str(),
        "before": before.partitions,
        "after": after,
    });
    Ok((topic.clone(), NewEvent::new(topic, payload)))
}

/// A cursor was moved by hand.
pub(crate) fn cursor_moved(
    cursor: &CursorName,
    before: Option<Offset>,
    after: Offset,
    asked: Position,
) -> Result<(TopicName, NewEvent), Invalid> {
    let topic = TopicName::parse(TOPIC)?;
    let payload = json!({
        "action": "set_cursor",
        "topic": cursor.log.topic.as_str(),
        "partition": cursor.log.partition,
        "group": cursor.group.as_str(),
        "asked": asked.to_string(),
        "before": before,
        "after": after,
    });
    Ok((topic.clone(), NewEvent::new(topic, payload)))
}
