//! PAUSE and RESUME: leases stay, nothing new is lent.

use prom_protocol::Corr;
use prom_protocol::frame::SubscriptionName;

use super::burst::{Reply, Waiting};
use super::connection::Connection;
use super::subscription::Kind;

impl Connection {
    pub(super) fn pause(&mut self, corr: Option<Corr>, name: &SubscriptionName) {
        let reply = self.subscribed(name).map(|subscribed| match &subscribed.kind {
            Kind::Group(group) => group.seat.pause(),
            Kind::Tail(paused) => drop(paused.send_replace(true)),
        });
        self.done(corr, reply);
    }

    pub(super) fn resume(&mut self, corr: Option<Corr>, name: &SubscriptionName) {
        let reply = self.subscribed(name).map(|subscribed| match &subscribed.kind {
            Kind::Group(group) => group.seat.resume(),
            Kind::Tail(paused) => drop(paused.send_replace(false)),
        });
        self.done(corr, reply);
    }

    fn done(&mut self, corr: Option<Corr>, result: Result<(), prom_protocol::frame::err::Problem>) {
        let reply = match result {
            Ok(()) => Reply::Ok,
            Err(problem) => Reply::Err(problem),
        };
        self.burst.answer(corr, Waiting::Ready(reply));
    }
}
