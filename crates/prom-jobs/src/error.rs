//! What can go wrong with a job.

use prom_types::{Invalid, TopicName};

/// The one error of this crate.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages name variants and fields")]
pub enum JobError {
    #[error(transparent)]
    Bus(#[from] prom_engine::Error),
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// Register a schema first.
    #[error("no schema is registered for {topic}, so there is no version to bring its events to; register one first")]
    NoSchema { topic: TopicName },
    /// Choose another one.
    #[error("{target} cannot be the target of a cutover of {topic}: {reason}")]
    Target { topic: TopicName, target: String, reason: String },
    /// Choose another one.
    #[error("{name:?} cannot be the name of a collection: use 1 to 64 of a-z, 0-9 and _, beginning with a letter")]
    Collection { name: String },
    /// Run the first one to its end, or choose another target.
    #[error(
        "the cutover of {topic} to {target} is one to version {running}, and the latest is now version {latest}; choose another target"
    )]
    OtherVersion { topic: TopicName, target: String, running: u32, latest: String },
    /// Both wrote the same progress. Let the other one finish.
    #[error(
        "another cutover of {topic} to {target} has begun since; this one stopped, and the other goes on from here"
    )]
    Running { topic: TopicName, target: String },
    /// Write an upcaster that handles it, or leave such events out (`skip`).
    #[error(
        "event {id} of {topic} (partition {partition}, offset {offset}) cannot be brought to version {version}: {reason}; mend the upcaster, or skip such events"
    )]
    Unfit { topic: TopicName, id: String, partition: u32, offset: u64, version: u32, reason: String },
    /// Mend the store, or leave such events out (`skip`).
    #[error("events of {topic} cannot be read: {reason}; look at them with `prom fsck`, or skip such events")]
    Unreadable { topic: TopicName, reason: String },
    /// Run it again.
    #[error("the work on {topic} was stopped; run it again")]
    Stopped { topic: TopicName },
    #[error("the progress of the cutover cannot be read: {reason}")]
    Progress { reason: String },
}
