//! Lines that are published together.

use hashbrown::HashMap;
use prom_auth::Action;
use prom_engine::Bus;
use prom_types::{NewEvent, TopicName};

use super::BrokenOff;
use super::line::ImportLine;
use super::origin::Origins;
use super::report::Report;
use crate::Hub;
use crate::http::caller::Caller;
use crate::http::limits::{IMPORT_BATCH_BYTES, IMPORT_BATCH_EVENTS};
use crate::http::problem::Problem;

#[derive(Default)]
pub(super) struct ImportBatch {
    lines: Vec<(u64, ImportLine)>,
    bytes: usize,
    origins: Origins,
    /// How many each topic has; none while there is no such topic.
    partitions: HashMap<TopicName, u32>,
}

impl ImportBatch {
    pub fn add(&mut self, number: u64, line: ImportLine, bytes: usize) {
        self.lines.push((number, line));
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
        self.origins.forget();
        for (number, ImportLine { event, origin }) in lines {
            match caller.may(Action::Publish, &event.topic) {
                Ok(()) => {
                    if let Some(origin) = origin
                        && self.origins.hold(&hub.bus, &event, origin).await
                    {
                        report.duplicate();
                        continue;
                    }
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
            self.learn_partitions(&hub.bus, topic).await;
        }
        self.fit_partitions(&mut events);
        let results = caller.bus(hub).publish_many(events).await;
        for (number, result) in numbers.into_iter().zip(results) {
            match result {
                Ok(receipt) if receipt.duplicate => report.duplicate(),
                Ok(_) => report.stored(),
                Err(error) => report.bad(number, &error.into()),
            }
        }
        Ok(())
    }

    async fn learn_partitions(&mut self, bus: &Bus, topic: TopicName) {
        if !self.partitions.contains_key(&topic)
            && let Ok(settings) = bus.topic_settings(&topic).await
        {
            self.partitions.insert(topic, settings.partitions);
        }
    }

    /// A partition that the topic does not have here is chosen again, by key or id.
    fn fit_partitions(&self, events: &mut [NewEvent]) {
        for event in events {
            let partitions = self.partitions.get(&event.topic).copied().unwrap_or(0);
            event.partition = event.partition.filter(|&partition| partition < partitions);
        }
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
