//! Subscriptions without a group: events are read when the client has room, and written.

use std::sync::Arc;

use prom_engine::{StoredEvent, Tail};
use prom_protocol::frame::SubscriptionName;
use prom_protocol::frame::event::EventHead;
use tokio::sync::{oneshot, watch};

use super::connection::Connection;
use super::deliver::write_gaps;
use super::outbox::{Outbox, frame};
use crate::problem;

pub struct TailPump {
    outbox: Arc<Outbox>,
    name: SubscriptionName,
    head: EventHead,
    batches: bool,
    tail: Tail,
    paused: watch::Receiver<bool>,
}

impl TailPump {
    pub fn new(connection: &Connection, name: SubscriptionName, tail: Tail, paused: watch::Receiver<bool>) -> Self {
        Self {
            outbox: connection.outbox.clone(),
            head: EventHead::new(&name),
            batches: connection.batches,
            name,
            tail,
            paused,
        }
    }

    /// Follows until the connection or the bus ends.
    pub async fn run(mut self, begun: oneshot::Receiver<()>) {
        if begun.await.is_err() {
            return;
        }
        loop {
            self.outbox.room().await;
            let events = match self.tail.next_batch().await {
                Ok(events) if events.is_empty() => return,
                Ok(events) => events,
                Err(error) => {
                    let problem = problem::of_bus(&error);
                    self.outbox.put(|out| frame(out, |out| problem.write_for(out, &self.name)));
                    return;
                }
            };
            let gaps = self.tail.take_gaps();
            self.outbox.put(|out| write_gaps(out, &self.name, gaps));
            for some in events.chunks(if self.batches { 256 } else { 32 }) {
                self.outbox.room().await;
                // Asked here and not before the read: it may be paused while there is nothing to read.
                if self.paused.wait_for(|paused| !*paused).await.is_err() {
                    return;
                }
                self.outbox.put(|out| self.write(out, some));
            }
        }
    }

    fn write(&self, out: &mut Vec<u8>, events: &[StoredEvent]) {
        if self.batches && events.len() > 1 {
            return frame(out, |out| {
                let mut many = self.head.begin_many(out);
                events.iter().for_each(|event| many.event(None, |out| event.write_json(out)));
                many.end();
            });
        }
        for event in events {
            frame(out, |out| self.head.write(out, None, |out| event.write_json(out)));
        }
    }
}
