//! What the dispatcher is doing, and what holds it back: the facts behind `why`.

use std::collections::BTreeMap;
use std::time::Duration;

use prom_store::{Bounds, Failures};
use prom_types::Offset;

use super::unsettled::{DeadLetter, EventLease, EventState};
use super::{Dispatcher, LaneStatus, LeaseId, SubscriberId};

/// A picture of one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DispatchStatus {
    /// The first unsettled offset.
    pub floor: Offset,
    /// Everything before it has been seen.
    pub scan_next: Offset,
    /// Where the log begins and ends.
    pub bounds: Bounds,
    /// Subscribers, paused ones included.
    pub subscribers: usize,
    /// Subscribers that take nothing now.
    pub paused_subscribers: usize,
    /// Leased at this moment.
    pub in_flight: usize,
    /// Fresh, to be handed out.
    pub ready: usize,
    /// To be handed out before fresh ones.
    pub due: usize,
    /// Failed, until their backoff is over.
    pub waiting: usize,
    /// Keys with events held back, and how many those are.
    pub blocked_keys: usize,
    /// Events behind an earlier one of their key.
    pub blocked_events: usize,
    /// Settled ranges beyond the floor.
    pub ranges_above: usize,
    /// At their limit, letter not yet written; among them those where writing failed.
    pub dead_letters_pending: usize,
    /// Of those, the ones that could not be written.
    pub dead_letters_failing: usize,
    /// Keys that are parked.
    pub parked_keys: usize,
    /// Events that were given back and taken in, leased ones included.
    pub given: usize,
    /// Why fresh events are held back, if a limit is reached.
    pub limit: Option<Limit>,
    /// The event the floor stands at; `None` when everything in the log is settled.
    pub oldest: Option<Oldest>,
    /// Where each lane is; empty where there are none.
    pub lanes: Vec<LaneStatus>,
    /// The events that were held the longest, longest first; ten at most.
    pub held: Vec<HeldEvent>,
}

/// A leased event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldEvent {
    /// Where it is.
    pub offset: Offset,
    /// Who has it.
    pub subscriber: SubscriberId,
    /// When it was handed out.
    pub since: Duration,
    /// How often its holder asked for more time.
    pub renewals: u32,
    /// Until when the lease runs, unless it is renewed.
    pub deadline: Duration,
    /// Its failed attempts before, its returns, and the last reason.
    pub failures: Failures,
}

/// Held events that a status names.
const HELD_SHOWN: usize = 10;

/// Which bound of [`super::DispatchLimits`] holds fresh events back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Too many settled ranges beyond the floor.
    RangesAbove,
    /// Too many failed events wait.
    Waiting,
    /// Too many events are blocked, or ready in lanes.
    LookAhead,
    /// The group's filter keeps failing and is suspended.
    Filter,
    /// Too many keys are parked for another one, and events of other keys wait at their limit.
    ParkedKeys,
}

/// The oldest unsettled event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Oldest {
    /// Where it is.
    pub offset: Offset,
    /// With per-key order: the hash of the key it keeps blocked.
    pub key_hash: Option<u64>,
    /// In which lane it is, where that is known.
    pub lane: Option<u32>,
    /// What holds it up.
    pub holdup: Holdup,
    /// Its failed attempts, its returns, and the last reason.
    pub failures: Failures,
}

/// Where the oldest unsettled event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holdup {
    /// In the log, not looked at yet.
    NotScanned,
    /// Not taken yet.
    Ready,
    /// A subscriber has it.
    Leased {
        /// Which one.
        subscriber: SubscriberId,
        /// Under which lease.
        lease: LeaseId,
        /// Until when.
        deadline: Duration,
        /// Since when.
        since: Duration,
        /// How often it was renewed.
        renewals: u32,
    },
    /// For its backoff.
    Waiting {
        /// Until when.
        until: Duration,
    },
    /// Its letter waits to be written, or is being written.
    DeadLetterPending,
    /// At its limit; its key cannot be parked, because too many are.
    WithoutRoomToPark,
    /// Writing its letter failed this many times; tried again at `until`.
    DeadLetterFailing {
        /// How often.
        failed_writes: u32,
        /// Until when.
        until: Duration,
    },
}

impl Dispatcher {
    /// How many events are leased at this moment; costs nothing.
    pub fn in_flight(&self) -> usize {
        self.unsettled.leased()
    }

    /// Nothing is leased, blocked or waits, and the floor says all that there is to know: what is ready can be read again.
    pub fn is_at_rest(&self) -> bool {
        self.unsettled.is_empty()
            && self.failures.is_empty()
            && self.progress.ranges_above() == 0
            && self.keys.blocked_events() == 0
            && self.given.is_none()
            && self.parked.is_none()
    }

    /// Everything in the log is settled.
    pub fn has_settled_all(&self) -> bool {
        self.progress.floor() >= self.bounds.next
    }

    /// What the dispatcher knows now.
    pub fn status(&self) -> DispatchStatus {
        DispatchStatus {
            floor: self.progress.floor(),
            scan_next: self.scan_next,
            bounds: self.bounds,
            subscribers: self.subscribers.len(),
            paused_subscribers: self.subscribers.len() - self.subscribers.running(),
            in_flight: self.unsettled.leased(),
            ready: self.ready.len() + self.lanes.as_ref().map_or(0, |lanes| lanes.ready()),
            due: self.unsettled.due(),
            waiting: self.unsettled.waiting(),
            blocked_keys: self.keys.blocked_keys(),
            blocked_events: self.keys.blocked_events() + self.given_blocked(),
            ranges_above: self.progress.ranges_above(),
            dead_letters_pending: self.unsettled.dead(),
            dead_letters_failing: self.unsettled.dead_failing(),
            parked_keys: self.parked_keys(),
            given: self.given(),
            limit: self.limit(),
            oldest: self.oldest(),
            lanes: self.lane_status(),
            held: self.held_longest(),
        }
    }

    fn held_longest(&self) -> Vec<HeldEvent> {
        let mut held: Vec<_> = self.unsettled.leases().collect();
        held.sort_unstable_by_key(|(offset, lease)| (lease.since, *offset));
        held.truncate(HELD_SHOWN);
        let event = |(offset, lease): (Offset, EventLease)| HeldEvent {
            offset,
            subscriber: lease.subscriber,
            since: lease.since,
            renewals: lease.renewals,
            deadline: lease.deadline,
            failures: self.failures.get(&offset).cloned().unwrap_or_default(),
        };
        held.into_iter().map(event).collect()
    }

    /// For each subscriber that holds something: since when it has held the oldest.
    pub fn oldest_leases(&self) -> Vec<(SubscriberId, Duration)> {
        let mut oldest: BTreeMap<SubscriberId, Duration> = BTreeMap::new();
        for (_, lease) in self.unsettled.leases() {
            let since = oldest.entry(lease.subscriber).or_insert(lease.since);
            *since = lease.since.min(*since);
        }
        oldest.into_iter().collect()
    }

    fn limit(&self) -> Option<Limit> {
        if self.lacks_room_to_park() {
            Some(Limit::ParkedKeys)
        } else if self.too_many_waiting() {
            Some(Limit::Waiting)
        } else {
            self.scan_limit()
        }
    }

    fn oldest(&self) -> Option<Oldest> {
        let offset = self.progress.floor();
        if offset >= self.bounds.next {
            return None;
        }
        let in_lane = self.lanes.as_ref().and_then(|lanes| lanes.lane_of(offset));
        let (key_hash, lane, holdup) = match self.unsettled.get(offset) {
            Some(event) => (event.key, self.lanes.as_ref().map(|_| event.lane), holdup(event.state)),
            None if offset < self.scan_next => {
                let key = in_lane.map_or_else(|| self.ready.front().and_then(|fresh| fresh.key), |(_, key)| key);
                (key, in_lane.map(|(lane, _)| lane), Holdup::Ready)
            }
            None => (None, None, Holdup::NotScanned),
        };
        Some(Oldest {
            offset,
            key_hash,
            lane,
            holdup,
            failures: self.failures.get(&offset).cloned().unwrap_or_default(),
        })
    }
}

fn holdup(state: EventState) -> Holdup {
    match state {
        EventState::Leased(lease) => {
            let EventLease { id, subscriber, deadline, since, renewals } = lease;
            Holdup::Leased { subscriber, lease: id, deadline, since, renewals }
        }
        EventState::Due => Holdup::Ready,
        EventState::Waiting { until } => Holdup::Waiting { until },
        EventState::Dead(DeadLetter::Queued { .. } | DeadLetter::Taken { .. }) => Holdup::DeadLetterPending,
        EventState::Dead(DeadLetter::WithoutRoom) => Holdup::WithoutRoomToPark,
        EventState::Dead(DeadLetter::Failing { failed_writes, until }) => {
            Holdup::DeadLetterFailing { failed_writes, until }
        }
    }
}
