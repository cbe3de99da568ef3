//! Events that were given back: settled before, and handed out once more, to this group only.
//!
//! They share leases, deadlines, attempts and backoff with all others, and with order by key they take their key's turn. What
//! differs is the end: no floor moves and no offset is settled. What became of them is told as a [`GivenStep`].
//!
//! Promises: only an event that is settled is given, so an offset is never in flight twice; one that is done is not taken in
//! again before that is durable; fresh events get their share beside any number of given ones.

use std::collections::BTreeMap;

use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};
use prom_store::Failures;
use prom_types::Offset;

use super::Dispatcher;
use super::key_order::Turn;
use super::park::First;
use super::unsettled::{DeadLetter, EventState, Unsettled};

/// An event that is given back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenEvent {
    /// Where it is.
    pub offset: Offset,
    /// The hash of its key, where order counts.
    pub key_hash: Option<u64>,
    /// Whose it is; 0 where there are no lanes.
    pub lane: u32,
    /// How often it failed since it was given back.
    pub failures: Failures,
    /// The parked key that it is the first event of.
    pub parked: Option<u64>,
}

/// What the dispatcher did with an event that was given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GiveAnswer {
    /// It is handed out when its turn comes.
    Taken,
    /// It is here already, or done and not durable yet.
    Known,
    /// It is not settled (any more), so it comes anyway; or it is parked, and the log is not read that far. Give it later.
    Unsettled,
    /// An earlier event of its parked key is on its way behind that key.
    Behind,
}

/// What became of an event that was given back; to be made durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GivenStep {
    /// A subscriber has settled it.
    Acked,
    /// It failed so often since it was given back.
    Failed(Failures),
    /// There was nothing left to hand out.
    Gone,
}

#[derive(Debug, Default)]
pub(super) struct GivenEvents {
    /// Taken in and not done, with the parked key that each is the first event of.
    events: HashMap<Offset, Option<u64>, FixedState>,
    /// Those that wait for another event of their key, with their lanes.
    blocked: BTreeMap<u64, BTreeMap<Offset, u32>>,
    /// Done, and that is not durable yet.
    settling: HashSet<Offset, FixedState>,
}

impl GivenEvents {
    /// Whether it is here, and the parked key that it is the first event of.
    pub fn parked_key(&self, offset: Offset) -> Option<Option<u64>> {
        self.events.get(&offset).copied()
    }

    /// After a reset: what is done stays done.
    pub fn clear(&mut self) {
        self.events.clear();
        self.blocked.clear();
    }
}

impl Dispatcher {
    /// Whether more may be taken in now: the last ones are handed out, and fresh events have had as many turns.
    pub fn wants_given(&self) -> bool {
        self.subscribers.running() > 0
            && self.given() < self.options.limits.given
            && (self.next_lease >= self.given_pause || self.has_only_given())
    }

    fn has_only_given(&self) -> bool {
        self.ready.is_empty() && self.lanes.as_ref().is_none_or(|lanes| lanes.ready() == 0)
    }

    /// Takes in an event that was given back.
    pub fn give(&mut self, event: GivenEvent) -> GiveAnswer {
        let GivenEvent { offset, key_hash, lane, failures, parked } = event;
        if !self.is_ready_to_be_given(offset, parked) {
            return GiveAnswer::Unsettled;
        }
        if parked.is_some_and(|key| self.is_behind_a_follower(key, offset)) {
            return GiveAnswer::Behind;
        }
        let given = self.given.get_or_insert_default();
        // A lease on an event that retention settled goes on to its end.
        if given.events.contains_key(&offset)
            || given.settling.contains(&offset)
            || self.unsettled.get(offset).is_some()
        {
            return GiveAnswer::Known;
        }
        given.events.insert(offset, parked);
        self.given_pause = self.given_pause.max(self.next_lease) + 2;
        if failures != Failures::default() {
            self.failures.insert(offset, failures);
        }
        let key = key_hash.filter(|_| self.options.order == super::Order::Key);
        match key {
            Some(key) if self.keys.is_busy(key) => {
                given.blocked.entry(key).or_default().insert(offset, lane);
            }
            key => self.put_given(offset, key, lane),
        }
        GiveAnswer::Taken
    }

    /// Of a parked key, all that is before the event must have been scanned: it may be on its way behind the key.
    pub(super) fn is_ready_to_be_given(&self, offset: Offset, parked: Option<u64>) -> bool {
        self.progress.is_settled(offset) && (parked.is_none() || offset < self.scan_next)
    }

    /// Nothing that was given back is here, and what became of it is durable.
    pub fn has_given_all(&self) -> bool {
        self.given.as_ref().is_none_or(|given| given.events.is_empty() && given.settling.is_empty())
    }

    /// Whether this is an event that was given back and is not done.
    pub fn is_given(&self, offset: Offset) -> bool {
        self.given.as_ref().is_some_and(|given| given.events.contains_key(&offset))
    }

    /// The first event that was given back and is not known to be done durably.
    pub fn first_given(&self) -> Option<Offset> {
        let given = self.given.as_ref()?;
        given.events.keys().chain(&given.settling).min().copied()
    }

    /// How many events that were given back are here.
    pub fn given(&self) -> usize {
        self.given.as_ref().map_or(0, |given| given.events.len())
    }

    /// Neither the event nor its letter is left.
    pub fn given_is_gone(&mut self, offset: Offset) {
        if let Some(event) = self.take_given(offset) {
            self.end_given(offset, event, GivenStep::Gone);
        }
    }

    /// An operator gave it up, durably. False if it was not here.
    pub fn drop_given(&mut self, offset: Offset) -> bool {
        let Some(event) = self.take_given(offset) else {
            return false;
        };
        self.done_given(offset, event, First::Unknown);
        true
    }

    /// What these steps tell is durable.
    pub fn given_is_durable(&mut self, steps: &[(Offset, GivenStep)]) {
        let Some(given) = &mut self.given else {
            return;
        };
        for (offset, step) in steps {
            if !matches!(step, GivenStep::Failed(_)) {
                given.settling.remove(offset);
            }
        }
        if given.events.is_empty() && given.settling.is_empty() {
            self.given = None;
        }
    }

    /// An event whose lease was just ended by an ack.
    pub(super) fn given_is_acked(&mut self, offset: Offset, event: Unsettled) {
        self.end_given(offset, Some(event), GivenStep::Acked);
    }

    /// Its new letter is durable, and so is that it is done.
    pub(super) fn given_is_dead(&mut self, offset: Offset, event: Option<Unsettled>) {
        self.done_given(offset, event, First::Held);
    }

    /// The next given event that waits for this key takes its turn.
    pub(super) fn next_given_of(&mut self, key: u64) -> bool {
        let Some(given) = &mut self.given else {
            return false;
        };
        let Some(waiting) = given.blocked.get_mut(&key) else {
            return false;
        };
        let next = waiting.pop_first();
        if waiting.is_empty() {
            given.blocked.remove(&key);
        }
        let Some((offset, lane)) = next else {
            return false;
        };
        self.put_given(offset, Some(key), lane);
        true
    }

    pub(super) fn given_blocked(&self) -> usize {
        self.given.as_ref().map_or(0, |given| given.blocked.values().map(BTreeMap::len).sum())
    }

    /// It is the head of its key now.
    fn put_given(&mut self, offset: Offset, key: Option<u64>, lane: u32) {
        if let Some(key) = key
            && !self.keys.is_busy(key)
        {
            let turn = self.keys.queue(key, offset);
            debug_assert_eq!(turn, Turn::Now);
        }
        let state = if self.is_at_limit(offset) {
            EventState::Dead(DeadLetter::Queued { failed_writes: 0 })
        } else {
            EventState::Due
        };
        self.unsettled.put(offset, Unsettled { key, lane, state });
    }

    /// Takes it from where it is; `None` if it is not here. The inner `None`: it waits for its key.
    fn take_given(&mut self, offset: Offset) -> Option<Option<Unsettled>> {
        let given = self.given.as_mut().filter(|given| given.events.contains_key(&offset))?;
        let blocked = given.blocked.iter_mut().find_map(|(key, of_key)| of_key.remove(&offset).map(|_| *key));
        if let Some(key) = blocked {
            given.blocked.retain(|other, of_key| *other != key || !of_key.is_empty());
            return Some(None);
        }
        let event = self.unsettled.take(offset);
        if let Some(Unsettled { state: EventState::Leased(lease), .. }) = event {
            self.subscribers.release(lease.subscriber);
        }
        Some(event)
    }

    fn end_given(&mut self, offset: Offset, event: Option<Unsettled>, step: GivenStep) {
        if let Some(given) = &mut self.given {
            given.settling.insert(offset);
        }
        self.changes.give(offset, step);
        self.done_given(offset, event, First::Unknown);
    }

    fn done_given(&mut self, offset: Offset, event: Option<Unsettled>, first: First) {
        let parked = self.given.as_mut().and_then(|given| given.events.remove(&offset)).flatten();
        self.failures.remove(&offset);
        self.changes.forget_failure(offset);
        if let Some(event) = event {
            self.unblock(event.key, event.lane);
        }
        if let Some(key) = parked {
            self.set_first(key, first);
        }
        if self.has_given_all() {
            self.given = None;
        }
    }

    /// Whether a lease that is over leaves nothing to do: the event was settled by other means.
    pub(super) fn is_void(&self, offset: Offset) -> bool {
        offset < self.progress.floor() && !self.is_given(offset)
    }
}
