//! UNSUBSCRIBE: the OK comes when its leases are given back.

use bytes::Bytes;
use prom_protocol::Corr;
use prom_protocol::frame::SubscriptionName;

use super::burst::{AwaitedAnswer, FrameReply};
use super::connection::Connection;
use super::seat::SeatLocation;

impl Connection {
    pub(super) async fn unsubscribe(&mut self, corr: Option<Corr>, name: &SubscriptionName, text: &Bytes) {
        if let Err(problem) = self.subscribed(name) {
            return self.burst.answer(corr, AwaitedAnswer::Ready(FrameReply::Err(problem)));
        }
        let Some(subscribed) = self.subscriptions.remove(name) else {
            return;
        };
        let mut elsewhere = None;
        if let Some(in_group) = subscribed.in_group()
            && let Some(link) = in_group.seat.there()
        {
            // Sent from here: what comes behind this frame must not overtake it.
            elsewhere = Some(link.forward(text.clone()).await);
            in_group.seat.take(SeatLocation::Moving);
        }
        subscribed.end();
        let later = async move {
            let answer = match elsewhere {
                // Even if it is lost on the way, the leases go back.
                Some(answer) => answer.await.unwrap_or(FrameReply::Ok),
                None => FrameReply::Ok,
            };
            // Aborted or ended, it is over.
            drop(subscribed.task.await);
            answer
        };
        self.burst.answer(corr, AwaitedAnswer::Later(Box::pin(later)));
    }
}
