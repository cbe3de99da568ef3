//! One line of the file: when, and what was seen.

use prom_types::{EpochMs, EventId, Offset};
use serde::{Deserialize, Serialize};

/// Something that was seen, at a time in microseconds since the run began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    pub at_us: u64,
    #[serde(flatten)]
    pub seen: Seen,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "seen", rename_all = "snake_case")]
pub enum Seen {
    /// Comes first: after so long without a sign of life a hub is replaced, and so long may it take on a busy machine
    /// until somebody sees what has happened.
    Run {
        hub_ttl_ms: u64,
        latency_ms: u64,
    },
    /// What is promised to a group. Only groups that are named so are judged.
    Group {
        group: String,
        order: GroupOrder,
    },
    /// Before a publish; again before each further attempt under the same id.
    Publishing {
        publisher: String,
        number: u64,
        id: EventId,
        topic: String,
        key: Option<String>,
    },
    /// After the receipt.
    Published {
        publisher: String,
        id: EventId,
        topic: String,
        partition: u32,
        offset: Offset,
    },
    PublishFailed {
        publisher: String,
        id: EventId,
        why: String,
    },
    /// The application has it in hand. `delivery` is a number of this run's own.
    Delivered {
        delivery: u64,
        client: String,
        /// The one the client is connected to.
        hub: String,
        group: String,
        topic: String,
        partition: u32,
        offset: Offset,
        id: EventId,
        key: Option<String>,
        attempt: u32,
        /// What was left of the lease.
        deadline_ms: u64,
    },
    /// Before a settlement is sent.
    Settling {
        delivery: u64,
        id: EventId,
        verdict: Verdict,
    },
    /// After its answer.
    Settled {
        delivery: u64,
        id: EventId,
        verdict: Verdict,
        answer: Answer,
        why: Option<String>,
    },
    Connected {
        client: String,
        hub: String,
    },
    Disconnected {
        client: String,
        why: String,
    },
    /// The deliveries of this client and group that follow come over a new subscription.
    Resubscribed {
        client: String,
        group: String,
    },
    Gap {
        client: String,
        group: String,
        topic: String,
        partition: u32,
        from: Offset,
        to: Offset,
        reason: String,
    },
    Assigned {
        client: String,
        group: String,
        topic: String,
        partitions: Vec<u32>,
    },
    Revoked {
        client: String,
        group: String,
        topic: String,
        partitions: Vec<u32>,
    },
    Fault {
        fault: Fault,
        target: String,
    },
    /// A cursor as it lies in the database: read since `since_us`, which is when it was last known to be as before.
    Cursor {
        group: String,
        topic: String,
        partition: u32,
        epoch: u64,
        floor: Offset,
        since_us: u64,
    },
    /// The log as it is read from its beginning at the end of the run.
    Logged {
        topic: String,
        partition: u32,
        offset: Offset,
        id: EventId,
        key: Option<String>,
        stored_ts: EpochMs,
    },
}

/// In which order a group gets its events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupOrder {
    None,
    /// No event of a key while an earlier one of that key is unsettled.
    Key,
    /// Each partition has one owner, who gets its events by offset.
    Partition,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Ack,
    Nack,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Ok,
    /// The hub said no, or it was never sent.
    Refused,
    /// The connection ended before the answer, or the hub does not know: it may have counted.
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    PrimaryKilled,
    /// Another server takes writes.
    PrimaryElected,
    ServerRestarted,
    HubKilled,
    HubRestarted,
    HubPaused,
    HubResumed,
}
