//! What can be wrong with something a caller handed over. Each message says what is wrong, shows
//! the offending piece, and how to put it right. Nothing was stored when one of these comes back.

/// Input that breaks a rule of the vocabulary.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages name variants and fields")]
pub enum Invalid {
    #[error(
        "topic name {name:?} is invalid: {reason}; use lower-case letters and digits in segments joined by dots, e.g. orders.placed.v2"
    )]
    Topic { name: String, reason: &'static str },
    #[error("topic {name:?} belongs to the hub: clients read dlq.* and system.*, they do not publish there")]
    ReservedTopic { name: String },
    #[error("topic pattern {pattern:?} is invalid: {reason}; segments are names, * (exactly one) or ** (zero or more)")]
    Pattern { pattern: String, reason: &'static str },
    #[error("group name {name:?} is invalid: {reason}; use 1 to 128 of A-Z a-z 0-9 . _ : -")]
    Group { name: String, reason: &'static str },
    #[error("header {name:?} is invalid: {reason}")]
    Header { name: String, reason: &'static str },
    #[error("event id {id:?} is not a UUID; send a UUIDv7 or leave it out")]
    Id { id: String },
    #[error("{what} is not valid JSON: {reason}")]
    Json { what: &'static str, reason: String },
    #[error("{what} is {size}, the limit is {limit}")]
    TooLarge { what: &'static str, size: usize, limit: usize },
    #[error("partition {partition} does not exist: the topic has {partitions}, numbered from 0")]
    Partition { partition: u32, partitions: u32 },
}

/// Shortens text from outside before it goes into a message.
pub(crate) fn excerpt(text: &str) -> String {
    const LONGEST: usize = 80;
    match text.char_indices().nth(LONGEST) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.to_owned(),
    }
}
