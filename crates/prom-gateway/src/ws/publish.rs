//! PUBLISH: rights, rates, and into the burst.

use std::time::Duration;

use hashbrown::HashMap;
use prom_engine::{Bus, Error};
use prom_protocol::frame::err::Problem;
use prom_protocol::frame::ok::BatchReceipt;
use prom_protocol::frame::publish::{Publish, PublishBatch};
use prom_protocol::{Corr, ErrorCode};
use prom_types::{EventId, NewEvent};

use super::burst::{AwaitedAnswer, BurstItem, FrameReply};
use super::connection::Connection;
use crate::problem;
use crate::rates::RetryAfter;
use crate::trace::TracedPublish;

impl Connection {
    pub(super) fn publish(&mut self, corr: Option<Corr>, frame: Publish<'_>) {
        let waiting = match self.accept(frame) {
            Ok(event) if self.hub.bus.goes_alone(&event) => self.publish_apart(event),
            accepted => match accepted.and_then(|event| self.gather(&event)) {
                Ok(()) => AwaitedAnswer::Publish,
                Err(problem) => AwaitedAnswer::Ready(FrameReply::Err(problem)),
            },
        };
        self.burst.answer(corr, waiting);
    }

    pub(super) fn publish_batch(&mut self, corr: Option<Corr>, frame: PublishBatch<'_>) {
        if frame.atomic {
            return self.publish_atomic(corr, frame);
        }
        let mut accepted = Vec::with_capacity(frame.events.len());
        for event in frame.events {
            accepted.push(event.map_err(Problem::from).and_then(|event| self.accept(event)));
        }
        if accepted.iter().flatten().any(|event| self.hub.bus.goes_alone(event)) {
            let waiting = self.publish_each_apart(accepted);
            return self.burst.answer(corr, waiting);
        }
        let mut items = Vec::with_capacity(accepted.len());
        for event in accepted {
            let gathered = event.and_then(|event| self.gather(&event).map(|()| event.id));
            items.push(match gathered {
                Ok(given) => BurstItem::Publish { given },
                Err(problem) => BurstItem::Refused(problem),
            });
        }
        self.burst.answer(corr, AwaitedAnswer::Batch(items));
    }

    /// The bus, acting in the client's name: topics that it makes count to it.
    fn bus(&self) -> Bus {
        self.hub.bus.acting_for(self.subject().map(|subject| &**subject))
    }

    /// Rights and rates.
    fn accept(&mut self, frame: Publish<'_>) -> Result<NewEvent, Problem> {
        let event = self.check(frame)?;
        self.take_rates_in_order(std::slice::from_ref(&event))?;
        Ok(event)
    }

    fn gather(&mut self, event: &NewEvent) -> Result<(), Problem> {
        let subject = self.identity.as_ref().and_then(|identity| identity.subject.as_ref());
        let work = self.burst.work.get_or_insert_with(|| self.hub.bus.unit_of_work_for(subject));
        work.publish(event).map_err(|error| problem::of_bus(&error))?;
        if self.hub.traces.is_some()
            && let Some(traced) = TracedPublish::of(event, self.hub.clock.now_ms())
        {
            self.burst.traced.push(traced);
        }
        Ok(())
    }

    /// An event that is judged by its schemas elsewhere or expects something, behind what was gathered before it.
    fn publish_apart(&mut self, event: NewEvent) -> AwaitedAnswer {
        self.burst.commit_gathered();
        let published = self.bus().publish_event(event);
        AwaitedAnswer::Later(Box::pin(async move {
            match published.await {
                Ok(receipt) => FrameReply::Published(Box::new(receipt)),
                Err(error) => FrameReply::Err(problem::of_bus(&error)),
            }
        }))
    }

    fn publish_each_apart(&mut self, accepted: Vec<Result<NewEvent, Problem>>) -> AwaitedAnswer {
        self.burst.commit_gathered();
        let given: Vec<_> =
            accepted.iter().map(|event| event.as_ref().map(|event| event.id).map_err(Problem::clone)).collect();
        let published = self.bus().publish_many(accepted.into_iter().flatten().collect());
        let durability = self.hub.bus.durability();
        AwaitedAnswer::Later(Box::pin(async move {
            let mut published = published.await.into_iter();
            let result = |given: Result<Option<EventId>, Problem>| {
                let given = given?;
                let receipt = published.next().unwrap_or(Err(prom_engine::Error::Closed));
                receipt.map(|receipt| BatchReceipt::of(&receipt, given)).map_err(|error| problem::of_bus(&error))
            };
            FrameReply::Results { results: given.into_iter().map(result).collect(), durability }
        }))
    }

    /// Whether this connection may publish it.
    fn check(&mut self, frame: Publish<'_>) -> Result<NewEvent, Problem> {
        let Some(identity) = &self.identity else {
            return Err(Problem::new(ErrorCode::Unauthorized, "AUTH comes first"));
        };
        let topic = self.topics.for_publish(&frame.topic, &identity.policy)?;
        let event = frame.into_event(topic);
        for copy in self.hub.copies_of(&event).map_err(|error| problem::of_bus(&error))? {
            self.topics.for_publish(&copy, &identity.policy)?;
        }
        Ok(event)
    }

    /// Takes tokens for these events, unless they would overtake one that was refused.
    fn take_rates_in_order(&mut self, events: &[NewEvent]) -> Result<(), Problem> {
        if self.bucket.is_none() && self.hub.rates.is_unlimited() {
            return Ok(());
        }
        let now = self.hub.clock.monotonic();
        let taken = match (self.refused.overtaken_by(events, now), events) {
            (Some(wait), _) => {
                Err(self.limited(wait, "in this topic: an earlier event was refused and must be resent first"))
            }
            (None, [one]) => self.take_rates(&[(&one.topic, 1)]),
            (None, many) => self.take_rates(&counted(many)),
        };
        match &taken {
            Ok(()) => self.refused.passed(events),
            Err(problem) => {
                let wait = RetryAfter(Duration::from_millis(problem.retry_after_ms.unwrap_or(1)));
                self.refused.refused(events, wait, self.resends, now);
            }
        }
        taken
    }

    fn limited(&self, wait: RetryAfter, what: &str) -> Problem {
        self.hub.rates.count_refused();
        Problem::rate_limited(wait.millis(), what)
    }

    /// Takes tokens for this many events per topic: for all of them or for none.
    /// One token for each event; one for a frame that publishes nothing.
    pub(super) fn take_rates(&mut self, topics: &[(&str, usize)]) -> Result<(), Problem> {
        if self.bucket.is_none() && self.hub.rates.is_unlimited() {
            return Ok(());
        }
        let now = self.hub.clock.monotonic();
        let all = topics.iter().map(|(_, count)| count).sum::<usize>().max(1);
        if let Some(bucket) = &mut self.bucket
            && let Err(refused) = bucket.take(all, now)
        {
            return Err(self.limited(refused, "from this connection"));
        }
        let subject = self.identity.as_ref().and_then(|identity| identity.subject.as_deref());
        if let Err(refused) = self.hub.rates.take_all(topics, subject, now) {
            if let Some(bucket) = &mut self.bucket {
                bucket.give_back(all);
            }
            return Err(self.limited(refused, "for this topic or subject"));
        }
        Ok(())
    }

    fn publish_atomic(&mut self, corr: Option<Corr>, frame: PublishBatch<'_>) {
        let mut events = Vec::with_capacity(frame.events.len());
        for (at, event) in frame.events.into_iter().enumerate() {
            match event.map_err(Problem::from).and_then(|event| self.check(event)) {
                Ok(event) => events.push(event),
                Err(mut problem) => {
                    problem.msg = format!("events[{at}]: {}; nothing of the batch is stored", problem.msg);
                    return self.burst.answer(corr, AwaitedAnswer::Ready(FrameReply::Err(problem)));
                }
            }
        }
        if let Err(problem) = self.take_rates_in_order(&events) {
            return self.burst.answer(corr, AwaitedAnswer::Ready(FrameReply::Err(problem)));
        }
        let given: Vec<_> = events.iter().map(|event| event.id).collect();
        self.burst.commit_gathered();
        let committed = self.bus().publish_batch(events);
        let durability = self.hub.bus.durability();
        let later = async move {
            match committed.await {
                Ok(receipts) => FrameReply::Stored { receipts, given, durability },
                Err(error) => {
                    let mut problem = problem::of_bus(&error);
                    if let Error::Unmet { index, .. } = &error {
                        problem.msg = format!("events[{index}]: {}; nothing of the batch is stored", problem.msg);
                    }
                    FrameReply::Err(problem)
                }
            }
        };
        self.burst.answer(corr, AwaitedAnswer::Later(Box::pin(later)));
    }
}

/// How many events each topic has.
fn counted(events: &[NewEvent]) -> Vec<(&str, usize)> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    events.iter().for_each(|event| *counts.entry(&event.topic).or_default() += 1);
    counts.into_iter().collect()
}
