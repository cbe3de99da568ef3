//! UNSUBSCRIBE: the OK comes when its leases are given back.

use prom_protocol::Corr;
use prom_protocol::frame::SubscriptionName;

use super::burst::{Reply, Waiting};
use super::connection::Connection;

impl Connection {
    pub(super) fn unsubscribe(&mut self, corr: Option<Corr>, name: &SubscriptionName) {
        if let Err(problem) = self.subscribed(name) {
            return self.burst.answer(corr, Waiting::Ready(Reply::Err(problem)));
        }
        let Some(subscribed) = self.subscriptions.remove(name) else {
            return;
        };
        subscribed.end();
        let later = async move {
            // Aborted or ended, it is over.
            drop(subscribed.task.await);
            Reply::Ok
        };
        self.burst.answer(corr, Waiting::Later(Box::pin(later)));
    }
}
