//! Frames about a group that another hub serves: sent there as they are.

use std::sync::Arc;

use bytes::Bytes;
use prom_protocol::frame::SubscriptionName;
use prom_protocol::{ClientFrame, Corr};

use super::ack::unknown_id;
use super::burst::{Reply, Waiting};
use super::connection::Connection;
use super::liveness::Work;
use super::relay::Link;
use super::seat::Seat;
use super::subscription::Kind;

impl Connection {
    /// Where a frame has to go, if not to this hub.
    pub(super) fn way_of(&self, frame: &ClientFrame<'_>) -> Option<Arc<Link>> {
        match frame {
            ClientFrame::Ack(frame) => self.link_of(&frame.topic, &frame.group),
            ClientFrame::Nack(frame) => self.link_of(&frame.topic, &frame.group),
            ClientFrame::Modack(frame) => self.link_of(&frame.topic, &frame.group),
            ClientFrame::Pause(name) | ClientFrame::Resume(name) => match &self.subscriptions.get(name)?.kind {
                Kind::Group(group) => group.seat.there(),
                Kind::Tail(_) => None,
            },
            _ => None,
        }
    }

    pub(super) async fn relay(&mut self, corr: Option<Corr>, text: &Bytes, frame: &ClientFrame<'_>, link: Arc<Link>) {
        let lost = match frame {
            // It holds wherever the subscription is served next.
            ClientFrame::Pause(name) => self.remember(name, Seat::pause),
            ClientFrame::Resume(name) => self.remember(name, Seat::resume),
            // Settled or not, the next hub knows.
            _ => Reply::Err(unknown_id()),
        };
        self.pulse.works(Work::Waiting);
        let answer = link.forward(text.clone()).await;
        self.pulse.reads_again();
        let later = async move { answer.await.unwrap_or(lost) };
        self.burst.answer(corr, Waiting::Later(Box::pin(later)));
    }

    fn remember(&self, name: &SubscriptionName, what: impl Fn(&Seat)) -> Reply {
        if let Some(in_group) = self.subscriptions.get(name).and_then(|subscribed| subscribed.in_group()) {
            what(&in_group.seat);
        }
        Reply::Ok
    }
}
