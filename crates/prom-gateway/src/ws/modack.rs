//! MODACK: more time for each event that the frame names.

use std::time::Duration;

use futures::future::join_all;
use prom_protocol::Corr;
use prom_protocol::frame::Which;
use prom_protocol::frame::modack::Modack;

use super::ack::{is_none, unknown_id};
use super::burst::{Reply, Waiting};
use super::connection::Connection;
use crate::problem;

impl Connection {
    pub(super) fn modack(&mut self, corr: Option<Corr>, frame: &Modack<'_>) {
        let extend = Duration::from_millis(frame.extend_ms);
        let deadline = self.hub.clock.monotonic().saturating_add(extend);
        let found = match self.settling(&frame.topic, &frame.group) {
            Ok((_, group)) => group.inflight.lock().renew(&frame.topic, &frame.which, deadline),
            Err(problem) => return self.burst.answer(corr, Waiting::Ready(Reply::Err(problem))),
        };
        let one = matches!(&frame.which, Which::Ids(ids) if ids.len() == 1);
        if one && !is_none(&found.missing) {
            return self.burst.answer(corr, Waiting::Ready(Reply::Err(unknown_id())));
        }
        let extended: Vec<_> = found.tickets.iter().map(|ticket| ticket.modack(extend)).collect();
        let later = async move {
            match join_all(extended).await.into_iter().find_map(Result::err) {
                Some(error) => Reply::Err(problem::of_bus(&error)),
                None if is_none(&found.missing) => Reply::Ok,
                None => Reply::Unknown(found.missing),
            }
        };
        self.burst.answer(corr, Waiting::Later(Box::pin(later)));
    }
}
