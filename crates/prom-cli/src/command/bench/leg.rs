//! One leg: a load from its beginning to its end. The warm-up is one, the measurement another.

use std::sync::Arc;
use std::time::{Duration, Instant};

use prom_load::client::{publish, publish_paced};
use prom_load::pace::Schedule;
use prom_load::{ConsumeJob, Consumed, LoadFailure, LoadFailures, PublishJob, Published, Sharing};
use tokio::task::JoinSet;

use super::live::{Live, RateSample};
use super::names::LegTopics;
use super::plan::{Amount, Plan, Reading};
use super::readers::Readers;
use super::stage::Stage;
use super::stop::Stop;
use crate::exit::Failure;

/// How long readers are waited for when nothing new comes any more. A lease that was lost is leased again sooner.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between two looks at how far the leg is. It adds nothing to what is measured.
const LOOK: Duration = Duration::from_millis(5);
/// How long answers are waited for when the leg is to end early.
const GRACE: Duration = Duration::from_secs(5);

pub struct Leg<'a> {
    pub plan: &'a Plan,
    pub stage: &'a Stage,
    pub topics: &'a LegTopics,
    stop: &'a Stop,
    published: Arc<PublishJob>,
    pub consumed: Arc<ConsumeJob>,
}

/// The result of a leg.
pub struct Measured {
    pub published: Published,
    /// Events that were refused or not answered.
    pub failed: u64,
    pub publishing: Duration,
    /// What readers got, if there were any.
    pub consumed: Option<Consumption>,
    pub samples: Vec<RateSample>,
    pub failures: Vec<LoadFailure>,
    pub ending: Ending,
}

/// What all publishers of a leg did.
struct PublishTotal {
    total: Published,
    begun: Instant,
}

pub struct Consumption {
    pub total: Consumed,
    pub elapsed: Duration,
    /// Unknown if the run was ended early.
    pub lost: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Complete,
    Interrupted,
    /// Readers waited for what was stored and did not get it.
    Stalled,
}

impl<'a> Leg<'a> {
    pub fn new(plan: &'a Plan, stage: &'a Stage, topics: &'a LegTopics, stop: &'a Stop) -> Self {
        let failures = Arc::<LoadFailures>::default();
        let published = PublishJob::new(plan.size_bytes, topics.names.len(), plan.quota())
            .with_in_flight(plan.in_flight)
            .with_batch(plan.publish_batch())
            .with_failures(failures.clone())
            .timed();
        let sharing = match plan.shape.reading() {
            Reading::Everyone => Sharing::Each,
            Reading::NoReaders | Reading::Backlog | Reading::Group => Sharing::Group,
        };
        // How many will come is not known before they are published: the leg ends it.
        let consumed = ConsumeJob::new(plan.size_bytes, sharing, u64::MAX).with_failures(failures);
        Self { plan, stage, topics, stop, published: Arc::new(published), consumed: Arc::new(consumed) }
    }

    pub async fn run(self, live: &Live) -> Result<Measured, Failure> {
        let (published, consumed) = (|| self.published.acked_so_far(), || self.consumed.fresh_so_far());
        let mut samples = Vec::new();
        match self.plan.shape.reading() {
            Reading::NoReaders => {
                let total = live.watch(|| (published(), 0), &mut samples, self.publish()).await?;
                Ok(self.sum_up(total, None, samples, Ending::Complete))
            }
            Reading::Backlog => {
                live.also("publishing the backlog");
                // Only consuming is measured.
                let total = live.watch(|| (published(), 0), &mut Vec::new(), self.publish()).await?;
                live.also("");
                let readers = Readers::start(&self).await?;
                let ending = live.watch(|| (0, consumed()), &mut samples, self.wait_for(&readers)).await;
                Ok(self.conclude(total, readers, samples, ending).await)
            }
            Reading::Group | Reading::Everyone => {
                let readers = Readers::start(&self).await?;
                let working = async {
                    let total = self.publish().await?;
                    Ok::<_, Failure>((total, self.wait_for(&readers).await))
                };
                let (total, ending) = live.watch(|| (published(), consumed()), &mut samples, working).await?;
                Ok(self.conclude(total, readers, samples, ending).await)
            }
        }
    }

    async fn publish(&self) -> Result<PublishTotal, Failure> {
        let begun = Instant::now();
        let mut running = JoinSet::new();
        let schedule = self.plan.rate_per_s.map(Schedule::per_second);
        let topics: Arc<[_]> = self.topics.names.clone().into();
        for client in &self.stage.publishers {
            let (client, topics, job) = (client.clone(), topics.clone(), self.published.clone());
            match schedule {
                None => running.spawn(async move { publish(&client, &topics, &job).await }),
                Some(schedule) => running.spawn(publish_paced(client, topics, job, schedule)),
            };
        }
        let mut total = Published::default();
        let all = async {
            while let Some(one) = running.join_next().await {
                total.add(&one.map_err(|error| Failure::no(format!("a publisher failed: {error}")))?);
            }
            Ok::<_, Failure>(())
        };
        tokio::select! {
            all = all => all?,
            () = self.end_publishing() => {}
        }
        Ok(PublishTotal { total, begun })
    }

    /// Stops publishing when its time is over, and gives up on answers some time after it has been told to end. Never
    /// ready: publishers end by themselves.
    async fn end_publishing(&self) {
        if let (Amount::Duration(duration), None) = (self.plan.amount, self.plan.rate_per_s) {
            tokio::select! {
                () = tokio::time::sleep(duration) => self.published.stop(),
                () = self.asked_or_hopeless() => {}
            }
        }
        self.asked_or_hopeless().await;
        self.published.stop();
        tokio::time::sleep(GRACE).await;
        self.published.abandon();
        std::future::pending().await
    }

    async fn asked_or_hopeless(&self) {
        while !self.stop.is_asked() && !self.published.failures().is_hopeless() {
            self.look_again().await;
        }
    }

    async fn look_again(&self) {
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            () = self.stop.asked() => {}
        }
    }

    /// Until readers have got what was stored, or there is no hope that they will.
    async fn wait_for(&self, readers: &Readers) -> Ending {
        let stored = self.published.acked_so_far();
        let target = match self.plan.shape.reading() {
            Reading::Everyone => stored * self.plan.subscribers as u64,
            _ => stored,
        };
        let mut progress = (self.consumed.fresh_so_far(), Instant::now());
        loop {
            if self.stop.is_asked() {
                return Ending::Interrupted;
            }
            let consumed = self.consumed.fresh_so_far();
            if consumed >= target {
                return Ending::Complete;
            }
            if consumed > progress.0 {
                progress = (consumed, Instant::now());
            }
            if progress.1.elapsed() > PATIENCE || readers.are_gone() {
                return Ending::Stalled;
            }
            self.look_again().await;
        }
    }

    async fn conclude(
        &self,
        published: PublishTotal,
        readers: Readers,
        samples: Vec<RateSample>,
        ending: Ending,
    ) -> Measured {
        // A backlog is there when readers begin; otherwise there is nothing before the first publish.
        let begun = readers.begun.max(published.begun);
        self.consumed.stop();
        readers.finish().await;
        let total = self.consumed.consumed();
        let lost = (ending != Ending::Interrupted).then(|| self.consumed.lost(&self.published));
        let elapsed = total.last.map_or(Duration::ZERO, |last| last.saturating_duration_since(begun));
        self.sum_up(published, Some(Consumption { total, elapsed, lost }), samples, ending)
    }

    fn sum_up(
        &self,
        published: PublishTotal,
        consumed: Option<Consumption>,
        samples: Vec<RateSample>,
        ending: Ending,
    ) -> Measured {
        let PublishTotal { total, begun } = published;
        Measured {
            publishing: total.last.map_or(Duration::ZERO, |last| last.duration_since(begun)),
            published: total,
            failed: self.published.failed_so_far(),
            consumed,
            samples,
            failures: self.published.failures().list(),
            ending: if self.stop.is_asked() { Ending::Interrupted } else { ending },
        }
    }
}
