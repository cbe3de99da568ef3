//! The subscribers of a dispatcher: joining, pausing, leaving, and room given back to their windows.

use std::sync::Arc;
use std::time::Duration;

use super::DispatchTask;
use crate::bus::BusPhase;
use crate::dispatch::Leaving;
use crate::outlet::Outlet;

/// A subscriber as this dispatcher knows it.
pub(super) struct SubscriberSeat {
    pub outlet: Arc<Outlet>,
    /// What the machine was told.
    pub paused: bool,
    /// It had too little room, and this dispatcher waits in its queue for more.
    pub waits_for_room: bool,
    /// It ended, and what it had to say before was heard.
    pub leaving: bool,
    /// Places in its window that this dispatcher has reserved and not given back.
    pub held: usize,
}

impl DispatchTask {
    pub(super) fn take_in_joiners(&mut self) {
        for outlet in self.group.take_joining(&self.cursor.log) {
            self.seat(outlet);
        }
    }

    pub(super) fn seat(&mut self, outlet: Arc<Outlet>) {
        self.machine.join(outlet.id, outlet.options.ack_timeout);
        self.untold_gaps.drain(..).for_each(|gap| outlet.tell_gap(gap));
        self.seats.push(SubscriberSeat { outlet, paused: false, waits_for_room: false, leaving: false, held: 0 });
    }

    /// Lets go of those who leave, passes on who paused.
    pub(super) fn look_after_seats(&mut self, now: Duration) {
        let draining = *self.phase.borrow() != BusPhase::Open;
        let mut at = 0;
        while let Some(seat) = self.seats.get_mut(at) {
            let paused = seat.outlet.is_paused();
            if paused != seat.paused {
                seat.paused = paused;
                if paused {
                    self.machine.pause(seat.outlet.id)
                } else {
                    self.machine.resume(seat.outlet.id)
                }
                if paused {
                    seat.outlet.give_back(&self.wake, 0);
                }
            }
            if !seat.leaving {
                at += 1;
                continue;
            }
            let outlet = seat.outlet.clone();
            self.withdraw_unseen(&outlet);
            if draining {
                // Handlers may still settle what they hold, until the bus stops.
                self.machine.pause(outlet.id);
                at += 1;
                continue;
            }
            self.seats.swap_remove(at);
            self.machine.leave(now, outlet.id, Leaving::Returned);
            self.in_flight.tell(self.machine.in_flight());
            outlet.detach(&self.cursor.log, &self.wake);
        }
    }

    /// The bus stops: no event is to blame.
    pub(super) fn leave_all(&mut self, now: Duration) {
        let outlets: Vec<_> = self.seats.iter().map(|seat| seat.outlet.clone()).collect();
        // All queues before the first leave: leaving lets time pass for all of them.
        for outlet in &outlets {
            outlet.end();
            self.withdraw_unseen(outlet);
        }
        self.note_what_was_taken();
        for outlet in outlets {
            self.machine.leave(now, outlet.id, Leaving::Shutdown);
        }
    }

    /// Ends what has run out of time by `now`. First the queues are looked at: a lease whose
    /// delivery still lies there goes back uncounted.
    pub(super) fn let_time_pass(&mut self, now: Duration) {
        if self.machine.next_deadline().is_none_or(|next| next > now) {
            return;
        }
        for seat in &self.seats {
            for ticket in seat.outlet.take_overdue(now, &self.origin) {
                self.machine.withdraw(seat.outlet.id, ticket.offset, ticket.lease);
            }
        }
        // After the queues: what is taken from now on was not overdue.
        self.note_what_was_taken();
        self.machine.tick(now);
    }

    /// Passes on which deliveries the application took late, and how long it has for them.
    pub(super) fn note_what_was_taken(&mut self) {
        for seat in &self.seats {
            for (ticket, deadline) in seat.outlet.take_taken_late(&self.origin) {
                self.machine.taken(seat.outlet.id, ticket.offset, ticket.lease, deadline);
            }
        }
    }

    pub(super) fn withdraw_unseen(&mut self, outlet: &Outlet) {
        for ticket in outlet.take_unseen(&self.origin) {
            self.machine.withdraw(outlet.id, ticket.offset, ticket.lease);
        }
    }

    /// Places of ended leases go back to the windows they came from.
    pub(super) fn release_room(&mut self) {
        self.machine.released(&mut self.released);
        for (subscriber, ended) in self.released.drain(..) {
            if let Some(seat) = self.seats.iter_mut().find(|seat| seat.outlet.id == subscriber) {
                seat.held = seat.held.saturating_sub(ended);
                seat.outlet.release(ended);
            }
        }
    }
}
