//! Events that are neither fresh nor settled: leased, due again, waiting, or bound for the dead letters.
//!
//! One map by offset tells the state, with indexes of what happens next (due first by offset, waiting
//! by time, leases by deadline). Everything enters by `put` and leaves by `take`, so the indexes cannot drift from the map. Fresh events and those held back behind a key
//! live elsewhere: the map stays as small as the windows of the subscribers.

use std::collections::BTreeSet;
use std::time::Duration;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use prom_types::Offset;

use super::deadlines::{Deadline, Deadlines};
use super::{LeaseId, SubscriberId};

#[derive(Debug, Clone, Copy)]
pub(super) struct Unsettled {
    /// Only with [`super::Order::Key`]: the key that this event keeps blocked.
    pub key: Option<u64>,
    /// Whose subscriber gets it; always 0 where there are no lanes.
    pub lane: u32,
    pub state: EventState,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum EventState {
    Leased(EventLease),
    /// To be handed out before anything fresh.
    Due,
    Waiting {
        until: Duration,
    },
    Dead(DeadLetter),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct EventLease {
    pub id: LeaseId,
    pub subscriber: SubscriberId,
    pub deadline: Duration,
    /// When it was handed out.
    pub since: Duration,
    /// How often its holder asked for more time.
    pub renewals: u32,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum DeadLetter {
    /// To be written.
    Queued { failed_writes: u32 },
    /// Being written.
    Taken { failed_writes: u32 },
    /// Its key would have to be parked, and no more keys can be.
    WithoutRoom,
    /// Could not be written; tried again at `until`.
    Failing { failed_writes: u32, until: Duration },
}

#[derive(Debug, Default)]
pub(super) struct UnsettledEvents {
    by_offset: HashMap<Offset, Unsettled, FixedState>,
    /// By lane, then offset.
    due: BTreeSet<(u32, Offset)>,
    /// Waiting events and failing dead letters.
    waiting: BTreeSet<(Duration, Offset)>,
    dead_queued: BTreeSet<Offset>,
    dead_taken: usize,
    dead_without_room: usize,
    dead_failing: usize,
    leased: usize,
    /// The same by lane; empty where there are none.
    leased_in: Vec<usize>,
    deadlines: Deadlines,
}

impl UnsettledEvents {
    pub fn with_lanes(lanes: usize) -> Self {
        Self { leased_in: vec![0; lanes], ..Self::default() }
    }

    /// The offset must not be in here.
    pub fn put(&mut self, offset: Offset, event: Unsettled) {
        match event.state {
            EventState::Leased(lease) => {
                self.leased += 1;
                if let Some(leased) = self.leased_in.get_mut(event.lane as usize) {
                    *leased += 1;
                }
                self.watch(offset, lease);
            }
            EventState::Due => {
                self.due.insert((event.lane, offset));
            }
            EventState::Waiting { until } => {
                self.waiting.insert((until, offset));
            }
            EventState::Dead(DeadLetter::Queued { .. }) => {
                self.dead_queued.insert(offset);
            }
            EventState::Dead(DeadLetter::Taken { .. }) => self.dead_taken += 1,
            EventState::Dead(DeadLetter::WithoutRoom) => self.dead_without_room += 1,
            EventState::Dead(DeadLetter::Failing { until, .. }) => {
                self.dead_failing += 1;
                self.waiting.insert((until, offset));
            }
        }
        self.by_offset.insert(offset, event);
    }

    pub fn take(&mut self, offset: Offset) -> Option<Unsettled> {
        let event = self.by_offset.remove(&offset)?;
        match event.state {
            EventState::Leased(_) => self.lease_ended(event.lane),
            EventState::Due => {
                self.due.remove(&(event.lane, offset));
            }
            EventState::Waiting { until } => {
                self.waiting.remove(&(until, offset));
            }
            EventState::Dead(DeadLetter::Queued { .. }) => {
                self.dead_queued.remove(&offset);
            }
            EventState::Dead(DeadLetter::Taken { .. }) => self.dead_taken -= 1,
            EventState::Dead(DeadLetter::WithoutRoom) => self.dead_without_room -= 1,
            EventState::Dead(DeadLetter::Failing { until, .. }) => {
                self.dead_failing -= 1;
                self.waiting.remove(&(until, offset));
            }
        }
        Some(event)
    }

    /// Takes the event if this is its live lease, held by this subscriber.
    pub fn take_leased(&mut self, offset: Offset, subscriber: SubscriberId, lease: LeaseId) -> Option<Unsettled> {
        let Entry::Occupied(occupied) = self.by_offset.entry(offset) else {
            return None;
        };
        match occupied.get().state {
            EventState::Leased(live) if live.id == lease && live.subscriber == subscriber => {
                let event = occupied.remove();
                self.lease_ended(event.lane);
                Some(event)
            }
            _ => None,
        }
    }

    pub fn lease(&self, offset: Offset) -> Option<EventLease> {
        match self.by_offset.get(&offset)?.state {
            EventState::Leased(lease) => Some(lease),
            _ => None,
        }
    }

    /// Moves the deadline of a leased event.
    pub fn extend(&mut self, offset: Offset, deadline: Duration) {
        let Some(event) = self.by_offset.get_mut(&offset) else {
            return;
        };
        match &mut event.state {
            // The same deadline again would leave two entries that both look alive.
            EventState::Leased(lease) if lease.deadline != deadline => {
                lease.deadline = deadline;
                let extended = *lease;
                self.watch(offset, extended);
            }
            _ => {}
        }
    }

    /// The holder of a leased event asked for more time.
    pub fn count_renewal(&mut self, offset: Offset) {
        if let Some(Unsettled { state: EventState::Leased(lease), .. }) = self.by_offset.get_mut(&offset) {
            lease.renewals = lease.renewals.saturating_add(1);
        }
    }

    /// Every event that is leased.
    pub fn leases(&self) -> impl Iterator<Item = (Offset, EventLease)> {
        self.by_offset.iter().filter_map(|(&offset, event)| match event.state {
            EventState::Leased(lease) => Some((offset, lease)),
            _ => None,
        })
    }

    /// Lets go of the key of a leased event that retention settled.
    pub fn take_key(&mut self, offset: Offset) -> Option<u64> {
        self.by_offset.get_mut(&offset)?.key.take()
    }

    pub fn first_due(&self) -> Option<Offset> {
        self.due.first().map(|&(_, offset)| offset)
    }

    pub fn first_due_in(&self, lane: u32) -> Option<Offset> {
        let &(found, offset) = self.due.range((lane, 0)..).next()?;
        (found == lane).then_some(offset)
    }

    /// Takes one lease whose deadline has come.
    pub fn take_expired(&mut self, now: Duration) -> Option<(Offset, Unsettled, EventLease)> {
        loop {
            let entry = self.deadlines.pop_due(now)?;
            match self.lease(entry.offset) {
                Some(lease) if is_live(&entry, lease) => {
                    return self.take(entry.offset).map(|event| (entry.offset, event, lease));
                }
                _ => {}
            }
        }
    }

    /// Takes one event whose wait is over.
    pub fn take_waited(&mut self, now: Duration) -> Option<(Offset, Unsettled)> {
        let &(until, offset) = self.waiting.first()?;
        if until > now {
            return None;
        }
        self.take(offset).map(|event| (offset, event))
    }

    pub fn first_dead_queued(&self) -> Option<Offset> {
        self.dead_queued.first().copied()
    }

    pub fn next_deadline(&self) -> Option<Duration> {
        let waiting = self.waiting.first().map(|&(until, _)| until);
        [self.deadlines.next(), waiting].into_iter().flatten().min()
    }

    pub fn get(&self, offset: Offset) -> Option<&Unsettled> {
        self.by_offset.get(&offset)
    }

    /// The offsets whose event meets a condition, in order.
    pub fn offsets_where(&self, condition: impl Fn(Offset, &Unsettled) -> bool) -> Vec<Offset> {
        let meeting = self.by_offset.iter().filter(|(offset, event)| condition(**offset, event));
        let mut offsets: Vec<Offset> = meeting.map(|(&offset, _)| offset).collect();
        offsets.sort_unstable();
        offsets
    }

    pub fn clear(&mut self) {
        let by_offset = std::mem::take(&mut self.by_offset);
        *self = Self::with_lanes(self.leased_in.len());
        self.by_offset = by_offset;
        self.by_offset.clear();
    }

    pub fn is_empty(&self) -> bool {
        self.by_offset.is_empty()
    }

    pub fn leased(&self) -> usize {
        self.leased
    }

    pub fn leased_in(&self, lane: u32) -> usize {
        self.leased_in.get(lane as usize).copied().unwrap_or_default()
    }

    pub fn due(&self) -> usize {
        self.due.len()
    }

    /// Waiting for their backoff, dead letters not counted.
    pub fn waiting(&self) -> usize {
        self.waiting.len() - self.dead_failing
    }

    pub fn dead(&self) -> usize {
        self.dead_queued.len() + self.dead_taken + self.dead_without_room + self.dead_failing
    }

    pub fn dead_failing(&self) -> usize {
        self.dead_failing
    }

    #[cfg(test)]
    pub fn deadline_entries(&self) -> usize {
        self.deadlines.len()
    }

    fn watch(&mut self, offset: Offset, lease: EventLease) {
        let by_offset = &self.by_offset;
        let is_alive = |entry: &Deadline| match by_offset.get(&entry.offset) {
            Some(Unsettled { state: EventState::Leased(lease), .. }) => is_live(entry, *lease),
            _ => false,
        };
        let deadline = Deadline { at: lease.deadline, lease: lease.id, offset };
        self.deadlines.push(deadline, self.leased, is_alive);
    }

    fn lease_ended(&mut self, lane: u32) {
        self.leased -= 1;
        if let Some(leased) = self.leased_in.get_mut(lane as usize) {
            *leased -= 1;
        }
        if self.leased == 0 {
            // An idle dispatcher must not be woken by leases that are gone.
            self.deadlines.clear();
        }
    }
}

fn is_live(entry: &Deadline, lease: EventLease) -> bool {
    entry.lease == lease.id && entry.at == lease.deadline
}
