//! PAUSE and RESUME: leases stay, nothing new is leased.

use prom_protocol::Corr;
use prom_protocol::frame::SubscriptionName;

use super::burst::{AwaitedAnswer, FrameReply};
use super::connection::Connection;
use super::subscription::SubscriptionKind;

impl Connection {
    pub(super) fn pause(&mut self, corr: Option<Corr>, name: &SubscriptionName) {
        let reply = self.subscribed(name).map(|subscribed| match &subscribed.kind {
            SubscriptionKind::Group(group) => group.seat.pause(),
            SubscriptionKind::Tail(paused) => drop(paused.send_replace(true)),
        });
        self.done(corr, reply);
    }

    pub(super) fn resume(&mut self, corr: Option<Corr>, name: &SubscriptionName) {
        let reply = self.subscribed(name).map(|subscribed| match &subscribed.kind {
            SubscriptionKind::Group(group) => group.seat.resume(),
            SubscriptionKind::Tail(paused) => drop(paused.send_replace(false)),
        });
        self.done(corr, reply);
    }

    fn done(&mut self, corr: Option<Corr>, result: Result<(), prom_protocol::frame::err::Problem>) {
        let reply = match result {
            Ok(()) => FrameReply::Ok,
            Err(problem) => FrameReply::Err(problem),
        };
        self.burst.answer(corr, AwaitedAnswer::Ready(reply));
    }
}
