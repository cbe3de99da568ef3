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
    #[error("{target} cannot be the target for the events of {topic}: {reason}")]
    Target { topic: TopicName, target: String, reason: String },
    /// Choose another one.
    #[error("{name:?} cannot be the name of a collection: use 1 to 64 of a-z, 0-9 and _, beginning with a letter")]
    Collection { name: String },
    #[error("what is known of collection {name} cannot be read: {reason}")]
    CollectionUnreadable { name: String, reason: String },
    /// Ask as the reason says.
    #[error("{name}: {reason}")]
    Field { name: String, reason: String },
    /// Run the first one to its end, or choose another target.
    #[error(
        "the cutover of {topic} to {target} is one to version {running}, and the latest is now version {latest}; choose another target"
    )]
    OtherVersion { topic: TopicName, target: String, running: u32, latest: String },
    /// Both wrote the same progress. Let the other one finish.
    #[error(
        "somebody else has begun to bring {topic} to {target} since; this run stopped, and the other goes on from here"
    )]
    Running { topic: TopicName, target: String },
    /// Its counts no longer hold, so it ended. Run it again to begin anew.
    #[error(
        "{topic} or {target} was deleted during the cutover, so what was counted is not there; run it again to begin anew"
    )]
    Deleted { topic: TopicName, target: String },
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
    /// Ask for a later time.
    #[error(
        "the history of {topic} at {ts} is gone: retention or compaction removed what it takes; {}",
        told_since(*.earliest)
    )]
    HistoryGone { topic: TopicName, ts: i64, earliest: Option<i64> },
    /// Ask again.
    #[error("events of {topic} were removed again and again while the answer was made; ask again")]
    HistoryMoves { topic: TopicName },
    /// Ask again: another snapshot is used, or none.
    #[error("a snapshot in {place} was removed while it was read; ask again")]
    SnapshotGone { place: TopicName },
    /// Choose another topic, or move what is in the way.
    #[error("no snapshot of {topic} can be made: {reason}")]
    SnapshotTopic { topic: TopicName, reason: String },
    #[error("what a job has stored cannot be read: {reason}")]
    Progress { reason: String },
    /// Look at the list of jobs.
    #[error("there is no job {id}; `prom dlq jobs` lists them")]
    UnknownLetterJob { id: String },
    /// Mend the program, or leave such events out (`skip`).
    #[error(
        "event {id} of {topic} (partition {partition}, offset {offset}) cannot be replayed: {reason}; mend the program, or skip such events"
    )]
    UnfitReplay { topic: TopicName, id: String, partition: u32, offset: u64, reason: String },
    /// What was asked for makes no sense as the job stands.
    #[error("job {id} is {state} and cannot be {asked}")]
    LetterJobState { id: String, state: &'static str, asked: &'static str },
    /// Wait for some of them, or cancel them.
    #[error("{active} jobs over dead letters are under way, which is the limit; cancel some, or wait")]
    LetterJobs { active: usize },
    /// Mend the transform, choose other letters, or skip such ones. Nothing was sent.
    #[error("the event of letter {letter} cannot be published again: {reason}")]
    UnfitLetter { letter: String, reason: String },
}

fn told_since(earliest: Option<i64>) -> String {
    match earliest {
        Some(earliest) => format!("the earliest time that has an answer is {earliest}"),
        None => "no time has an answer; take a snapshot before retention begins".to_owned(),
    }
}
