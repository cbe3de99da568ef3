//! Looking into the log: which offsets exist and pass the group's filter.

use prom_types::Offset;

use super::key_order::Turn;
use super::machine::Fresh;
use super::unsettled::{DeadLetter, EventState, Unsettled};
use super::{Dispatcher, Limit, Order};

/// A wish to see events from `from` on, at most `events` of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScanRequest {
    /// The first offset.
    pub from: Offset,
    /// At most this many.
    pub events: usize,
}

/// An event that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScannedEvent {
    /// Where it is.
    pub offset: Offset,
    /// The hash of its key, where order counts.
    pub key_hash: Option<u64>,
    /// Whose it is; 0 where there are no lanes.
    pub lane: u32,
    /// False where the group's filter dropped it.
    pub wanted: bool,
}

/// The look-ahead is topped up in steps of this part of it, not event by event.
const LOOK_AHEAD_STEPS: usize = 16;

impl Dispatcher {
    /// What to scan next, if there is any use in it: something unseen, a subscriber to lease it to, room
    /// for it, no limit in the way.
    pub fn wants_scan(&self) -> Option<ScanRequest> {
        let limits = &self.options.limits;
        let enough_ready = match &self.lanes {
            None => self.ready.len() > limits.ready / 2,
            Some(lanes) => !lanes.needs_more(limits.ready),
        };
        if self.scan_next >= self.bounds.next
            || self.subscribers.running() == 0
            || enough_ready
            || self.scan_limit().is_some()
        {
            return None;
        }
        let step = limits.look_ahead.div_ceil(LOOK_AHEAD_STEPS);
        let room = if self.parked_waits_for_scan() { self.look_ahead_room().max(step) } else { self.look_ahead_room() };
        Some(ScanRequest { from: self.scan_next, events: (limits.ready - self.ready.len()).min(room) })
    }

    /// The answer, in offset order. Offsets in `from..next` that are not in `seen` do not exist; they
    /// and the unwanted ones are settled. An answer that comes late, after a reset or after retention
    /// overtook it, counts as far as it still fits.
    pub fn scanned(&mut self, from: Offset, next: Offset, seen: impl IntoIterator<Item = ScannedEvent>) {
        if from > self.scan_next || next <= self.scan_next {
            return;
        }
        // Runs of settled offsets are settled as one.
        let mut settled_from = self.scan_next;
        for event in seen {
            let offset = event.offset;
            if offset < settled_from || offset >= next || !event.wanted || self.was_settled_ahead(offset) {
                continue;
            }
            self.settle(settled_from..offset);
            settled_from = offset + 1;
            self.place(offset, event.key_hash, event.lane);
        }
        self.settle(settled_from..next);
        self.scan_next = next;
        self.skip_what_is_settled();
    }

    /// Which limit keeps the dispatcher from looking further.
    pub(super) fn scan_limit(&self) -> Option<Limit> {
        let limits = &self.options.limits;
        // Ranges that an earlier dispatcher left must be walked through to get rid of them.
        if self.progress.ranges_above() >= limits.ranges_above && self.settled_ahead.is_empty() {
            return Some(Limit::RangesAbove);
        }
        // Where no more keys can be parked, giving one back is what makes room. What lies before the event that it waits for was
        // looked at by an earlier dispatcher, under these limits.
        if self.parked_waits_for_scan() {
            return None;
        }
        // What follows parked keys waits for its letters.
        if self.parked.is_some() && self.too_many_waiting() {
            return Some(Limit::Waiting);
        }
        let step = limits.look_ahead.div_ceil(LOOK_AHEAD_STEPS);
        (self.look_ahead_room() < step).then_some(Limit::LookAhead)
    }

    fn look_ahead_room(&self) -> usize {
        // What lies ready in a lane waits for one subscriber, who may be stuck: it counts like what is blocked.
        let in_lanes = self.lanes.as_ref().map_or(0, |lanes| lanes.ready());
        self.options.limits.look_ahead.saturating_sub(self.keys.blocked_events() + in_lanes)
    }

    fn place(&mut self, offset: Offset, key_hash: Option<u64>, lane: u32) {
        let key = match self.options.order {
            Order::None => None,
            Order::Key => key_hash,
        };
        if self.parked.is_some()
            && let Some(key) = key.filter(|key| self.is_parked(*key))
        {
            return self.follow(offset, key, lane);
        }
        if key.is_some_and(|key| self.keys.queue(key, offset) == Turn::Blocked) {
            return;
        }
        if !self.failures.is_empty() && self.is_at_limit(offset) {
            let state = EventState::Dead(DeadLetter::Queued { failed_writes: 0 });
            self.unsettled.put(offset, Unsettled { key, lane, state });
            return;
        }
        let fresh = Fresh { offset, key };
        match &mut self.lanes {
            None => self.ready.push_back(fresh),
            Some(lanes) => lanes.put(lane, fresh),
        }
    }

    fn was_settled_ahead(&mut self, offset: Offset) -> bool {
        while self.settled_ahead.pop_front_if(|range| range.end <= offset).is_some() {}
        self.settled_ahead.front().is_some_and(|range| range.start <= offset)
    }

    /// Moves the scan over what is settled already.
    pub(super) fn skip_what_is_settled(&mut self) {
        self.scan_next = self.scan_next.max(self.progress.floor());
        while let Some(range) = self.settled_ahead.pop_front_if(|range| range.start <= self.scan_next) {
            self.scan_next = self.scan_next.max(range.end);
        }
    }
}
