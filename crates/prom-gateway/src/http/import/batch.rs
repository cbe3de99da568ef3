//! Lines that are published together.

use hashbrown::HashMap;
use prom_auth::Action;
use prom_engine::Bus;
use prom_types::{NewEvent, Offset, Receipt, TopicName};

use super::BrokenOff;
use super::report::Report;
use crate::Hub;
use crate::http::caller::Caller;
use crate::http::limits::{IMPORT_BATCH_BYTES, IMPORT_BATCH_EVENTS};
use crate::http::problem::Problem;

#[derive(Default)]
pub(super) struct ImportBatch {
    lines: Vec<(u64, NewEvent)>,
    bytes: usize,
    ends: HashMap<TopicName, Ends>,
}

/// Where each partition of a topic ended before, and from then on where our own events end. Whatever
/// gets an offset before that was there already.
#[derive(Default)]
struct Ends {
    /// Whether the topic was there when we looked; then this has an entry for each of its partitions.
    known: bool,
    next: Vec<Offset>,
}

impl ImportBatch {
    pub fn add(&mut self, number: u64, event: NewEvent, bytes: usize) {
        self.lines.push((number, event));
        self.bytes += bytes;
    }

    pub fn is_full(&self) -> bool {
        self.lines.len() >= IMPORT_BATCH_EVENTS || self.bytes >= IMPORT_BATCH_BYTES
    }

    /// Publishes what was gathered and tells the report; afterwards it is empty. Breaks off when the
    /// caller's token has expired; nothing of the batch is stored then.
    pub async fn publish(&mut self, hub: &Hub, caller: &Caller, report: &mut Report) -> Result<(), BrokenOff> {
        self.bytes = 0;
        let lines = std::mem::take(&mut self.lines);
        let (mut numbers, mut events) = (Vec::with_capacity(lines.len()), Vec::with_capacity(lines.len()));
        let mut per_topic: HashMap<TopicName, usize> = HashMap::new();
        for (number, event) in lines {
            match caller.may(Action::Publish, &event.topic) {
                Ok(()) => {
                    *per_topic.entry(event.topic.clone()).or_default() += 1;
                    numbers.push(number);
                    events.push(event);
                }
                Err(problem) => report.bad(number, &problem),
            }
        }
        for (topic, count) in per_topic {
            if let Err(problem) = wait_for_rate(hub, caller, &topic, count).await {
                report.not_imported(numbers.len());
                return Err(BrokenOff { line: numbers.first().copied().unwrap_or_default(), problem });
            }
            self.learn_ends(&hub.bus, topic).await;
        }
        self.fit_partitions(&mut events);
        let topics: Vec<TopicName> = events.iter().map(|event| event.topic.clone()).collect();
        let results = hub.bus.publish_many(events).await;
        for ((number, topic), result) in numbers.into_iter().zip(topics).zip(results) {
            match result {
                Ok(receipt) if self.is_new(&topic, &receipt) => report.stored(),
                Ok(_) => report.duplicate(),
                Err(error) => report.bad(number, &error.into()),
            }
        }
        Ok(())
    }

    /// A topic that is not there yet ends at 0 everywhere.
    async fn learn_ends(&mut self, bus: &Bus, topic: TopicName) {
        if self.ends.get(&topic).is_some_and(|ends| ends.known) {
            return;
        }
        let partitions = bus.topic_settings(&topic).await.map_or(0, |settings| settings.partitions as usize);
        // A store that cannot say will refuse the events too, and that is told.
        let bounds = bus.bounds(&topic).await.unwrap_or_default();
        let ends = self.ends.entry(topic).or_default();
        ends.known = partitions > 0;
        ends.next.resize(partitions, 0);
        for (next, bounds) in ends.next.iter_mut().zip(bounds) {
            *next = bounds.next.max(*next);
        }
    }

    /// A partition that the topic does not have here is chosen again, by key or id.
    fn fit_partitions(&self, events: &mut [NewEvent]) {
        for event in events {
            let partitions = self.ends.get(&event.topic).map_or(0, |ends| ends.next.len());
            event.partition = event.partition.filter(|&partition| (partition as usize) < partitions);
        }
    }

    fn is_new(&mut self, topic: &TopicName, receipt: &Receipt) -> bool {
        let ends = self.ends.entry(topic.clone()).or_default();
        let at = receipt.partition as usize;
        if ends.next.len() <= at {
            ends.next.resize(at + 1, 0);
        }
        let new = receipt.offset >= ends.next[at];
        ends.next[at] = ends.next[at].max(receipt.offset + 1);
        new
    }
}

/// An import has no hurry: it waits until its turn, for as long as its token holds.
async fn wait_for_rate(hub: &Hub, caller: &Caller, topic: &TopicName, count: usize) -> Result<(), Problem> {
    loop {
        caller.is_still_let_in(hub)?;
        match caller.take_rate(hub, topic, count) {
            Ok(()) => return Ok(()),
            Err(wait) => tokio::time::sleep(wait.0).await,
        }
    }
}
