//! All who read in a leg: started together, watched together, ended together.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::{StreamExt, TryStreamExt};
use prom_client::{Client, Position};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::consume::{Consumed, Consumer, Judge};
use super::latency::Latencies;
use super::leg::Leg;
use super::look::Looker;
use super::payload::Payloads;
use super::plan::Reading;
use super::publish::Published;
use super::seen::Seen;
use crate::exit::Failure;
use crate::hub::of_client;

/// Subscribing so many at a time is fast enough and overwhelms nobody.
const AT_ONCE: usize = 32;
/// A group that nobody deletes, because this process was killed, goes by itself.
const GROUP_EXPIRES_AFTER: Duration = Duration::from_secs(3600);

pub struct Readers {
    pub begun: Instant,
    /// One for a group, one for each who gets everything.
    seen: Vec<Arc<Seen>>,
    over: watch::Sender<bool>,
    running: Vec<JoinHandle<Consumed>>,
}

/// What all of them got.
pub struct Read {
    pub total: Consumed,
    seen: Vec<Arc<Seen>>,
}

impl Readers {
    /// Ready when the hub has agreed to all subscriptions.
    pub async fn start(leg: &Leg<'_>) -> Result<Self, Failure> {
        let begun = Instant::now();
        let (over, is_over) = watch::channel(false);
        let shared = Seen::new(leg.plan.publishers);
        let everyone = leg.plan.shape.reading() == Reading::Everyone;
        let starting = leg.stage.subscribers.iter().map(|client| {
            let seen = if everyone { Seen::new(leg.plan.publishers) } else { shared.clone() };
            let is_over = is_over.clone();
            async move { Ok::<_, Failure>((start(leg, client, &seen, is_over).await?, seen)) }
        });
        let started: Vec<_> = futures::stream::iter(starting).buffer_unordered(AT_ONCE).try_collect().await?;
        let (running, mut seen): (Vec<_>, Vec<_>) = started.into_iter().unzip();
        if !everyone {
            seen.truncate(1);
        }
        Ok(Self { begun, seen, over, running })
    }

    /// Nobody is left who could get anything.
    pub fn are_gone(&self) -> bool {
        self.running.iter().all(JoinHandle::is_finished)
    }

    pub async fn finish(self) -> Read {
        self.over.send_replace(true);
        let mut total = Consumed::new(Latencies::new());
        for running in self.running {
            // One that panicked has nothing to tell; what it did not see counts as lost.
            if let Ok(one) = running.await {
                total.deliveries += one.deliveries;
                total.fresh += one.fresh;
                total.repeated += one.repeated;
                total.harmed += one.harmed;
                total.acked += one.acked;
                total.latencies.add(&one.latencies);
                total.last = total.last.max(one.last);
            }
        }
        Read { total, seen: self.seen }
    }
}

impl Read {
    /// Events that were stored and that somebody who should have seen them has not.
    pub fn lost(&self, published: &[Published]) -> u64 {
        let lost_by = |seen: &Seen| -> u64 {
            let lost_of = |(publisher, one): (usize, &Published)| {
                let unseen = (0..one.sent).filter(|number| !seen.is_seen(publisher, *number));
                // Few fail, and in order: whoever fails often is stopped.
                unseen.filter(|number| !one.failed.contains(number)).count() as u64
            };
            published.iter().enumerate().map(lost_of).sum()
        };
        self.seen.iter().map(|seen| lost_by(seen)).sum()
    }
}

async fn start(
    leg: &Leg<'_>,
    client: &Client,
    seen: &Arc<Seen>,
    over: watch::Receiver<bool>,
) -> Result<JoinHandle<Consumed>, Failure> {
    let plan = leg.plan;
    let everyone = plan.shape.reading() == Reading::Everyone;
    let latencies = if everyone { Latencies::coarse() } else { Latencies::new() };
    let judge = Judge {
        payloads: Payloads::new(plan.size_bytes),
        marker: seen.marker(),
        meter: leg.meter.clone(),
        consumed: Consumed::new(latencies),
    };
    let pattern = leg.topics.pattern.as_str();
    if everyone {
        let tail = client.tail(pattern).from(Position::Earliest).start().await.map_err(of_client)?;
        return Ok(tokio::spawn(Looker { tail, judge, over }.run()));
    }
    let subscription = client
        .subscribe(pattern, &leg.topics.group)
        .from(Position::Earliest)
        .expire_after(GROUP_EXPIRES_AFTER)
        .max_in_flight(plan.in_flight)
        .batch_size(plan.batch)
        .start()
        .await
        .map_err(of_client)?;
    Ok(tokio::spawn(Consumer { subscription, batch: plan.batch, judge, over }.run()))
}

#[cfg(test)]
mod tests {
    use super::super::payload::Label;
    use super::*;

    #[test]
    fn what_was_stored_and_seen_by_nobody_is_lost() {
        let seen = Seen::new(2);
        let mut marker = seen.marker();
        for number in [0, 1, 4] {
            marker.mark(Label { publisher: 0, number, due_ns: 0 });
        }
        let read = |seen| Read { total: Consumed::new(Latencies::new()), seen };
        let published =
            [Published { sent: 5, failed: vec![2], ..Published::new() }, Published { sent: 1, ..Published::new() }];
        assert_eq!(read(vec![seen.clone()]).lost(&published), 2, "number 3 of the one, number 0 of the other");
        assert_eq!(read(vec![seen.clone()]).lost(&published[..1]), 1);
        let nothing = Seen::new(2);
        assert_eq!(read(vec![seen, nothing]).lost(&published[..1]), 1 + 4, "everybody should have got everything");
    }
}
