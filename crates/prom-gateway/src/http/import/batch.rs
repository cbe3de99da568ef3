//! Lines that are published together.

use hashbrown::HashMap;
use prom_auth::Action;
use prom_engine::{Bus, Error, PlacedEvent};
use prom_types::{Invalid, NewEvent, TopicName};

use super::BrokenOff;
use super::line::{ImportLine, PlaceOfOrigin};
use super::origin::Origins;
use super::report::Report;
use crate::Hub;
use crate::http::caller::Caller;
use crate::http::limits::{IMPORT_BATCH_BYTES, IMPORT_BATCH_EVENTS, OFFSETS};
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
        let mut accepted = Vec::with_capacity(lines.len());
        let mut per_topic: HashMap<TopicName, usize> = HashMap::new();
        self.origins.forget();
        for (number, line) in lines {
            match caller.may(Action::Publish, &line.event.topic) {
                Ok(()) => {
                    if let Some(origin) = line.origin
                        && self.origins.hold(&hub.bus, &line.event, origin).await
                    {
                        report.duplicate();
                        continue;
                    }
                    *per_topic.entry(line.event.topic.clone()).or_default() += 1;
                    accepted.push((number, line));
                }
                Err(problem) => report.bad(number, &problem),
            }
        }
        for (topic, count) in per_topic {
            if let Err(problem) = wait_for_rate(hub, caller, &topic, count).await {
                report.not_imported(accepted.len());
                return Err(BrokenOff { line: accepted.first().map_or(0, |(number, _)| *number), problem });
            }
            self.learn_partitions(&hub.bus, topic).await;
        }
        self.store(&caller.bus(hub), caller, accepted, report).await;
        Ok(())
    }

    /// What may keep its place is stored there first; everything else, and what finds its place taken, comes behind.
    async fn store(&self, bus: &Bus, caller: &Caller, lines: Vec<(u64, ImportLine)>, report: &mut Report) {
        let (mut keep, mut behind) = (Vec::new(), Vec::new());
        for (number, line) in lines {
            let may_keep = |origin: &PlaceOfOrigin| {
                origin.offset < OFFSETS && caller.may(Action::Admin, &line.event.topic).is_ok()
            };
            match line.origin.filter(may_keep) {
                Some(origin) => keep.push((number, line.event, origin)),
                None => behind.push((number, line.event, line.origin)),
            }
        }
        let placed = keep.iter().map(|(_, event, origin)| PlacedEvent {
            // Its place tells whether it is there already.
            event: NewEvent { exact: false, partition: Some(origin.partition), ..event.clone() },
            offset: origin.offset,
            stored_ts: origin.stored_ts,
        });
        let results = bus.import(placed.collect()).await;
        for ((number, event, origin), result) in keep.into_iter().zip(results) {
            match result {
                Ok(_) => report.stored(),
                Err(Error::Unmet { .. } | Error::Invalid(Invalid::Partition { .. })) => {
                    behind.push((number, event, Some(origin)));
                }
                Err(error) => report.bad(number, &error.into()),
            }
        }
        behind.sort_by_key(|(number, ..)| *number);
        self.publish_behind(bus, behind, report).await;
    }

    async fn publish_behind(&self, bus: &Bus, lines: Vec<(u64, NewEvent, Option<PlaceOfOrigin>)>, report: &mut Report) {
        let mut events: Vec<NewEvent> = lines.iter().map(|(_, event, _)| event.clone()).collect();
        self.fit_partitions(&mut events);
        let results = bus.publish_many(events).await;
        for ((number, _, origin), result) in lines.into_iter().zip(results) {
            match result {
                Ok(receipt) if receipt.duplicate => report.duplicate(),
                Ok(receipt) => match origin {
                    Some(was) if (was.partition, was.offset) != (receipt.partition, receipt.offset) => {
                        report.stored_elsewhere();
                    }
                    _ => report.stored(),
                },
                Err(error) => report.bad(number, &error.into()),
            }
        }
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
