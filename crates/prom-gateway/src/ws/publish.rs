//! PUBLISH: rights, rates, and into the burst.

use std::time::Duration;

use hashbrown::HashMap;
use prom_protocol::frame::err::Problem;
use prom_protocol::frame::publish::{Publish, PublishBatch};
use prom_protocol::{Corr, ErrorCode};
use prom_types::NewEvent;

use super::burst::{AwaitedAnswer, BurstItem, FrameReply};
use super::connection::Connection;
use crate::problem;
use crate::rates::RetryAfter;
use crate::trace::TracedPublish;

impl Connection {
    pub(super) fn publish(&mut self, corr: Option<Corr>, frame: Publish<'_>) {
        let waiting = match self.gather(frame) {
            Ok(()) => AwaitedAnswer::Publish,
            Err(problem) => AwaitedAnswer::Ready(FrameReply::Err(problem)),
        };
        self.burst.answer(corr, waiting);
    }

    pub(super) fn publish_batch(&mut self, corr: Option<Corr>, frame: PublishBatch<'_>) {
        if frame.atomic {
            return self.publish_atomic(corr, frame);
        }
        let mut items = Vec::with_capacity(frame.events.len());
        for event in frame.events {
            let given = event.as_ref().ok().and_then(|event| event.opts.id);
            let gathered = event.map_err(Problem::from).and_then(|event| self.gather(event));
            items.push(match gathered {
                Ok(()) => BurstItem::Publish { given },
                Err(problem) => BurstItem::Refused(problem),
            });
        }
        self.burst.answer(corr, AwaitedAnswer::Batch(items));
    }

    fn gather(&mut self, frame: Publish<'_>) -> Result<(), Problem> {
        let event = self.check(frame)?;
        self.take_rates_in_order(std::slice::from_ref(&event))?;
        let subject = self.identity.as_ref().and_then(|identity| identity.subject.as_ref());
        let work = self.burst.work.get_or_insert_with(|| self.hub.bus.unit_of_work_for(subject));
        work.publish(&event).map_err(|error| problem::of_bus(&error))?;
        if self.hub.traces.is_some()
            && let Some(traced) = TracedPublish::of(&event, self.hub.clock.now_ms())
        {
            self.burst.traced.push(traced);
        }
        Ok(())
    }

    /// Whether this connection may publish it.
    fn check(&mut self, frame: Publish<'_>) -> Result<NewEvent, Problem> {
        let Some(identity) = &self.identity else {
            return Err(Problem::new(ErrorCode::Unauthorized, "AUTH comes first"));
        };
        let topic = self.topics.for_publish(&frame.topic, &identity.policy)?;
        Ok(frame.into_event(topic))
    }

    /// Takes tokens for these events, unless they would overtake one that was refused.
    fn take_rates_in_order(&mut self, events: &[NewEvent]) -> Result<(), Problem> {
        if self.bucket.is_none() && self.hub.rates.is_unlimited() {
            return Ok(());
        }
        let now = self.hub.clock.monotonic();
        let taken = match (self.refused.overtaken_by(events, now), events) {
            (Some(wait), _) => Err(self.limited(wait, "in this topic, of which an earlier one was refused")),
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
        let committed = self.hub.bus.acting_for(self.subject().map(|subject| &**subject)).publish_batch(events);
        let durability = self.hub.bus.durability();
        let later = async move {
            match committed.await {
                Ok(receipts) => FrameReply::Stored { receipts, given, durability },
                Err(error) => FrameReply::Err(problem::of_bus(&error)),
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
