//! What can go wrong on the bus. Every variant says what the caller can do.

use std::sync::Arc;

use prom_schema::compat::Violation;
use prom_schema::{Refusal, SchemaError};
use prom_store::{CommitError, CursorName, Outcome, StoreError};
use prom_transform::CompileError;
use prom_types::{EventId, Expectation, GroupName, Invalid, Offset, TopicName};

use crate::caps::Cap;
use crate::commit::NotCommitted;
use crate::topic::COLLECTION as TOPICS;

/// The one error of this crate.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages name variants and fields")]
pub enum Error {
    /// A name, a header, a size. Nothing was stored; put the named piece right.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// Create the topic, or let the bus create topics on first publish.
    #[error("topic {topic} does not exist; create it, or publish to it if the hub creates topics on publish")]
    UnknownTopic { topic: TopicName },
    /// Subscribe once under this name, or look at the list of groups.
    #[error("group {group} does not exist; a group is created by its first subscriber")]
    UnknownGroup { group: GroupName },
    #[error("group {group} does not subscribe to {topic}")]
    NotOfTheGroup { group: GroupName, topic: TopicName },
    /// It was never published here, or retention took it. Choose a position by time or offset.
    #[error("event {id} is not in the topic (any more); choose a position by time or offset")]
    UnknownEvent { id: EventId },
    /// Read letters from `dlq.<topic>`.
    #[error("offset {offset} of {topic}/{partition} holds no dead letter: {reason}")]
    NotALetter { topic: TopicName, partition: u32, offset: Offset, reason: String },
    /// Nothing was changed. The largest offset that can be asked for is `next`.
    #[error("offset {asked} of {topic}/{partition} is beyond the end; the next event gets {next}")]
    CursorBeyondEnd { topic: TopicName, partition: u32, asked: Offset, next: Offset },
    /// Ask for nothing or for the same, or change the group, or use another group.
    #[error(
        "group {group} has {option} = {in_use}, this subscriber asks for {asked}, and a group keeps it for life; leave the option \
         out, use another group's name, or delete the group (prom groups delete {group})"
    )]
    OptionConflict { group: GroupName, option: &'static str, in_use: String, asked: String },
    /// An option outside its range. Nothing was changed.
    #[error("{option} cannot be {asked}: {reason}")]
    BadOption { option: &'static str, asked: String, reason: &'static str },
    /// Nothing was made. Use what exists, or have the cap raised.
    #[error("{}", .cap.told(*.allowed, .subject.as_deref()))]
    Capped { cap: Cap, allowed: usize, subject: Option<Arc<str>> },
    /// A change of a topic that would break what readers rely on. Make a new topic instead.
    #[error("this change of topic {topic} is not possible: {reason}")]
    TopicChange { topic: TopicName, reason: &'static str },
    /// Nothing was moved. Look again, and decide again.
    #[error(
        "group {group} stands at {actual} in {topic}/{partition}, not at {expected}; look again, and move it from there"
    )]
    CursorElsewhere { group: GroupName, topic: TopicName, partition: u32, expected: Offset, actual: Offset },
    /// An option that a group keeps for life. Do what the reason says.
    #[error("{option} of group {group} cannot be changed: {reason}")]
    GroupChange { group: GroupName, option: &'static str, reason: &'static str },
    #[error("topic {topic} is compacted and takes no event without a key; give the event a key")]
    KeyRequired { topic: TopicName },
    #[error("the filter is not a valid jq program: {0}")]
    Filter(#[from] CompileError),
    /// The lease ended before: by its deadline, by a nack, by the subscription's end or by a moved
    /// cursor. The event was or will be handed out again; do nothing more with it.
    #[error("{} of {topic} no longer leased to this subscriber; the group will redeliver it", listed(.offsets))]
    NotLeased { topic: TopicName, offsets: Vec<Offset> },
    /// The partition went to another member before this came, or the subscriber is no member any more.
    /// Its owner has the event, or will get it; do nothing more with it.
    #[error("{} of {topic}/{partition} no longer this member's to settle; the partition has another owner", listed(.offsets))]
    Revoked { topic: TopicName, partition: u32, offsets: Vec<Offset> },
    /// Its partitions went to others. Subscribe again.
    #[error("member {member} of {group} was silent for {ttl_ms} ms, its partitions went to others; subscribe again")]
    MemberExpired { group: GroupName, member: String, ttl_ms: u64 },
    /// Look at the members of the group.
    #[error("group {group} has no member {member}; `prom groups show {group}` lists them")]
    UnknownMember { group: GroupName, member: String },
    /// An operator ended the subscription, and its leases went back. Subscribe again if that was not the point.
    #[error("an operator ended the subscription of member {member} in {group}; subscribe again to continue")]
    Kicked { group: GroupName, member: String },
    /// The program that makes the topic's keys has none for this event. Give it a key.
    #[error(
        "topic {topic} makes keys by a program, which {reason}; give the event a key, or the program what it needs"
    )]
    TopicKey { topic: TopicName, reason: String },
    /// The payload does not fit the topic's schema. Nothing was stored; the refusal says where and why.
    #[error("the payload does not fit version {version} of the schema of {topic}: {refusal}")]
    SchemaInvalid { topic: TopicName, version: u32, refusal: Box<Refusal> },
    /// The schema itself cannot be used. Nothing was registered.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// Nothing was registered. Each violation says how to make the change safely.
    #[error("the schema is not compatible with earlier versions of {topic}: {}", violated(.violations))]
    SchemaIncompatible { topic: TopicName, violations: Vec<Violation> },
    /// A change of the registry that would break what writers or readers rely on. Do what the reason says.
    #[error("this change of the schemas of {topic} is not possible: {reason}")]
    SchemaChange { topic: TopicName, reason: String },
    #[error(
        "version {version} of the schema of {topic} is referred to by version {by_version} of {by}; delete that first"
    )]
    SchemaReferred { topic: TopicName, version: u32, by: TopicName, by_version: u32 },
    /// Register one, or look at the list of versions.
    #[error("{}", unknown_schema(.topic, .version))]
    UnknownSchema { topic: TopicName, version: Option<u32> },
    #[error("there is no schema with the id {id}")]
    UnknownSchemaId { id: u32 },
    /// Leases are void; what was not settled comes again. A subscription that ended with it can be made again.
    #[error("what delivers {topic} to {group} failed and was restarted; unsettled events will be redelivered")]
    Restarted { group: GroupName, topic: TopicName },
    /// Another process dispatches this group now. Subscribe again.
    #[error("the cursor of {group} in {topic}/{partition} was taken over; subscribe again")]
    Fenced { group: GroupName, topic: TopicName, partition: u32 },
    /// Ask there, or subscribe through a hub that relays.
    #[error("group {group} is served by the hub at {url}")]
    ServedElsewhere { group: GroupName, url: String },
    /// This process was silent for too long, and another may serve the group now. Subscribe again.
    #[error("group {group} was given up to other hubs; subscribe again")]
    LostGroup { group: GroupName },
    /// `stored` says whether the events may have been stored anyway; publishing again with the same
    /// ids is safe.
    #[error("publishing failed: {reason} ({stored})")]
    PublishFailed { reason: String, stored: Outcome },
    /// The group goes on and the bus keeps trying to make it durable; after a crash before that,
    /// the event comes again.
    #[error("the settlement is not durable yet: {reason}; the bus keeps trying")]
    AckFailed { reason: String },
    /// Others changed the same thing at the same time, again and again. Try once more.
    #[error("others kept changing {what}; try again")]
    Contended { what: String },
    /// Nothing of the unit of work was stored. Read the document again and decide again.
    #[error("document {collection}/{key} does not meet the condition; read it again")]
    Conflict { collection: String, key: String },
    /// Nothing was stored, also of what was published with it. Read again, decide again, publish again. `index` is the event
    /// of a batch, counted from 0.
    #[error("{topic}/{partition}: expected {expected}, found {actual}; read again and decide again")]
    Unmet { topic: TopicName, partition: u32, index: usize, expected: Expectation, actual: Expectation },
    /// The payload is not of the type that was asked for.
    #[error("the payload of event {id} does not have the expected form: {reason}")]
    Payload { id: EventId, reason: String },
    #[error(transparent)]
    Store(StoreError),
    /// A document of the bus itself cannot be read: written by a newer version, or damaged.
    #[error("document {collection}/{key} cannot be read: {reason}")]
    Document { collection: &'static str, key: String, reason: String },
    /// The rest was done. Look at what is named; the next pass tries it again.
    #[error("{work} failed for {}; the rest was done", failed_parts(.failed))]
    Incomplete {
        work: &'static str,
        /// Each part, a topic's partition or a group, with its error.
        failed: Vec<(String, Error)>,
    },
    /// The bus has ended, but its store did not close in order. The next to open the store
    /// recovers what was durable.
    #[error("the bus has ended, but its store could not be closed: {reason}")]
    CloseFailed { reason: String },
    /// The store has trouble, or the bus is closing. Ask again later.
    #[error("not ready: {reason}")]
    NotReady { reason: String },
    /// Start a new bus.
    #[error("the bus was shut down")]
    Closed,
}

/// What kind of trouble, for callers that map errors to codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The caller must change the request.
    BadRequest,
    /// The thing does not exist.
    NotFound,
    /// The lease or the cursor belongs to another now.
    Fenced,
    /// The store failed; trying again may help.
    Store,
    /// Something is not as the caller expected.
    Conflict,
    /// The caller may not make more of it.
    Capped,
    /// The bus is closed.
    Closed,
}

impl Error {
    /// What kind of trouble it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Invalid(_)
            | Self::CursorBeyondEnd { .. }
            | Self::OptionConflict { .. }
            | Self::BadOption { .. }
            | Self::TopicChange { .. }
            | Self::GroupChange { .. }
            | Self::TopicKey { .. }
            | Self::KeyRequired { .. }
            | Self::NotALetter { .. }
            | Self::Filter(_)
            | Self::Payload { .. }
            | Self::SchemaInvalid { .. }
            | Self::Schema(_)
            | Self::SchemaIncompatible { .. }
            | Self::SchemaChange { .. }
            | Self::SchemaReferred { .. } => ErrorKind::BadRequest,
            Self::Capped { .. } => ErrorKind::Capped,
            Self::Unmet { .. } | Self::CursorElsewhere { .. } => ErrorKind::Conflict,
            Self::UnknownTopic { .. }
            | Self::UnknownGroup { .. }
            | Self::UnknownMember { .. }
            | Self::NotOfTheGroup { .. }
            | Self::UnknownSchema { .. }
            | Self::UnknownSchemaId { .. }
            | Self::UnknownEvent { .. } => ErrorKind::NotFound,
            Self::NotLeased { .. }
            | Self::Fenced { .. }
            | Self::Revoked { .. }
            | Self::MemberExpired { .. }
            | Self::Kicked { .. }
            | Self::ServedElsewhere { .. }
            | Self::LostGroup { .. }
            | Self::Restarted { .. } => ErrorKind::Fenced,
            Self::PublishFailed { .. }
            | Self::AckFailed { .. }
            | Self::Contended { .. }
            | Self::Conflict { .. }
            | Self::Incomplete { .. }
            | Self::CloseFailed { .. }
            | Self::NotReady { .. }
            | Self::Store(_)
            | Self::Document { .. } => ErrorKind::Store,
            Self::Closed => ErrorKind::Closed,
        }
    }

    /// Another hub has or may have what this was about, or it was started again: it can be had again, here or there.
    pub fn is_takeover(&self) -> bool {
        matches!(
            self,
            Self::Fenced { .. } | Self::LostGroup { .. } | Self::ServedElsewhere { .. } | Self::Restarted { .. }
        )
    }

    /// The same failure, for another caller.
    pub(crate) fn again(&self) -> Self {
        match self {
            Self::PublishFailed { reason, stored } => Self::PublishFailed { reason: reason.clone(), stored: *stored },
            Self::KeyRequired { topic } => Self::KeyRequired { topic: topic.clone() },
            Self::Capped { cap, allowed, subject } => {
                Self::Capped { cap: *cap, allowed: *allowed, subject: subject.clone() }
            }
            Self::Unmet { topic, partition, index, expected, actual } => Self::Unmet {
                topic: topic.clone(),
                partition: *partition,
                index: *index,
                expected: *expected,
                actual: *actual,
            },
            Self::Fenced { group, topic, partition } => {
                Self::Fenced { group: group.clone(), topic: topic.clone(), partition: *partition }
            }
            Self::LostGroup { group } => Self::LostGroup { group: group.clone() },
            Self::Restarted { group, topic } => Self::Restarted { group: group.clone(), topic: topic.clone() },
            Self::NotLeased { topic, offsets } => Self::NotLeased { topic: topic.clone(), offsets: offsets.clone() },
            Self::Revoked { topic, partition, offsets } => {
                Self::Revoked { topic: topic.clone(), partition: *partition, offsets: offsets.clone() }
            }
            Self::Closed => Self::Closed,
            other => Self::AckFailed { reason: other.to_string() },
        }
    }

    /// As [`Error::again`], for another publisher whose event shared the commit.
    pub(crate) fn again_published(&self) -> Self {
        match self.again() {
            Self::AckFailed { reason } => Self::PublishFailed { reason, stored: Outcome::Unknown },
            other => other,
        }
    }

    /// A failed unit of work as the publisher of its events sees it.
    pub(crate) fn publish(error: NotCommitted) -> Self {
        let refusal = match error {
            NotCommitted::NotAdmitted(error) => return error,
            NotCommitted::Refused(refusal) => refusal,
        };
        match refusal {
            CommitError::Fenced { cursor, .. } => Self::fenced(&cursor),
            CommitError::Conflict { collection, key, .. } if collection != TOPICS => Self::Conflict { collection, key },
            CommitError::Unmet { log, index, expected, actual } => {
                Self::Unmet { topic: log.topic, partition: log.partition, index, expected, actual }
            }
            CommitError::KeyRequired { log } => Self::KeyRequired { topic: log.topic },
            CommitError::Ended { log } => Self::UnknownTopic { topic: log.topic },
            CommitError::Closed => Self::Closed,
            CommitError::Failed { reason, outcome } => Self::PublishFailed { reason, stored: outcome },
            refused => Self::PublishFailed { reason: refused.to_string(), stored: Outcome::NotStored },
        }
    }

    /// A failed unit of work as the subscriber that settled something sees it.
    pub(crate) fn settle(error: &NotCommitted) -> Self {
        match error {
            NotCommitted::Refused(CommitError::Fenced { cursor, .. }) => Self::fenced(cursor),
            NotCommitted::Refused(CommitError::Closed) => Self::Closed,
            other => Self::AckFailed { reason: other.to_string() },
        }
    }

    pub(crate) fn fenced(cursor: &CursorName) -> Self {
        let CursorName { log, group } = cursor.clone();
        Self::Fenced { group, topic: log.topic, partition: log.partition }
    }

    pub(crate) fn elsewhere(cursor: &CursorName, expected: Offset, actual: Offset) -> Self {
        let CursorName { log, group } = cursor.clone();
        Self::CursorElsewhere { group, topic: log.topic, partition: log.partition, expected, actual }
    }
}

impl From<NotCommitted> for Error {
    fn from(error: NotCommitted) -> Self {
        match error {
            NotCommitted::Refused(refusal) => StoreError::Commit(refusal).into(),
            NotCommitted::NotAdmitted(error) => error,
        }
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Closed | StoreError::Commit(CommitError::Closed) => Self::Closed,
            other => Self::Store(other),
        }
    }
}

fn failed_parts(failed: &[(String, Error)]) -> String {
    let parts: Vec<String> = failed.iter().map(|(part, error)| format!("{part} ({error})")).collect();
    parts.join(", ")
}

fn violated(violations: &[Violation]) -> String {
    let told: Vec<String> =
        violations.iter().take(3).map(|one| format!("{} {} ({})", one.pointer, one.message, one.rule)).collect();
    let more = violations.len().saturating_sub(told.len());
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    format!("{}{more}", told.join("; "))
}

fn unknown_schema(topic: &TopicName, version: &Option<u32>) -> String {
    match version {
        Some(version) => format!("the schema of {topic} has no version {version}"),
        None => format!("no schema is registered for {topic}"),
    }
}

fn listed(offsets: &[Offset]) -> String {
    match offsets {
        [one] => format!("offset {one} is"),
        [first, rest @ ..] => format!("offset {first} and {} more are", rest.len()),
        [] => "nothing is".to_owned(),
    }
}
