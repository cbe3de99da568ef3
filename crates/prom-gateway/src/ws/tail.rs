//! Subscriptions without a group: events are read when the client has room, and written.

use std::sync::Arc;

use prom_engine::{Error, StoredEvent, Tail};
use prom_protocol::frame::SubscriptionName;
use prom_protocol::frame::event::EventHead;
use tokio::sync::{oneshot, watch};
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::connection::Connection;
use super::deliver::write_gaps;
use super::outbox::{Outbox, frame};
use super::thin::{TOLD_EVERY, Thinning};
use crate::{Hub, problem};

pub struct TailPump {
    outbox: Arc<Outbox>,
    name: SubscriptionName,
    head: EventHead,
    batches: bool,
    tail: Tail,
    /// What is left out, and when the client is told.
    thinning: Option<(Thinning, Interval)>,
    hub: Arc<Hub>,
    paused: watch::Receiver<bool>,
}

/// What a look at the tail gave.
enum NextEvents {
    Came(Vec<StoredEvent>),
    End,
}

impl TailPump {
    pub fn new(
        connection: &Connection,
        name: SubscriptionName,
        tail: Tail,
        thinning: Option<Thinning>,
        paused: watch::Receiver<bool>,
    ) -> Self {
        let thinning = thinning.map(|thinning| {
            let mut ticks = interval(TOLD_EVERY);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            (thinning, ticks)
        });
        Self {
            outbox: connection.outbox.clone(),
            head: EventHead::new(&name),
            batches: connection.batches,
            name,
            tail,
            thinning,
            hub: connection.hub.clone(),
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
            let events = match self.next().await {
                Ok(NextEvents::End) => return,
                Ok(NextEvents::Came(events)) => events,
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

    /// What came, without what is left out.
    async fn next(&mut self) -> Result<NextEvents, Error> {
        let Some((thinning, ticks)) = &mut self.thinning else {
            let events = self.tail.next_batch().await?;
            return Ok(if events.is_empty() { NextEvents::End } else { NextEvents::Came(events) });
        };
        tokio::select! {
            biased;
            _ = ticks.tick() => {
                if let Some(counts) = thinning.report() {
                    self.outbox.put(|out| frame(out, |out| counts.write(out, &self.name)));
                }
                Ok(NextEvents::Came(Vec::new()))
            }
            events = self.tail.next_batch() => match events? {
                events if events.is_empty() => Ok(NextEvents::End),
                events => Ok(NextEvents::Came(thinning.thin(&self.hub, events).await?)),
            },
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
