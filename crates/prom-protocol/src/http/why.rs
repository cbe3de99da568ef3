//! `GET /why`: what holds a group back, and what to do.

use prom_types::{EventId, GroupName, TopicName};
use serde::{Deserialize, Serialize};

/// What holds a group back, partition by partition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WhyView {
    pub topic: TopicName,
    pub group: GroupName,
    /// Dead letters of the topic that are retained, of all its groups.
    #[serde(default)]
    pub dead_letters: u64,
    pub partitions: Vec<PartitionWhyView>,
}

/// What holds a group back in one partition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PartitionWhyView {
    pub partition: u32,
    pub floor: u64,
    pub next: u64,
    pub lag_events: u64,
    /// The event at the floor.
    pub event: Option<EventId>,
    /// The key of that event.
    #[serde(default)]
    pub key: Option<String>,
    /// The events that were held the longest, longest first; ten at most.
    #[serde(default)]
    pub held: Vec<HeldLeaseView>,
    /// How many of its keys are parked.
    #[serde(default)]
    pub parked_keys: u64,
    /// One line for people.
    pub explanation: String,
    /// What can be done about it, what loses nothing first.
    #[serde(default)]
    pub actions: Vec<WhyActionView>,
    /// What the dispatcher knows; `null` while it does not run, because nothing subscribes.
    pub status: Option<DispatcherView>,
}

/// An event that a member holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HeldLeaseView {
    pub offset: u64,
    pub id: Option<EventId>,
    pub key: Option<String>,
    pub member: String,
    /// The subject of the holder's token.
    pub subject: Option<String>,
    /// Where the holder is connected from.
    pub address: Option<String>,
    pub held_ms: u64,
    /// How often the holder asked for more time. One that is only slow does so again and again.
    pub renewals: u32,
    /// How long the lease still runs, unless it is renewed.
    pub expires_in_ms: u64,
    /// Failed attempts before this one.
    pub attempts: u32,
    pub returns: u32,
    /// Why it failed the last time.
    pub last_error: Option<String>,
}

/// Something that an operator can do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WhyActionView {
    pub what: String,
    /// The command to type.
    #[cfg_attr(feature = "openapi", schema(example = "prom groups release orders.placed billing 1200"))]
    pub command: String,
}

/// The dispatcher at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DispatcherView {
    pub subscribers: u64,
    pub paused_subscribers: u64,
    pub in_flight: u64,
    /// Events that were read and not delivered yet.
    pub ready: u64,
    /// Events that are delivered before fresh ones.
    pub due: u64,
    /// Failed events in their backoff.
    pub waiting: u64,
    pub blocked_keys: u64,
    pub blocked_events: u64,
    pub ranges_above: u64,
    /// Events that were given back and are handed out, or about to be.
    #[serde(default)]
    pub given_back: u64,
    pub dead_letters_pending: u64,
    pub dead_letters_failing: u64,
    /// The limit that holds fresh events back.
    pub limit: Option<DispatchLimit>,
    pub oldest: Option<OldestView>,
}

/// A limit of the dispatcher.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum DispatchLimit {
    /// Too many settled ranges above the floor.
    RangesAbove,
    /// Too many failed events wait.
    Waiting,
    /// Too many events behind blocked keys.
    LookAhead,
    /// The group's filter keeps failing and is suspended.
    Filter,
    /// Too many keys are parked for another one.
    ParkedKeys,
}

/// The oldest unsettled event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OldestView {
    pub offset: u64,
    pub state: OldestState,
    pub attempts: u32,
    /// How often it came back because its connection ended.
    pub returns: u32,
    /// Why it failed the last time.
    pub last_error: Option<String>,
}

/// What the oldest unsettled event waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum OldestState {
    NotScanned,
    Ready,
    Leased,
    Waiting,
    DeadLetterPending,
    DeadLetterFailing,
    /// Its key would have to be parked, and too many are.
    WithoutRoomToPark,
}
