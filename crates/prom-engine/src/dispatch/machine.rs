//! The dispatcher's state, and the steps that several verbs share: settling, failing, placing.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::time::Duration;

use prom_store::{Bounds, CursorState, Failures, RangeSet};
use prom_types::Offset;

use super::backoff::{self, Jitter};
use super::changes::PendingChanges;
use super::given_back::GivenEvents;
use super::key_order::KeyOrder;
use super::lanes::LaneTable;
use super::lease::LeaseId;
use super::options::{DispatchOptions, REASON_BYTES, RETURNS_PER_ATTEMPT};
use super::park::ParkedKeys;
use super::progress::SettledOffsets;
use super::subscriber::Subscribers;
use super::unsettled::{DeadLetter, EventState, Unsettled, UnsettledEvents};

/// Hands one group the events of one partition. See the [module](super) for the picture.
#[derive(Debug)]
pub struct Dispatcher {
    pub(super) options: DispatchOptions,
    pub(super) bounds: Bounds,
    pub(super) progress: SettledOffsets,
    /// Everything before it has been seen; what is unsettled of it is in one of the next three.
    pub(super) scan_next: Offset,
    /// Never handed out by this dispatcher, in offset order.
    pub(super) ready: VecDeque<Fresh>,
    /// Where each subscriber gets only its own part; what is ready is there then.
    pub(super) lanes: Option<Box<LaneTable>>,
    pub(super) unsettled: UnsettledEvents,
    pub(super) keys: KeyOrder,
    /// Ranges that were settled before this dispatcher began and are not scanned yet.
    pub(super) settled_ahead: VecDeque<Range<Offset>>,
    /// Of unsettled events that failed, or were given back.
    pub(super) failures: BTreeMap<Offset, Failures>,
    pub(super) changes: PendingChanges,
    /// Only while something is given back.
    pub(super) given: Option<Box<GivenEvents>>,
    /// Unless there is nothing else, no more given events are taken in before this lease.
    pub(super) given_pause: LeaseId,
    /// Only while something is parked.
    pub(super) parked: Option<Box<ParkedKeys>>,
    pub(super) subscribers: Subscribers,
    pub(super) next_lease: LeaseId,
    pub(super) jitter: Jitter,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Fresh {
    pub offset: Offset,
    pub key: Option<u64>,
}

impl Dispatcher {
    /// Goes on from a stored cursor. `seed` drives the jitter of backoffs and nothing else.
    pub fn new(options: DispatchOptions, cursor: CursorState, bounds: Bounds, seed: u64) -> Self {
        let progress = SettledOffsets::new(cursor.floor, cursor.above.clone());
        let mut failures = cursor.failures;
        failures.retain(|&offset, _| !progress.is_settled(offset));
        let mut dispatcher = Self {
            options: DispatchOptions {
                max_attempts: options.max_attempts.max(1),
                limits: options.limits.at_least_one(),
                ..options
            },
            bounds,
            scan_next: progress.floor(),
            progress,
            ready: VecDeque::new(),
            lanes: options.lanes.map(|lanes| Box::new(LaneTable::new(lanes.get()))),
            unsettled: UnsettledEvents::with_lanes(options.lanes.map_or(0, |lanes| lanes.get() as usize)),
            keys: KeyOrder::default(),
            settled_ahead: cursor.above.iter().collect(),
            failures,
            changes: PendingChanges::default(),
            given: None,
            given_pause: 0,
            parked: None,
            subscribers: Subscribers::default(),
            next_lease: 1,
            jitter: Jitter::new(seed),
        };
        dispatcher.bounds_moved(bounds);
        dispatcher.skip_what_is_settled();
        dispatcher
    }

    /// The first unsettled offset. The stored cursor follows it through [`Self::take_changes`].
    pub fn floor(&self) -> Offset {
        self.progress.floor()
    }

    /// Whether the event is done with, for good.
    pub fn is_settled(&self, offset: Offset) -> bool {
        self.progress.is_settled(offset)
    }

    /// What is settled beyond the floor.
    pub fn settled_above(&self) -> &RangeSet {
        self.progress.above()
    }

    /// The event of this offset is done with; the next one of its key may go.
    pub(super) fn settle_event(&mut self, offset: Offset, key: Option<u64>, lane: u32) {
        self.settle(offset..offset + 1);
        self.unblock(key, lane);
    }

    pub(super) fn settle(&mut self, range: Range<Offset>) {
        if range.is_empty() {
            return;
        }
        self.forget_failures(range.clone());
        self.progress.settle(range.clone());
        self.changes.settle(range);
    }

    pub(super) fn forget_failures(&mut self, range: Range<Offset>) {
        let mut from = range.start;
        while let Some((&offset, _)) = self.failures.range(from..range.end).next() {
            from = offset + 1;
            // One that was given back is settled, and fails anew.
            if !self.is_given(offset) {
                self.failures.remove(&offset);
                self.changes.forget_failure(offset);
            }
        }
    }

    /// The head of `key` is settled: hands the turn to the next event of that key, which is in the same
    /// lane.
    pub(super) fn unblock(&mut self, key: Option<u64>, lane: u32) {
        let Some(key) = key else {
            return;
        };
        if self.given.is_some() && self.next_given_of(key) {
            return;
        }
        let Some(next) = self.keys.head_settled(key) else {
            return;
        };
        // Not to `ready`, which is in offset order: this one is older than what waits there.
        let state = if self.is_at_limit(next) {
            EventState::Dead(DeadLetter::Queued { failed_writes: 0 })
        } else {
            EventState::Due
        };
        self.unsettled.put(next, Unsettled { key: Some(key), lane, state });
    }

    /// Whether an event has come back as often as it may.
    pub(super) fn is_at_limit(&self, offset: Offset) -> bool {
        let Some(failures) = self.failures.get(&offset) else {
            return false;
        };
        let max_attempts = self.options.max_attempts;
        failures.attempts >= max_attempts || failures.returns >= max_attempts.saturating_mul(RETURNS_PER_ATTEMPT)
    }

    /// Counts a failed attempt of an event that was just taken from its holder, and lets it wait:
    /// as long as asked, else for its backoff; or, at the limit, for its dead letter.
    pub(super) fn fail(
        &mut self,
        now: Duration,
        offset: Offset,
        event: Unsettled,
        reason: Option<String>,
        delay: Option<Duration>,
    ) {
        let failures = self.failures.entry(offset).or_default();
        failures.attempts = failures.attempts.saturating_add(1);
        if let Some(reason) = reason {
            failures.reason = Some(cut_short(reason));
        }
        let attempts = failures.attempts;
        self.changes.fail(offset);
        let state = if self.is_at_limit(offset) {
            EventState::Dead(DeadLetter::Queued { failed_writes: 0 })
        } else {
            match delay.unwrap_or_else(|| backoff::wait(&self.options.backoff, attempts, &mut self.jitter)) {
                Duration::ZERO => EventState::Due,
                wait => EventState::Waiting { until: now.saturating_add(wait) },
            }
        };
        self.unsettled.put(offset, Unsettled { state, ..event });
    }
}

fn cut_short(mut reason: String) -> String {
    reason.truncate(reason.floor_char_boundary(REASON_BYTES));
    reason
}
