//! NACK: a failed attempt for each event that the frame names, or none if they were not begun.

use std::time::Duration;

use futures::future::join_all;
use prom_engine::give_back_tickets;
use prom_protocol::Corr;
use prom_protocol::frame::nack::Nack;

use super::ack::unknown_id;
use super::burst::{AwaitedAnswer, FrameReply};
use super::connection::Connection;
use crate::problem;

impl Connection {
    pub(super) fn nack(&mut self, corr: Option<Corr>, frame: &Nack<'_>) {
        let taken =
            self.leased(&frame.topic, &frame.group, &frame.which, |inflight, which| inflight.take(&frame.topic, which));
        let found = match taken {
            Ok(found) => found,
            Err(problem) => return self.burst.answer(corr, AwaitedAnswer::Ready(FrameReply::Err(problem))),
        };
        if frame.unhandled {
            let given_back = give_back_tickets(&found.tickets);
            // What is no longer leased needs no giving back.
            let later = async move {
                given_back.await.map_or_else(|error| FrameReply::Err(problem::of_bus(&error)), |()| FrameReply::Ok)
            };
            return self.burst.answer(corr, AwaitedAnswer::Later(Box::pin(later)));
        }
        let missing = self.missing(&frame.topic, &frame.group, found.missing);
        let delay = frame.delay_ms.map(Duration::from_millis);
        let nacked: Vec<_> = found
            .tickets
            .iter()
            .map(|ticket| match delay {
                Some(delay) => futures::future::Either::Left(ticket.nack_after(&frame.reason, delay)),
                None => futures::future::Either::Right(ticket.nack(&frame.reason)),
            })
            .collect();
        let later = async move {
            let failed = join_all(nacked).await.into_iter().find_map(Result::err);
            match (failed, missing.await) {
                (Some(error), _) | (None, Err(error)) => FrameReply::Err(problem::of_bus(&error)),
                (None, Ok(unknown)) if unknown.is_empty() => FrameReply::Ok,
                (None, Ok(_)) => FrameReply::Err(unknown_id()),
            }
        };
        self.burst.answer(corr, AwaitedAnswer::Later(Box::pin(later)));
    }
}
