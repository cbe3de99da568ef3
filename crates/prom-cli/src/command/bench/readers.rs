//! All readers of a leg: started together, watched together, ended together.

use std::time::{Duration, Instant};

use futures::{StreamExt, TryStreamExt};
use prom_client::{Client, Position};
use prom_load::client::{ConsumeWindow, consume, tail};
use tokio::task::JoinHandle;

use super::leg::Leg;
use super::plan::Reading;
use crate::exit::Failure;
use crate::hub::of_client;

/// Subscribing this many at a time is fast and overwhelms no hub.
const AT_ONCE: usize = 32;
/// If this process is killed, its group goes by itself.
const GROUP_EXPIRES_AFTER: Duration = Duration::from_secs(3600);

pub struct Readers {
    pub begun: Instant,
    running: Vec<JoinHandle<()>>,
}

impl Readers {
    /// Ready when the hub has agreed to all subscriptions.
    pub async fn start(leg: &Leg<'_>) -> Result<Self, Failure> {
        let begun = Instant::now();
        let starting = leg.stage.subscribers.iter().map(|client| start(leg, client));
        let running = futures::stream::iter(starting).buffer_unordered(AT_ONCE).try_collect().await?;
        Ok(Self { begun, running })
    }

    /// None of them can get anything any more.
    pub fn are_gone(&self) -> bool {
        self.running.iter().all(JoinHandle::is_finished)
    }

    /// Waits for all of them. Call it when their job is over.
    pub async fn finish(self) {
        for running in self.running {
            // What one that panicked did not see counts as lost.
            let _panicked = running.await;
        }
    }
}

async fn start(leg: &Leg<'_>, client: &Client) -> Result<JoinHandle<()>, Failure> {
    let (plan, job, pattern) = (leg.plan, leg.consumed.clone(), leg.topics.pattern.as_str());
    if plan.shape.reading() == Reading::Everyone {
        let mut reader = client.tail(pattern).from(Position::Earliest).start().await.map_err(of_client)?;
        return Ok(tokio::spawn(async move { tail(&mut reader, &job).await }));
    }
    let window = ConsumeWindow { in_flight: plan.in_flight, batch: plan.batch };
    let mut subscription = client
        .subscribe(pattern, &leg.topics.group)
        .from(Position::Earliest)
        .expire_after(GROUP_EXPIRES_AFTER)
        .max_in_flight(window.in_flight)
        .batch_size(window.batch)
        .start()
        .await
        .map_err(of_client)?;
    Ok(tokio::spawn(async move { consume(&mut subscription, window, &job).await }))
}
