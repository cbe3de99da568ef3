//! Handing out: each subscriber with room gets a batch in turn, until there is nothing or no room.

use std::sync::Arc;

use prom_store::Record;
use prom_types::{EpochMs, Offset};

use super::scan::ReadBack;
use super::{DispatchTask, Pace};
use crate::bus::BusPhase;
use crate::deliver::Delivery;
use crate::dispatch::Leased;
use crate::outlet::Outlet;

/// Rounds before requests and deadlines are looked at again.
const ROUNDS: usize = 8;

/// Whether a subscriber got something.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Served {
    Nothing,
    Some,
}

impl DispatchTask {
    /// Looks ahead and serves the subscribers in turn, for some rounds. `Busy` if more may be found at once.
    pub(super) async fn hand_out(&mut self) -> Pace {
        if *self.phase.borrow() != BusPhase::Open || self.core.has_slept() {
            return Pace::Idle;
        }
        for _ in 0..ROUNDS {
            let looked = self.scan().await;
            let brought = self.bring_back().await;
            let served = self.serve_all().await;
            if looked == Pace::Idle && brought == Pace::Idle && served == Pace::Idle {
                return Pace::Idle;
            }
        }
        Pace::Busy
    }

    /// One batch for every subscriber that has room, beginning behind the last that got something: events that
    /// come one by one each go to another. `Busy` if one got something: what was handed out may have made room to read more.
    async fn serve_all(&mut self) -> Pace {
        let mut pace = Pace::Idle;
        let (begin, seats) = (self.turn, self.seats.len());
        for next in (1..=seats).map(|step| (begin + step) % seats) {
            if self.serve(next).await == Served::Some {
                self.turn = next;
                pace = Pace::Busy;
            }
        }
        pace
    }

    /// Leases one batch to a subscriber and hands it over.
    async fn serve(&mut self, at: usize) -> Served {
        let seat = &mut self.seats[at];
        if seat.outlet.is_paused() || self.reads.must_wait() || !self.machine.has_something() {
            // Others of this subscriber's dispatchers must not wait for this one.
            if std::mem::take(&mut seat.waits_for_room) {
                seat.outlet.give_back(&self.wake, 0);
            }
            return Served::Nothing;
        }
        let want = seat.outlet.options.batch_size;
        let granted = seat.outlet.reserve(&self.wake, want);
        seat.waits_for_room = granted < want;
        if granted == 0 {
            return Served::Nothing;
        }
        seat.held += granted;
        let (outlet, now) = (&seat.outlet.clone(), self.now());
        let mut leased = std::mem::take(&mut self.leased);
        self.machine.lease(now, outlet.id, granted, &mut leased);
        if leased.len() < granted {
            outlet.give_back(&self.wake, granted - leased.len());
            self.seats[at].waits_for_room = false;
            self.seats[at].held -= granted - leased.len();
        }
        let served = if leased.is_empty() { Served::Nothing } else { Served::Some };
        if let Some(first) = leased.first() {
            self.hand_overs.note(first.lease, now);
            self.deliver(outlet, &leased).await;
        }
        leased.clear();
        self.leased = leased;
        served
    }

    async fn deliver(&mut self, outlet: &Arc<Outlet>, leased: &[Leased]) {
        let mut records: Vec<Option<Record>> = leased.iter().map(|lease| self.records.take(lease.offset)).collect();
        self.records.tell_bytes();
        let missing = self.fill_in(outlet, leased, &mut records).await;
        if missing == 0 && self.condemned.is_empty() {
            let pairs = leased.iter().zip(records);
            let batch = pairs.filter_map(|(lease, record)| Some(self.delivery(outlet, *lease, record?)));
            outlet.push(batch, self.wall_origin_ms());
            return;
        }
        let mut batch = Vec::with_capacity(leased.len());
        for (lease, record) in leased.iter().zip(records) {
            match (record, self.condemned.get(&lease.offset)) {
                (Some(record), Some(reason)) => {
                    let reason = reason.clone();
                    self.letters.condemn(outlet.id, *lease, record, reason);
                }
                (Some(record), None) => batch.push(self.delivery(outlet, *lease, record)),
                (None, _) => {}
            }
        }
        if !batch.is_empty() {
            outlet.push(batch, self.wall_origin_ms());
        }
    }

    /// What the wall clock showed when the monotonic one stood at zero.
    fn wall_origin_ms(&self) -> EpochMs {
        let since_origin = EpochMs::try_from(self.now().as_millis()).unwrap_or(EpochMs::MAX);
        self.core.clock.now_ms().saturating_sub(since_origin)
    }

    fn delivery(&self, outlet: &Outlet, leased: Leased, record: Record) -> Delivery {
        Delivery::new(self.origin.clone(), record, outlet.id, leased)
    }

    /// Reads again what is not in memory. What is gone counts as settled, what cannot be read now
    /// goes back untouched. Returns how many stay empty.
    async fn fill_in(&mut self, outlet: &Outlet, leased: &[Leased], records: &mut [Option<Record>]) -> usize {
        let mut places: Vec<usize> = (0..leased.len()).filter(|&at| records[at].is_none()).collect();
        if places.is_empty() {
            return 0;
        }
        places.sort_unstable_by_key(|&at| leased[at].offset);
        let offsets: Vec<Offset> = places.iter().map(|&at| leased[at].offset).collect();
        let mut missing = 0;
        for (at, found) in places.into_iter().zip(self.read_back(&offsets).await) {
            let lease = leased[at];
            match self.or_from_letter(lease.offset, found).await {
                ReadBack::Record(record) => {
                    records[at] = Some(record);
                    continue;
                }
                ReadBack::Gone if self.machine.is_given(lease.offset) => self.machine.given_is_gone(lease.offset),
                ReadBack::Gone => self.machine.vanished(lease.offset),
                ReadBack::Unread => self.machine.withdraw(outlet.id, lease.offset, lease.lease),
            }
            missing += 1;
        }
        missing
    }
}
