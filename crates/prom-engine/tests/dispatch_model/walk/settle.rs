//! Steps of subscribers: ack, nack and modack, with live leases and with those long gone.

use prom_engine::dispatch::{LeaseId, NotLeased, Settled, SubscriberId};
use prom_types::Offset;

use super::{SUBSCRIBERS, Walk};
use crate::reference::Place;

impl Walk {
    pub(super) fn ack_live(&mut self) {
        for _ in 0..self.rng.between(1, 4) {
            if let Some((offset, hold)) = self.rng.pick(&self.reference.holds()) {
                self.ack(hold.subscriber, offset, hold.lease);
            }
        }
    }

    pub(super) fn ack(&mut self, who: SubscriberId, offset: Offset, lease: LeaseId) {
        let expected = self.reference.end_lease(who, offset, lease);
        assert_eq!(self.dispatcher.ack(who, offset, lease), expected, "ack of {offset}");
        if expected == Ok(Settled::Now) {
            self.reference.settle(offset);
        }
    }

    pub(super) fn nack(&mut self, who: SubscriberId, offset: Offset, lease: LeaseId) {
        let delay = self.rng.percent(40).then(|| self.rng.millis(0, 300));
        let expected = self.reference.end_lease(who, offset, lease);
        let nacked = self.dispatcher.nack(self.now, who, offset, lease, Some("no".into()), delay);
        assert_eq!(nacked, expected, "nack of {offset}");
        if expected == Ok(Settled::Now) {
            self.reference.fail(self.now, offset, delay);
        }
    }

    pub(super) fn nack_live(&mut self) {
        if let Some((offset, hold)) = self.rng.pick(&self.reference.holds()) {
            self.nack(hold.subscriber, offset, hold.lease);
        }
    }

    /// A subscriber settles with a lease of any age, its own or another's.
    pub(super) fn settle_stale(&mut self) {
        let Some((mut who, offset, lease)) = self.rng.pick(&self.leases) else {
            return;
        };
        if self.rng.percent(30) {
            who = self.rng.below(SUBSCRIBERS);
        }
        if self.rng.percent(70) { self.ack(who, offset, lease) } else { self.nack(who, offset, lease) }
    }

    pub(super) fn modack(&mut self) {
        let live = self.reference.holds();
        let live = self.rng.pick(&live).map(|(offset, hold)| (hold.subscriber, offset, hold.lease));
        let any = self.rng.pick(&self.leases);
        let Some((who, offset, lease)) = (if self.rng.percent(70) { live } else { any }) else {
            return;
        };
        let extend = self.rng.millis(0, 500);
        let asked = self.dispatcher.modack(self.now, who, offset, lease, extend);
        let deadline = self.now + extend;
        let mine = self.reference.holds().into_iter().find(|(at, hold)| {
            *at == offset && hold.subscriber == who && hold.lease == lease && hold.deadline > self.now
        });
        let Some((_, mut hold)) = mine else {
            assert_eq!(asked, Err(NotLeased), "modack of {offset}");
            return;
        };
        assert_eq!(asked, Ok(()), "modack of {offset}");
        hold.deadline = deadline;
        match self.reference.orphans.iter_mut().find(|(at, orphan)| *at == offset && orphan.lease == lease) {
            Some(orphan) => orphan.1 = hold,
            None => self.reference.places[offset as usize] = Place::Leased(hold),
        }
    }
}
