//! Lanes: the events of a log divided so that each belongs to one subscriber at a time.
//!
//! ```text
//!   scan ──▶ lane 0 ──▶ its owner          assign ──▶ open ──revoke──▶ closing ──drained──▶ free
//!       ╲──▶ lane 1 ──▶ its owner                       └──────────────fence──────────────────┘
//! ```
//!
//! A partition of its own is one lane; virtual partitions are many, settled in one cursor. Promises: an
//! event is leased only to the owner of its lane, in offset order within it; a lane whose owner does not
//! take holds back no other, up to the look-ahead; what was fenced can be told from what merely ended.

use std::collections::VecDeque;

use foldhash::fast::FixedState;
use hashbrown::HashSet;
use prom_types::Offset;

use super::lease::LeaseTerm;
use super::machine::Fresh;
use super::unsettled::{DeadLetter, EventState, Unsettled};
use super::{Dispatcher, LeaseId, Leased, SubscriberId};

/// Fenced leases that are remembered, so that their holders are told. Of older ones they hear only that
/// the lease has ended.
const FENCED_LEASES: usize = 10_000;

#[derive(Debug)]
pub(super) struct LaneTable {
    all: Vec<Lane>,
    /// Over all lanes.
    ready: usize,
    /// Where the next lease begins to look, so that all lanes of a subscriber take turns.
    turn: usize,
    fenced: Fenced,
}

#[derive(Debug, Default)]
struct Lane {
    owner: Option<SubscriberId>,
    /// False while the owner only finishes what it holds.
    open: bool,
    /// Never handed out, in offset order.
    ready: VecDeque<Fresh>,
}

/// The newest of them.
#[derive(Debug, Default)]
struct Fenced {
    leases: HashSet<LeaseId, FixedState>,
    order: VecDeque<LeaseId>,
}

/// One lane at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneStatus {
    /// Its number.
    pub lane: u32,
    /// The subscriber that owns it.
    pub owner: Option<SubscriberId>,
    /// The owner gets nothing more and finishes what it holds.
    pub closing: bool,
    /// Scanned, and not leased yet.
    pub ready: usize,
    /// Leased.
    pub in_flight: usize,
}

impl LaneTable {
    pub fn new(lanes: u32) -> Self {
        let all = (0..lanes).map(|_| Lane::default()).collect();
        Self { all, ready: 0, turn: 0, fenced: Fenced::default() }
    }

    pub fn ready(&self) -> usize {
        self.ready
    }

    /// Whether a lane that could be served has too little to keep its owner busy during a read.
    pub fn needs_more(&self, ready: usize) -> bool {
        let enough = (ready / 2 / self.all.len()).max(1);
        self.all.iter().any(|lane| lane.open && lane.ready.len() < enough)
    }

    pub fn put(&mut self, lane: u32, fresh: Fresh) {
        if let Some(lane) = self.all.get_mut(lane as usize) {
            lane.ready.push_back(fresh);
            self.ready += 1;
        }
    }

    fn pop(&mut self, lane: usize) -> Option<Fresh> {
        let fresh = self.all.get_mut(lane)?.ready.pop_front()?;
        self.ready -= 1;
        Some(fresh)
    }

    /// Forgets what lies ready before `start`; notes the keys and lanes that are freed by it.
    pub fn forget_before(&mut self, start: Offset, freed: &mut Vec<(Option<u64>, u32)>) {
        for (number, lane) in (0..).zip(&mut self.all) {
            while let Some(fresh) = lane.ready.pop_front_if(|fresh| fresh.offset < start) {
                self.ready -= 1;
                freed.push((fresh.key, number));
            }
        }
    }

    /// Forgets one event that lies ready; its key and lane.
    pub fn forget(&mut self, offset: Offset) -> Option<(Option<u64>, u32)> {
        for (number, lane) in (0..).zip(&mut self.all) {
            if let Ok(at) = lane.ready.binary_search_by_key(&offset, |fresh| fresh.offset) {
                self.ready -= 1;
                return lane.ready.remove(at).map(|fresh| (fresh.key, number));
            }
        }
        None
    }

    /// The lane in which an event is the first that lies ready, and its key.
    pub fn lane_of(&self, offset: Offset) -> Option<(u32, Option<u64>)> {
        let first_is = |lane: &Lane| lane.ready.front().filter(|fresh| fresh.offset == offset).map(|fresh| fresh.key);
        (0..).zip(&self.all).find_map(|(number, lane)| Some((number, first_is(lane)?)))
    }

    /// Nothing lies ready; owners stay.
    pub fn clear(&mut self) {
        self.all.iter_mut().for_each(|lane| lane.ready.clear());
        self.ready = 0;
    }

    /// A subscriber left: its lanes are free.
    pub fn let_go_of(&mut self, subscriber: SubscriberId) {
        for lane in self.all.iter_mut().filter(|lane| lane.owner == Some(subscriber)) {
            (lane.owner, lane.open) = (None, false);
        }
    }
}

impl Fenced {
    fn note(&mut self, lease: LeaseId) {
        if self.order.len() >= FENCED_LEASES
            && let Some(oldest) = self.order.pop_front()
        {
            self.leases.remove(&oldest);
        }
        self.order.push_back(lease);
        self.leases.insert(lease);
    }
}

impl Dispatcher {
    /// From now on the events of this lane go to this subscriber, who has joined.
    pub fn assign(&mut self, lane: u32, subscriber: SubscriberId) {
        if let Some(lane) = self.lane_mut(lane) {
            (lane.owner, lane.open) = (Some(subscriber), true);
        }
    }

    /// The owner gets nothing more of this lane; what it holds stays its own.
    pub fn revoke(&mut self, lane: u32) {
        if let Some(lane) = self.lane_mut(lane) {
            lane.open = false;
        }
    }

    /// The lane has no owner any more. What is still leased of it is taken back and due at once; neither
    /// an attempt nor a return is counted.
    pub fn fence(&mut self, lane: u32) {
        let Some(free) = self.lane_mut(lane) else {
            return;
        };
        (free.owner, free.open) = (None, false);
        if self.unsettled.leased_in(lane) == 0 {
            return;
        }
        let is_held = |_, event: &Unsettled| event.lane == lane && matches!(event.state, EventState::Leased(_));
        for offset in self.unsettled.offsets_where(is_held) {
            let (Some(lease), Some(event)) = (self.unsettled.lease(offset), self.unsettled.take(offset)) else {
                continue;
            };
            self.subscribers.release(lease.subscriber);
            if let Some(lanes) = &mut self.lanes {
                lanes.fenced.note(lease.id);
            }
            if self.is_void(offset) {
                continue;
            }
            let state = if self.is_at_limit(offset) {
                EventState::Dead(DeadLetter::Queued { failed_writes: 0 })
            } else {
                EventState::Due
            };
            self.unsettled.put(offset, Unsettled { state, ..event });
        }
    }

    /// How many events of a lane are leased.
    pub fn lane_in_flight(&self, lane: u32) -> usize {
        self.unsettled.leased_in(lane)
    }

    /// Whether a lane that could be served has nothing, while there may be plenty in others.
    pub fn is_starving(&self) -> bool {
        let Some(lanes) = self.lanes.as_ref().filter(|lanes| lanes.all.len() > 1) else {
            return false;
        };
        lanes.all.iter().any(|lane| lane.open && lane.ready.is_empty())
    }

    /// Whether a subscriber has a lane, also one that it only finishes.
    pub fn owns_a_lane(&self, subscriber: SubscriberId) -> bool {
        self.lanes.as_ref().is_some_and(|lanes| lanes.all.iter().any(|lane| lane.owner == Some(subscriber)))
    }

    /// The lane of an event that is leased.
    pub fn lane_of_leased(&self, offset: Offset) -> Option<u32> {
        self.unsettled.get(offset).map(|event| event.lane)
    }

    /// Whether a lease that is not alive ended because its lane went to another subscriber.
    pub fn is_fenced(&self, subscriber: SubscriberId, lease: LeaseId) -> bool {
        let Some(lanes) = &self.lanes else {
            return false;
        };
        !self.subscribers.knows(subscriber) || lanes.fenced.leases.contains(&lease)
    }

    /// What is due first, then fresh events, from all lanes of this subscriber in turn.
    pub(super) fn lease_of_lanes(&mut self, term: LeaseTerm, room: usize, out: &mut Vec<Leased>) {
        let subscriber = term.subscriber;
        let Some(lanes) = &mut self.lanes else {
            return;
        };
        let count = lanes.all.len();
        lanes.turn = (lanes.turn + 1) % count;
        let turn = lanes.turn;
        let is_theirs = |lane: &usize| lanes.all[*lane].open && lanes.all[*lane].owner == Some(subscriber);
        let mut theirs: Vec<usize> = (0..count).map(|at| (turn + at) % count).filter(is_theirs).collect();
        let mut left = room;
        while left > 0 && !theirs.is_empty() {
            theirs.retain(|&lane| {
                if left == 0 {
                    return false;
                }
                let number = u32::try_from(lane).unwrap_or(u32::MAX);
                let Some((offset, key)) = self.next_of_lane(number) else {
                    return false;
                };
                left -= 1;
                let leased = self.lease_one(offset, key, number, term);
                out.push(leased);
                true
            });
        }
    }

    fn next_of_lane(&mut self, lane: u32) -> Option<(Offset, Option<u64>)> {
        if let Some(offset) = self.unsettled.first_due_in(lane) {
            return self.unsettled.take(offset).map(|event| (offset, event.key));
        }
        if self.too_many_waiting() {
            return None;
        }
        let fresh = self.lanes.as_mut()?.pop(lane as usize)?;
        Some((fresh.offset, fresh.key))
    }

    pub(super) fn lane_status(&self) -> Vec<LaneStatus> {
        let Some(lanes) = &self.lanes else {
            return Vec::new();
        };
        let status = |(number, lane): (u32, &Lane)| LaneStatus {
            lane: number,
            owner: lane.owner,
            closing: lane.owner.is_some() && !lane.open,
            ready: lane.ready.len(),
            in_flight: self.unsettled.leased_in(number),
        };
        (0..).zip(&lanes.all).map(status).collect()
    }

    fn lane_mut(&mut self, lane: u32) -> Option<&mut Lane> {
        self.lanes.as_mut()?.all.get_mut(lane as usize)
    }
}
