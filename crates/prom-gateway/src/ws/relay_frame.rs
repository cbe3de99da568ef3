//! Frames about a group that another hub serves: sent there as they are.

use std::sync::Arc;

use bytes::Bytes;
use prom_protocol::frame::SubscriptionName;
use prom_protocol::frame::pause::Resume;
use prom_protocol::{ClientFrame, Corr};

use super::ack::unknown_id;
use super::burst::{AwaitedAnswer, FrameReply};
use super::connection::Connection;
use super::liveness::ReadPause;
use super::relay::RelayLink;
use super::seat::MemberSeat;
use super::subscription::SubscriptionKind;

impl Connection {
    /// Where a frame has to go, if not to this hub.
    pub(super) fn way_of(&self, frame: &ClientFrame<'_>) -> Option<Arc<RelayLink>> {
        match frame {
            ClientFrame::Ack(frame) => self.link_of(&frame.topic, &frame.group),
            ClientFrame::Nack(frame) => self.link_of(&frame.topic, &frame.group),
            ClientFrame::Modack(frame) => self.link_of(&frame.topic, &frame.group),
            ClientFrame::Pause(name) | ClientFrame::Resume(Resume { name, .. }) => {
                match &self.subscriptions.get(name)?.kind {
                    SubscriptionKind::Group(group) => group.seat.there(),
                    SubscriptionKind::Tail(_) => None,
                }
            }
            _ => None,
        }
    }

    pub(super) async fn relay(
        &mut self,
        corr: Option<Corr>,
        text: &Bytes,
        frame: &ClientFrame<'_>,
        link: Arc<RelayLink>,
    ) {
        let lost = match frame {
            // It holds wherever the subscription is served next.
            ClientFrame::Pause(name) => self.remember(name, MemberSeat::pause),
            // A window that the owner refuses is refused by the next hub too.
            ClientFrame::Resume(frame) => self.remember(&frame.name, |seat| drop(seat.resume(frame.max_in_flight))),
            // Settled or not, the next hub knows.
            _ => FrameReply::Err(unknown_id()),
        };
        self.pulse.works(ReadPause::Backpressure);
        let answer = link.forward(text.clone()).await;
        self.pulse.reads_again();
        let later = async move { answer.await.unwrap_or(lost) };
        self.burst.answer(corr, AwaitedAnswer::Later(Box::pin(later)));
    }

    fn remember(&self, name: &SubscriptionName, what: impl Fn(&MemberSeat)) -> FrameReply {
        if let Some(in_group) = self.subscriptions.get(name).and_then(|subscribed| subscribed.in_group()) {
            what(&in_group.seat);
        }
        FrameReply::Ok
    }
}
