//! What holds a group back: the event, its holder, its attempts, its last error, and what to do.

use prom_store::{CursorName, LogName};
use prom_types::{EventId, GroupName, Offset, TopicName};

use crate::dispatch::task::{DispatchReport, DispatchRequest};
use crate::dispatch::{DispatchStatus, Holdup, Limit};
use crate::supervise::TaskName;
use crate::{Bus, Error, Mode, PartitionOwners};

/// The state of a group in a topic, explained.
#[derive(Debug)]
pub struct Why {
    /// The topic.
    pub topic: TopicName,
    /// The group.
    pub group: GroupName,
    /// Dead letters of the topic that are retained, of all its groups.
    pub dead_letters: u64,
    /// Each partition.
    pub partitions: Vec<PartitionWhy>,
    /// Where partitions have owners: who they are.
    pub owners: Option<PartitionOwners>,
}

/// The same for one partition.
#[derive(Debug)]
pub struct PartitionWhy {
    /// The partition.
    pub partition: u32,
    /// The first unsettled offset.
    pub floor: Offset,
    /// What the next event gets.
    pub next: Offset,
    /// Unsettled events.
    pub lag_events: u64,
    /// Raised when dispatching is taken over and when the cursor is moved; 0 before the first time.
    pub epoch: u64,
    /// The event the floor stands at.
    pub event: Option<EventId>,
    /// What its dispatcher knows; none runs without a subscriber.
    pub status: Option<DispatchStatus>,
    /// One line for people.
    pub explanation: String,
}

impl Bus {
    /// Explains what a group is waiting for, partition by partition.
    pub async fn why(&self, topic: &str, group: &str) -> Result<Why, Error> {
        let reading = self.reading(topic, group).await?;
        self.core().not_elsewhere(&reading.group).await?;
        let running = self.core().groups.get(&reading.group);
        let owners = match reading.options.mode {
            Mode::Partitioned => running.desk(reading.topic.name()).owners(),
            Mode::Shared => None,
        };
        let mut partitions = Vec::new();
        for log in reading.topic.logs() {
            let report = running.ask(log, DispatchRequest::Status).await;
            let mut why = self.why_here(log, &reading.group, report).await?;
            if let Some(owners) = owners.as_ref().filter(|_| why.lag_events > 0) {
                why.explanation.push_str(&explain_owner(owners, &why));
            }
            partitions.push(why);
        }
        let dead_letters = self.count_letters(reading.topic.name()).await?;
        Ok(Why { topic: reading.topic.name().clone(), group: reading.group, dead_letters, partitions, owners })
    }

    /// Who owns the partitions of a topic in a group; `None` in shared mode, and before the first
    /// subscriber came here.
    pub async fn partition_owners(&self, topic: &str, group: &str) -> Result<Option<PartitionOwners>, Error> {
        let reading = self.reading(topic, group).await?;
        self.core().not_elsewhere(&reading.group).await?;
        Ok(match reading.options.mode {
            Mode::Partitioned => self.core().groups.get(&reading.group).desk(reading.topic.name()).owners(),
            Mode::Shared => None,
        })
    }

    async fn why_here(
        &self,
        log: &LogName,
        group: &GroupName,
        report: Option<DispatchReport>,
    ) -> Result<PartitionWhy, Error> {
        let cursor = self.cursor_state(log, group).await?;
        let bounds = self.store().bounds(log).await?;
        let floor = report.as_ref().map_or(cursor.floor, |report| report.status.floor).max(bounds.start);
        let event = self.stored_at(log, floor).await?;
        let task = TaskName::dispatcher(&CursorName::new(log.clone(), group.clone()));
        let trouble = self.core().failures.trouble_of(&task);
        let mut explanation = match (&report, &trouble) {
            _ if floor >= bounds.next => "everything is settled".to_owned(),
            (None, None) => "no subscriber; start one for this group".to_owned(),
            (None, Some(_)) => format!("offset {floor} waits for its dispatcher"),
            (Some(report), _) => explain(report),
        };
        if let Some(trouble) = trouble {
            explanation.push_str(&format!("; {trouble}; this is a fault of the hub, its log says more"));
        }
        Ok(PartitionWhy {
            partition: log.partition,
            floor,
            next: bounds.next,
            lag_events: cursor.lag(bounds.start, bounds.next),
            epoch: cursor.epoch,
            event: event.map(|(id, _)| id),
            status: report.map(|report| report.status),
            explanation,
        })
    }
}

/// Which member the oldest event is for.
fn explain_owner(owners: &PartitionOwners, why: &PartitionWhy) -> String {
    let lane = why.status.as_ref().and_then(|status| status.oldest.as_ref()).and_then(|oldest| oldest.lane);
    let number = match (owners.virtual_partitions, lane) {
        (false, _) => why.partition,
        (true, Some(lane)) => lane,
        (true, None) => return String::new(),
    };
    let Some(partition) = owners.partitions.get(number as usize) else {
        return String::new();
    };
    let kind = if owners.virtual_partitions { "virtual partition" } else { "partition" };
    match (&partition.owner, &partition.moving_to) {
        (Some(owner), Some(next)) => {
            format!("; {kind} {number} moves from {owner}, who finishes what it holds, to {next}")
        }
        (Some(owner), None) => format!("; {kind} {number} belongs to {owner} (epoch {})", partition.epoch),
        (None, _) => format!("; {kind} {number} has no owner; start a member"),
    }
}

fn explain(report: &DispatchReport) -> String {
    let status = &report.status;
    let mut text = match &status.oldest {
        Some(oldest) => {
            let holdup = explain_holdup(report, oldest.holdup);
            let mut text = format!("offset {} {holdup}", oldest.offset);
            match oldest.failures.attempts {
                0 => {}
                1 => text.push_str("; 1 failed attempt"),
                many => text.push_str(&format!("; {many} failed attempts")),
            }
            if let Some(reason) = &oldest.failures.reason {
                text.push_str(&format!("; the last time: {reason}"));
            }
            text
        }
        None => "everything is settled".to_owned(),
    };
    match status.limit {
        Some(Limit::RangesAbove) => text.push_str("; too much is settled beyond it, nothing new is read until it is"),
        Some(Limit::Waiting) => text.push_str("; too many events failed, nothing new is handed out until some succeed"),
        Some(Limit::LookAhead) if !status.lanes.is_empty() => {
            text.push_str("; too many events wait for owners that do not take them, or behind blocked keys");
        }
        Some(Limit::LookAhead) => text.push_str("; too many events wait behind blocked keys"),
        Some(Limit::Filter) => text.extend(report.suspension.iter().flat_map(|reason| ["; ", reason])),
        None => {}
    }
    text
}

fn explain_holdup(report: &DispatchReport, holdup: Holdup) -> String {
    let seconds = |until: std::time::Duration| until.saturating_sub(report.now).as_secs_f32();
    match holdup {
        Holdup::NotScanned if report.status.subscribers == report.status.paused_subscribers => {
            "waits for a subscriber that is not paused".to_owned()
        }
        Holdup::NotScanned => "is about to be read".to_owned(),
        Holdup::Ready => "waits for room in a subscriber's window; add subscribers, or ack faster".to_owned(),
        Holdup::Leased { subscriber, deadline, .. } => {
            let named = report.members.iter().find(|(id, _)| *id == subscriber).and_then(|(_, member)| member.clone());
            let holder = named.unwrap_or_else(|| format!("subscriber {subscriber}"));
            format!("is with {holder} for another {:.1} s", seconds(deadline))
        }
        Holdup::Waiting { until } => format!("failed and is tried again in {:.1} s", seconds(until)),
        Holdup::DeadLetterPending => "is being written to the dead letters".to_owned(),
        Holdup::DeadLetterFailing { failed_writes, until } => format!(
            "cannot be written to the dead letters ({failed_writes} tries), next in {:.1} s; look at the store",
            seconds(until)
        ),
    }
}
