//! One line of the file: a time and an observation.

use prom_types::{EpochMs, EventId, Offset};
use serde::{Deserialize, Serialize};

/// Something that was seen, at a time in microseconds since the run began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryLine {
    pub at_us: u64,
    #[serde(flatten)]
    pub seen: Observation,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "seen", rename_all = "snake_case")]
pub enum Observation {
    /// Comes first. A hub is replaced after `hub_ttl_ms` without a sign of life. On a busy machine it may take `latency_ms`
    /// until an event is observed.
    Run {
        hub_ttl_ms: u64,
        latency_ms: u64,
    },
    /// The order that a group is promised. Only groups named here are judged.
    Group {
        group: String,
        order: GroupOrder,
    },
    /// Before a publish, and before each retry with the same id.
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
    /// The application has received it. `delivery` numbers the deliveries of this run.
    Delivered {
        delivery: u64,
        client: String,
        /// The hub that the client is connected to.
        hub: String,
        group: String,
        topic: String,
        partition: u32,
        offset: Offset,
        id: EventId,
        key: Option<String>,
        attempt: u32,
        /// The remaining time of the lease.
        deadline_ms: u64,
    },
    /// Before a settlement is sent.
    Settling {
        delivery: u64,
        id: EventId,
        verdict: SettleKind,
    },
    /// After its answer.
    Settled {
        delivery: u64,
        id: EventId,
        verdict: SettleKind,
        answer: SettleAnswer,
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
    /// The following deliveries of this client and group come over a new subscription.
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
    /// The server that takes writes from now on; `None` while there is none.
    Primary {
        address: Option<String>,
    },
    /// A cursor in the database. It was last known to be unchanged at `since_us`.
    Cursor {
        group: String,
        topic: String,
        partition: u32,
        epoch: u64,
        floor: Offset,
        since_us: u64,
    },
    /// An event of the log, read from its beginning at the end of the run.
    Logged {
        topic: String,
        partition: u32,
        offset: Offset,
        id: EventId,
        key: Option<String>,
        stored_ts: EpochMs,
    },
}

/// The order in which a group gets its events.
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
pub enum SettleKind {
    Ack,
    Nack,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SettleAnswer {
    Ok,
    /// The hub refused, or it was never sent.
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
