//! One leg: a load from its beginning to its end. The warm-up is one, the measurement another.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::consume::Consumed;
use super::live::Live;
use super::meter::{Meter, Problem, Sample};
use super::names::Topics;
use super::pace::Pacer;
use super::payload::Payloads;
use super::plan::{Plan, Reading};
use super::publish::{Published, Publisher, Source};
use super::readers::Readers;
use super::stage::Stage;
use super::stop::Stop;
use crate::exit::Failure;

/// How long readers are waited for when nothing new comes any more. A lease that was lost is lent again sooner.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between two looks at how far readers are. It adds nothing to what is measured.
const LOOK: Duration = Duration::from_millis(5);

pub struct Leg<'a> {
    pub plan: &'a Plan,
    pub stage: &'a Stage,
    pub topics: &'a Topics,
    pub stop: &'a Stop,
    pub meter: Arc<Meter>,
}

/// What a leg came to.
pub struct Measured {
    pub published: Published,
    pub publishing: Duration,
    /// Where somebody read: what they got, in how long, and how many events are missing.
    pub consumed: Option<Consumption>,
    pub samples: Vec<Sample>,
    pub problems: Vec<Problem>,
    pub ending: Ending,
}

/// What all publishers of a leg did.
struct Publishing {
    each: Vec<Published>,
    begun: Instant,
}

pub struct Consumption {
    pub total: Consumed,
    pub elapsed: Duration,
    /// Not known of a run that was ended early.
    pub lost: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Complete,
    Interrupted,
    /// Readers waited in vain for what was stored.
    Stalled,
}

impl<'a> Leg<'a> {
    pub fn new(plan: &'a Plan, stage: &'a Stage, topics: &'a Topics, stop: &'a Stop) -> Self {
        Self { plan, stage, topics, stop, meter: Arc::new(Meter::begin()) }
    }

    pub async fn run(mut self, live: &Live) -> Result<Measured, Failure> {
        let mut samples = Vec::new();
        match self.plan.shape.reading() {
            Reading::Nobody => {
                let published = live.watch(&self.meter.clone(), &mut samples, self.publish()).await?;
                Ok(self.sum_up(&published, None, samples, Ending::Complete))
            }
            Reading::Backlog => {
                live.also("publishing what is to be consumed");
                let published = live.watch(&self.meter.clone(), &mut samples, self.publish()).await?;
                live.also("");
                // Only consuming is measured; what failed before is not forgotten.
                samples.clear();
                let filling = std::mem::replace(&mut self.meter, Arc::new(Meter::begin()));
                let readers = Readers::start(&self).await?;
                let waiting = self.wait_for(&readers, &published);
                let ending = live.watch(&self.meter.clone(), &mut samples, waiting).await;
                let mut measured = self.conclude(&published, readers, samples, ending).await;
                measured.problems.extend(filling.problems());
                Ok(measured)
            }
            Reading::Group | Reading::Everyone => {
                let readers = Readers::start(&self).await?;
                let working = async {
                    let published = self.publish().await?;
                    let ending = self.wait_for(&readers, &published).await;
                    Ok::<_, Failure>((published, ending))
                };
                let (published, ending) = live.watch(&self.meter.clone(), &mut samples, working).await?;
                Ok(self.conclude(&published, readers, samples, ending).await)
            }
        }
    }

    async fn publish(&self) -> Result<Publishing, Failure> {
        let begun = Instant::now();
        let mut running = Vec::new();
        for (number, client) in self.stage.publishers.iter().enumerate() {
            let source = Source {
                publisher: number as u16,
                topics: self.topics.names.clone(),
                payloads: Payloads::new(self.plan.size_bytes),
                next: 0,
            };
            let (client, amount, in_flight) = (client.clone(), self.plan.share(number), self.plan.in_flight);
            let (meter, stop) = (self.meter.clone(), self.stop.clone());
            running.push(match self.plan.rate_per_s {
                None => {
                    let batch = self.plan.publish_batch();
                    let publisher = Publisher { client, source, amount, in_flight, batch, meter, stop };
                    tokio::spawn(async move { Ok(publisher.run().await) })
                }
                Some(rate) => {
                    let between = Duration::from_secs(1).div_f64(rate as f64);
                    let (every, shift) = (between * self.plan.publishers as u32, between * number as u32);
                    tokio::spawn(Pacer { client, source, amount, every, shift, in_flight, meter, stop }.run())
                }
            });
        }
        let mut each = Vec::new();
        for one in running {
            each.push(one.await.map_err(|error| Failure::no(format!("a publisher failed: {error}")))??);
        }
        Ok(Publishing { each, begun })
    }

    /// Until readers have got what was stored, or there is no hope that they will.
    async fn wait_for(&self, readers: &Readers, published: &Publishing) -> Ending {
        let stored: u64 = published.each.iter().map(|one| one.stored).sum();
        let target = match self.plan.shape.reading() {
            Reading::Everyone => stored * self.plan.subscribers as u64,
            _ => stored,
        };
        let mut asked = pin!(self.stop.asked());
        let mut progress = (self.meter.consumed(), Instant::now());
        loop {
            if self.stop.is_asked() {
                return Ending::Interrupted;
            }
            let consumed = self.meter.consumed();
            if consumed >= target {
                return Ending::Complete;
            }
            if consumed > progress.0 {
                progress = (consumed, Instant::now());
            }
            if progress.1.elapsed() > PATIENCE || readers.are_gone() {
                return Ending::Stalled;
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                () = &mut asked => {}
            }
        }
    }

    async fn conclude(
        &self,
        published: &Publishing,
        readers: Readers,
        samples: Vec<Sample>,
        ending: Ending,
    ) -> Measured {
        // Of a backlog everything is there when readers begin; else there is nothing before the first publish.
        let begun = readers.begun.max(published.begun);
        let read = readers.finish().await;
        let lost = (ending != Ending::Interrupted).then(|| read.lost(&published.each));
        let elapsed = read.total.last.map_or(Duration::ZERO, |last| last.saturating_duration_since(begun));
        let consumption = Consumption { elapsed, total: read.total, lost };
        self.sum_up(published, Some(consumption), samples, ending)
    }

    fn sum_up(
        &self,
        published: &Publishing,
        consumed: Option<Consumption>,
        samples: Vec<Sample>,
        ending: Ending,
    ) -> Measured {
        let mut total = Published::new();
        for one in &published.each {
            total.add(one);
        }
        Measured {
            publishing: total.last.map_or(Duration::ZERO, |last| last.duration_since(published.begun)),
            published: total,
            consumed,
            samples,
            problems: self.meter.problems(),
            ending: if self.stop.is_asked() { Ending::Interrupted } else { ending },
        }
    }
}
