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
    #[error("no schema is registered for {topic}, so there is no version to bring its events to")]
    NoSchema { topic: TopicName },
    /// Run the first one to its end, or choose another target.
    #[error(
        "a cutover of {topic} to {target} is at version {running}, and this one asks for version {asked}; choose another target"
    )]
    OtherVersion { topic: TopicName, target: String, running: u32, asked: u32 },
    /// Both wrote the same progress. Stop one of them.
    #[error("another cutover of {topic} to {target} is running; this one stopped and changed nothing")]
    Running { topic: TopicName, target: String },
    /// Write an upcaster that handles it, or leave such events out (`skip`).
    #[error(
        "event {id} of {topic} cannot be brought to version {version}: {reason}; mend the upcaster, or skip such events"
    )]
    NotUpcast { topic: TopicName, id: String, version: u32, reason: String },
    #[error("the progress of the cutover cannot be read: {reason}")]
    Progress { reason: String },
}
