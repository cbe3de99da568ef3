//! What the coordinator orders: giving a lane to a subscriber, taking it away, and telling when the one
//! who lost it has finished.

use std::sync::Arc;

use prom_store::LogName;

use super::DispatchTask;
use super::seats::SubscriberSeat;
use crate::dispatch::{Leaving, SubscriberId};
use crate::event::EventOrigin;
use crate::group::Layout;
use crate::group::coordinator::Desk;
use crate::outlet::Outlet;

/// An order to the dispatcher of a log. A lane that is stopped or fenced is named with the epoch of the
/// owner who is meant.
pub(crate) enum LaneOrder {
    Assign { lane: u32, outlet: Arc<Outlet>, epoch: u64 },
    Revoke { lane: u32, epoch: u64 },
    Fence { lane: u32, epoch: u64 },
}

/// What a dispatcher knows about lanes, beside its machine.
pub(super) struct Partitioned {
    layout: Layout,
    desk: Arc<Desk>,
    lanes: Vec<LaneOwner>,
    /// Lanes whose owners finish what they hold.
    closing: Vec<u32>,
}

#[derive(Debug, Clone, Copy, Default)]
struct LaneOwner {
    epoch: u64,
    subscriber: Option<SubscriberId>,
}

impl Partitioned {
    pub fn new(layout: Layout, desk: Arc<Desk>) -> Self {
        let lanes = vec![LaneOwner::default(); layout.lanes() as usize];
        Self { layout, desk, lanes, closing: Vec::new() }
    }

    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Who owns which lane. They are told that it went; lanes that were to go are finished.
    pub fn owners(
        &self,
        seats: &[SubscriberSeat],
        log: &LogName,
        origin: &Arc<EventOrigin>,
    ) -> Vec<(u32, u64, Arc<Outlet>)> {
        let mut owners = Vec::new();
        for (lane, owner) in (0..).zip(&self.lanes) {
            let partition = self.layout.partition_at(log.partition, lane);
            if self.closing.contains(&lane) {
                self.desk.drained(partition, owner.epoch);
                continue;
            }
            let is_owner = |seat: &&SubscriberSeat| Some(seat.outlet.id) == owner.subscriber;
            if let Some(SubscriberSeat { outlet, .. }) = seats.iter().find(is_owner) {
                drop(outlet.revoked(&log.topic, partition, origin, |_| true));
                owners.push((lane, owner.epoch, outlet.clone()));
            }
        }
        owners
    }
}

impl DispatchTask {
    pub(super) fn obey(&mut self, order: LaneOrder) {
        match order {
            LaneOrder::Assign { lane, outlet, epoch } => self.assign_lane(lane, &outlet, epoch),
            LaneOrder::Revoke { lane, epoch } => self.revoke_lane(lane, epoch),
            LaneOrder::Fence { lane, epoch } => self.fence_lane(lane, epoch),
        }
    }

    fn assign_lane(&mut self, lane: u32, outlet: &Arc<Outlet>, epoch: u64) {
        let Some((partition, owner)) = self.lane_owner(lane) else {
            return;
        };
        // One that has ended is not seated; its coordinator hears of it and decides again.
        let subscriber = (!outlet.is_ended()).then_some(outlet.id);
        *owner = LaneOwner { epoch, subscriber };
        if subscriber.is_none() {
            return;
        }
        if !self.seats.iter().any(|seat| seat.outlet.id == outlet.id) {
            outlet.attach_again(&self.cursor.log, &self.wake);
            self.seat(outlet.clone());
        }
        outlet.assigned(&self.cursor.log.topic, partition);
        self.machine.assign(lane, outlet.id);
    }

    fn revoke_lane(&mut self, lane: u32, epoch: u64) {
        let Some((partition, owner)) = self.lane_owner(lane) else {
            return;
        };
        if owner.epoch != epoch {
            return;
        }
        let subscriber = owner.subscriber;
        self.machine.revoke(lane);
        if let Some(outlet) = self.seated(subscriber) {
            let (topic, machine) = (&self.cursor.log.topic, &self.machine);
            let is_of_it = |offset| machine.lane_of_leased(offset) == Some(lane);
            let unseen = outlet.revoked(topic, partition, &self.origin, is_of_it);
            for ticket in unseen {
                self.machine.withdraw(outlet.id, ticket.offset, ticket.lease);
            }
        }
        if let Some(partitioned) = &mut self.partitioned {
            partitioned.closing.push(lane);
        }
    }

    fn fence_lane(&mut self, lane: u32, epoch: u64) {
        let Some((partition, owner)) = self.lane_owner(lane) else {
            return;
        };
        if owner.epoch != epoch {
            return;
        }
        let subscriber = owner.subscriber.take();
        if let Some(partitioned) = &mut self.partitioned {
            partitioned.closing.retain(|closing| *closing != lane);
        }
        let Some(outlet) = self.seated(subscriber) else {
            self.machine.fence(lane);
            return;
        };
        if outlet.is_ended() {
            // It went away by itself: what it held counts as returned.
            return self.unseat(&outlet, Leaving::Returned);
        }
        let machine = &self.machine;
        let is_of_it = |offset| machine.lane_of_leased(offset) == Some(lane);
        drop(outlet.revoked(&self.cursor.log.topic, partition, &self.origin, is_of_it));
        self.machine.fence(lane);
        self.unseat_if_free(&outlet);
    }

    /// Tells which lanes were finished by those who lost them.
    pub(super) fn tell_what_is_drained(&mut self) {
        let Some(partitioned) = &mut self.partitioned else {
            return;
        };
        if partitioned.closing.is_empty() {
            return;
        }
        let machine = &self.machine;
        let drained: Vec<u32> = partitioned.closing.extract_if(.., |lane| machine.lane_in_flight(*lane) == 0).collect();
        for lane in drained {
            let Some((partition, owner)) = self.lane_owner(lane) else {
                continue;
            };
            let (epoch, subscriber) = (owner.epoch, owner.subscriber.take());
            self.machine.fence(lane);
            if let Some(outlet) = self.seated(subscriber) {
                self.unseat_if_free(&outlet);
            }
            if let Some(partitioned) = &self.partitioned {
                partitioned.desk.drained(partition, epoch);
            }
        }
    }

    fn lane_owner(&mut self, lane: u32) -> Option<(u32, &mut LaneOwner)> {
        let partitioned = self.partitioned.as_mut()?;
        let partition = partitioned.layout.partition_at(self.cursor.log.partition, lane);
        Some((partition, partitioned.lanes.get_mut(lane as usize)?))
    }

    fn seated(&self, subscriber: Option<SubscriberId>) -> Option<Arc<Outlet>> {
        let id = subscriber?;
        self.seats.iter().find(|seat| seat.outlet.id == id).map(|seat| seat.outlet.clone())
    }

    /// A subscriber without a lane here has no seat either.
    fn unseat_if_free(&mut self, outlet: &Arc<Outlet>) {
        if !self.machine.owns_a_lane(outlet.id) {
            // Nothing is leased to it: nothing is returned.
            self.unseat(outlet, Leaving::Shutdown);
        }
    }

    fn unseat(&mut self, outlet: &Arc<Outlet>, leaving: Leaving) {
        let now = self.now();
        self.withdraw_unseen(outlet);
        self.release_room();
        self.seats.retain(|seat| seat.outlet.id != outlet.id);
        self.machine.leave(now, outlet.id, leaving);
        self.in_flight.tell(self.machine.in_flight());
        outlet.detach(&self.cursor.log, &self.wake);
    }
}
