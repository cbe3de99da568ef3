//! Consuming in a group: everything is looked at, timed and acked, and counts as consumed when the ack is answered.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use prom_client::{Batch, Error, StoredEvent, Subscription};
use tokio::sync::watch;

use super::latency::Latencies;
use super::meter::Meter;
use super::payload::Payloads;
use super::seen::{Mark, Marker};

/// How long acks are waited for when the leg is over.
const GRACE: Duration = Duration::from_secs(5);
/// Batches whose acks are under way; the window of the subscription is the tighter bound.
const ACKS_UNDER_WAY: usize = 1000;

/// Looks at events, whoever gets them.
pub struct Judge {
    pub payloads: Payloads,
    pub marker: Marker,
    pub meter: Arc<Meter>,
    pub consumed: Consumed,
}

/// What one reader got.
#[derive(Debug, Clone)]
pub struct Consumed {
    /// Everything that came.
    pub deliveries: u64,
    /// Seen for the first time.
    pub fresh: u64,
    /// Seen before.
    pub repeated: u64,
    /// Not what was published.
    pub harmed: u64,
    /// Settled, and the hub said so.
    pub acked: u64,
    /// From when an event was due until it was here.
    pub latencies: Latencies,
    /// The last event that was new, or its ack.
    pub last: Option<Instant>,
}

impl Consumed {
    pub fn new(latencies: Latencies) -> Self {
        Self { deliveries: 0, fresh: 0, repeated: 0, harmed: 0, acked: 0, latencies, last: None }
    }
}

impl Judge {
    /// Events that came together, now.
    pub fn look<'e>(&mut self, events: impl Iterator<Item = &'e StoredEvent>) {
        let now = Instant::now();
        let now_ns = self.meter.nanos(now);
        let fresh_before = self.consumed.fresh;
        for event in events {
            self.consumed.deliveries += 1;
            let Some(label) = self.payloads.read(&event.json().into_bytes()) else {
                self.consumed.harmed += 1;
                continue;
            };
            match self.marker.mark(label) {
                Mark::New => {
                    self.consumed.fresh += 1;
                    self.consumed.latencies.record(Duration::from_nanos(now_ns.saturating_sub(label.due_ns)));
                }
                Mark::Repeated => self.consumed.repeated += 1,
                Mark::Foreign => self.consumed.harmed += 1,
            }
        }
        if self.consumed.fresh > fresh_before {
            self.consumed.last = Some(now);
            self.meter.add_consumed(self.consumed.fresh - fresh_before);
        }
    }
}

/// One connection that consumes.
pub struct Consumer {
    pub subscription: Subscription,
    pub batch: usize,
    pub judge: Judge,
    /// True when there is nothing more to wait for.
    pub over: watch::Receiver<bool>,
}

impl Consumer {
    pub async fn run(mut self) -> Consumed {
        let mut acks = FuturesUnordered::new();
        loop {
            tokio::select! {
                biased;
                Some(answer) = acks.next() => self.acked(answer),
                batch = self.subscription.next_batch(self.batch), if acks.len() < ACKS_UNDER_WAY => match batch {
                    Some(batch) => {
                        self.judge.look(batch.events());
                        acks.push(ack(&batch));
                    }
                    None => break,
                },
                () = wait_for_end(&mut self.over) => break,
            }
        }
        if let Some(error) = self.subscription.failure() {
            self.judge.meter.note(&error, 1);
        }
        let settled = async {
            while let Some(answer) = acks.next().await {
                self.acked(answer);
            }
        };
        // What was not answered in time is not counted as acked.
        drop(tokio::time::timeout(GRACE, settled).await);
        self.judge.consumed
    }

    fn acked(&mut self, (events, answer): (u64, Result<(), Error>)) {
        match answer {
            Ok(()) => {
                self.judge.consumed.acked += events;
                self.judge.consumed.last = Some(Instant::now());
            }
            Err(error) => self.judge.meter.note(&error, events),
        }
    }
}

fn ack(batch: &Batch) -> impl Future<Output = (u64, Result<(), Error>)> + use<> {
    let events = batch.len() as u64;
    batch.ack().map(move |answer| (events, answer))
}

/// Whoever says so being gone means the same.
pub async fn wait_for_end(over: &mut watch::Receiver<bool>) {
    drop(over.wait_for(|over| *over).await);
}
