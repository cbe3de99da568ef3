//! The audit trail: what administration changed and who did it, as events on `system.audit`.

use prom_store::CursorName;
use prom_types::{EventId, GroupName, Invalid, NewEvent, Offset, TopicName};
use serde_json::{Value, json};

use crate::commit::UnitOfWork;
use crate::cursor::CursorMove;
use crate::group::Agreed;
use crate::release::ReleasedLease;
use crate::topic::DeletedTopic;
use crate::{Error, Position, TopicSettings};

const TOPIC: &str = "system.audit";
/// Leases that one entry names; it counts all of them.
const AUDITED_LEASES: usize = 100;

pub(crate) fn is_audit(topic: &TopicName) -> bool {
    topic.as_str() == TOPIC
}

/// One entry of the trail.
pub(crate) struct AuditEvent {
    topic: TopicName,
    event: NewEvent,
}

impl AuditEvent {
    fn new(subject: Option<&str>, mut payload: Value) -> Result<Self, Invalid> {
        payload["subject"] = json!(subject);
        let topic = TopicName::parse(TOPIC)?;
        Ok(Self { topic: topic.clone(), event: NewEvent::new(topic, payload) })
    }

    /// Into the commit of what it tells.
    pub fn add_to(self, work: &mut UnitOfWork) -> Result<(), Error> {
        work.publish_own(self.topic, &self.event)
    }
}

impl UnitOfWork {
    /// Tells the audit trail, in the same commit, that the user in whose name this is done did something.
    pub fn audit(&mut self, action: &'static str, mut details: Value) -> Result<(), Error> {
        details["action"] = json!(action);
        let subject = self.subject().map(str::to_owned);
        AuditEvent::new(subject.as_deref(), details)?.add_to(self)
    }
}

/// A topic got more partitions.
pub(crate) fn partitions_raised(
    before: &TopicSettings,
    after: u32,
    subject: Option<&str>,
) -> Result<AuditEvent, Invalid> {
    let payload = json!({
        "action": "raise_partitions",
        "topic": before.name.as_str(),
        "before": before.partitions,
        "after": after,
    });
    AuditEvent::new(subject, payload)
}

/// The settings of a topic were changed.
pub(crate) fn topic_changed(
    before: &TopicSettings,
    after: &TopicSettings,
    subject: Option<&str>,
) -> Result<AuditEvent, Invalid> {
    let payload = json!({ "action": "change_topic", "topic": after.name.as_str(), "before": before, "after": after });
    AuditEvent::new(subject, payload)
}

/// A cursor was moved.
pub(crate) fn cursor_moved(
    cursor: &CursorName,
    moved: &CursorMove,
    asked: Position,
    subject: Option<&str>,
) -> Result<AuditEvent, Invalid> {
    let payload = json!({
        "action": "set_cursor",
        "topic": cursor.log.topic.as_str(),
        "partition": cursor.log.partition,
        "group": cursor.group.as_str(),
        "asked": asked.to_string(),
        "before": moved.before,
        "after": moved.after,
        "come_again": moved.come_again,
        "skipped": moved.skipped,
    });
    AuditEvent::new(subject, payload)
}

/// An event was settled for a group.
pub(crate) fn event_skipped(
    cursor: &CursorName,
    offset: Offset,
    id: Option<EventId>,
    subject: Option<&str>,
) -> Result<AuditEvent, Invalid> {
    let payload = json!({
        "action": "skip",
        "topic": cursor.log.topic.as_str(),
        "partition": cursor.log.partition,
        "group": cursor.group.as_str(),
        "offset": offset,
        "id": id.map(|id| id.to_string()),
    });
    AuditEvent::new(subject, payload)
}

/// The options of a group changed: its subscriptions before and after.
pub(crate) fn group_changed(
    group: &GroupName,
    before: &[Agreed],
    after: &[Agreed],
    subject: Option<&str>,
) -> Result<AuditEvent, Invalid> {
    let payload = json!({ "action": "change_group", "group": group.as_str(), "before": before, "after": after });
    AuditEvent::new(subject, payload)
}

/// A topic was deleted, with everything in it.
pub(crate) fn topic_deleted(deleted: &DeletedTopic, subject: Option<&str>) -> Result<AuditEvent, Invalid> {
    let DeletedTopic { topic, events, bytes, groups } = deleted;
    let groups: Vec<&str> = groups.iter().map(|group| group.as_str()).collect();
    let payload = json!({
        "action": "delete_topic", "topic": topic.as_str(), "events": events, "bytes": bytes, "groups": groups,
    });
    AuditEvent::new(subject, payload)
}

/// Leases were taken back from their holders.
pub(crate) fn leases_released(
    topic: &TopicName,
    group: &GroupName,
    released: &[ReleasedLease],
    subject: Option<&str>,
) -> Result<AuditEvent, Invalid> {
    let one =
        |lease: &ReleasedLease| json!({ "partition": lease.partition, "offset": lease.offset, "member": lease.member });
    let shown: Vec<Value> = released.iter().take(AUDITED_LEASES).map(one).collect();
    let payload = json!({
        "action": "release",
        "topic": topic.as_str(),
        "group": group.as_str(),
        "released": released.len(),
        "leases": shown,
    });
    AuditEvent::new(subject, payload)
}

/// A member's subscriptions were ended.
pub(crate) fn member_kicked(
    group: &GroupName,
    member: &str,
    subscriptions: usize,
    subject: Option<&str>,
) -> Result<AuditEvent, Invalid> {
    let payload =
        json!({ "action": "kick", "group": group.as_str(), "member": member, "subscriptions": subscriptions });
    AuditEvent::new(subject, payload)
}

/// Something in the schema registry changed.
pub(crate) fn schema_changed(
    action: &'static str,
    topic: &TopicName,
    version: Option<u32>,
    subject: Option<&str>,
) -> Result<AuditEvent, Invalid> {
    AuditEvent::new(subject, json!({ "action": action, "topic": topic.as_str(), "version": version }))
}

/// The settings that hold for every topic changed.
pub(crate) fn registry_changed(subject: Option<&str>) -> Result<AuditEvent, Invalid> {
    AuditEvent::new(subject, json!({ "action": "set_registry_settings" }))
}

/// A group was deleted, with these subscriptions.
pub(crate) fn group_deleted(
    group: &GroupName,
    before: &[Agreed],
    subject: Option<&str>,
) -> Result<AuditEvent, Invalid> {
    AuditEvent::new(subject, json!({ "action": "delete_group", "group": group.as_str(), "before": before }))
}
