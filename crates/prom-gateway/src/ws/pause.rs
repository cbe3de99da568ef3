//! PAUSE and RESUME: leases stay, nothing new is leased. RESUME also changes the window.

use prom_protocol::Corr;
use prom_protocol::frame::SubscriptionName;
use prom_protocol::frame::err::Problem;
use prom_protocol::frame::pause::Resume;

use super::burst::{AwaitedAnswer, FrameReply};
use super::connection::Connection;
use super::subscription::SubscriptionKind;
use crate::problem;

impl Connection {
    pub(super) fn pause(&mut self, corr: Option<Corr>, name: &SubscriptionName) {
        let reply = self.subscribed(name).map(|subscribed| match &subscribed.kind {
            SubscriptionKind::Group(group) => group.seat.pause(),
            SubscriptionKind::Tail(paused) => drop(paused.send_replace(true)),
        });
        self.done(corr, reply);
    }

    pub(super) fn resume(&mut self, corr: Option<Corr>, frame: &Resume) {
        let reply = self.subscribed(&frame.name).and_then(|subscribed| match &subscribed.kind {
            SubscriptionKind::Group(group) => {
                group.seat.resume(frame.max_in_flight).map_err(|error| problem::of_bus(&error))
            }
            SubscriptionKind::Tail(paused) => {
                paused.send_replace(false);
                Ok(())
            }
        });
        self.done(corr, reply);
    }

    fn done(&mut self, corr: Option<Corr>, result: Result<(), Problem>) {
        let reply = match result {
            Ok(()) => FrameReply::Ok,
            Err(problem) => FrameReply::Err(problem),
        };
        self.burst.answer(corr, AwaitedAnswer::Ready(reply));
    }
}
