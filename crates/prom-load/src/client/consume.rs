//! Consuming in a group: everything is checked, timed and acked, and counts as settled when the ack is answered.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use prom_client::{Error, Subscription};

use crate::{ConsumeJob, Intake};

/// How long answers to acks are waited for when the job is over.
const GRACE: Duration = Duration::from_secs(5);
/// Batches whose acks are under way, at least.
const FEWEST_ACKS: usize = 8;

/// How much a consumer has at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConsumeWindow {
    /// Events leased to it.
    pub in_flight: usize,
    /// Events taken and acked together at most.
    pub batch: usize,
}

impl ConsumeWindow {
    fn acks_under_way(&self) -> usize {
        (self.in_flight / self.batch.max(1)).max(FEWEST_ACKS)
    }
}

/// Consumes until the job is over or the subscription ends. What is not answered in time is not counted as acked.
pub async fn consume(subscription: &mut Subscription, window: ConsumeWindow, job: &Arc<ConsumeJob>) {
    let mut intake = job.intake();
    let mut acks = FuturesUnordered::new();
    let mut over = pin!(job.over());
    loop {
        tokio::select! {
            biased;
            _ = &mut over => break,
            Some((events, answer)) = acks.next() => answered(&mut intake, job, events, answer),
            batch = subscription.next_batch(window.batch), if acks.len() < window.acks_under_way() => {
                let Some(batch) = batch else { break };
                intake.all_arrived(batch.events().map(|event| event.json().into_bytes()));
                let events = batch.len() as u64;
                acks.push(batch.ack().map(move |answer| (events, answer)));
            }
        }
    }
    if let Some(error) = subscription.failure() {
        job.failures().note(&error, 1);
    }
    let rest = async {
        while let Some((events, answer)) = acks.next().await {
            answered(&mut intake, job, events, answer);
        }
    };
    let _in_time = tokio::time::timeout(GRACE, rest).await;
}

fn answered(intake: &mut Intake, job: &ConsumeJob, events: u64, answer: Result<(), Error>) {
    match answer {
        Ok(()) => intake.settled_now(events),
        Err(error) => job.failures().note(&error, events),
    }
}
