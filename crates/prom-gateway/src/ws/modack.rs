//! MODACK: more time for each event that the frame names.

use std::time::Duration;

use prom_engine::modack_tickets;
use prom_protocol::Corr;
use prom_protocol::frame::modack::Modack;

use super::ack::unknown_id;
use super::burst::{AwaitedAnswer, FrameReply};
use super::connection::Connection;
use crate::problem;

impl Connection {
    pub(super) fn modack(&mut self, corr: Option<Corr>, frame: &Modack<'_>) {
        let extend = Duration::from_millis(frame.extend_ms);
        let deadline = self.hub.clock.monotonic().saturating_add(extend);
        let renewed = self.leased(&frame.topic, &frame.group, &frame.which, |inflight, which| {
            inflight.renew(&frame.topic, which, deadline)
        });
        let found = match renewed {
            Ok(found) => found,
            Err(problem) => return self.burst.answer(corr, AwaitedAnswer::Ready(FrameReply::Err(problem))),
        };
        if frame.which.is_one() && !found.missing.is_empty() {
            return self.burst.answer(corr, AwaitedAnswer::Ready(FrameReply::Err(unknown_id())));
        }
        let extended = modack_tickets(found.tickets.into_vec(), extend);
        let later = async move {
            match extended.await {
                Err(error) => FrameReply::Err(problem::of_bus(&error)),
                Ok(()) if found.missing.is_empty() => FrameReply::Ok,
                Ok(()) => FrameReply::Unknown(found.missing),
            }
        };
        self.burst.answer(corr, AwaitedAnswer::Later(Box::pin(later)));
    }
}
