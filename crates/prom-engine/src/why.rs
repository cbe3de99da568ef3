//! What holds a group back: the event, its holder, its attempts, its last error, and what to do.

use std::time::Duration;

use prom_store::{CursorName, Failures, LogName, ReadLimit, Record};
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
    /// The key of that event.
    pub key: Option<String>,
    /// The events that were held the longest, longest first; ten at most.
    pub held: Vec<HeldLease>,
    /// How many of its keys are parked.
    pub parked_keys: u64,
    /// One line for people.
    pub explanation: String,
    /// What can be done about it.
    pub actions: Vec<WhyAction>,
}

/// An event that a member holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldLease {
    /// Where it is.
    pub offset: Offset,
    /// Its id, if it is still there.
    pub id: Option<EventId>,
    /// Its key.
    pub key: Option<String>,
    /// Who holds it.
    pub member: String,
    /// Whose token the holder came with.
    pub subject: Option<String>,
    /// Where the holder comes from.
    pub address: Option<String>,
    /// How long it has been held.
    pub held_for: Duration,
    /// How often the holder asked for more time. One that works does so again and again; one that is stuck does not.
    pub renewals: u32,
    /// How long the lease still runs, unless it is renewed.
    pub expires_in: Duration,
    /// Its failed attempts before, its returns, and the last reason.
    pub failures: Failures,
}

/// Something that an operator can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WhyAction {
    /// What it brings.
    pub what: &'static str,
    /// The command to type.
    pub command: String,
}

/// What stands for a reason that may quote what is hidden.
const MASKED: &str = "[masked]";

impl Why {
    /// As it is told to those who do not see the topic's events whole: reasons may quote them.
    pub fn without_reasons(mut self) -> Self {
        for partition in &mut self.partitions {
            let oldest = partition.status.as_mut().and_then(|status| status.oldest.as_mut());
            if let Some(reason) = oldest.and_then(|oldest| oldest.failures.reason.as_mut()) {
                partition.explanation = partition.explanation.replace(&last_error(reason), &last_error(MASKED));
                *reason = MASKED.into();
            }
            let held = partition.held.iter_mut().filter_map(|held| held.failures.reason.as_mut());
            held.for_each(|reason| *reason = MASKED.into());
        }
        self
    }
}

fn last_error(reason: &str) -> String {
    format!("; last error: {reason}")
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
        let event = self.record_at(log, floor).await?;
        let held = self.held_in(log, report.as_ref()).await?;
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
        let parked_keys = self.count_parked(log, group).await?;
        explanation.push_str(&explain_parked(parked_keys, report.as_ref()));
        let mut actions = if floor < bounds.next { actions(log, group, floor, &held) } else { Vec::new() };
        if parked_keys > 0 {
            let what = "see which keys are parked, behind what, and why";
            actions.push(WhyAction { what, command: format!("prom groups show {group}") });
        }
        Ok(PartitionWhy {
            partition: log.partition,
            parked_keys,
            floor,
            next: bounds.next,
            lag_events: cursor.lag(bounds.start, bounds.next),
            epoch: cursor.epoch,
            event: event.as_ref().map(|record| record.id()),
            key: event.as_ref().and_then(|record| record.key().map(str::to_owned)),
            actions,
            held,
            status: report.map(|report| report.status),
            explanation,
        })
    }

    async fn held_in(&self, log: &LogName, report: Option<&DispatchReport>) -> Result<Vec<HeldLease>, Error> {
        let Some(report) = report else {
            return Ok(Vec::new());
        };
        let mut leases = Vec::with_capacity(report.status.held.len());
        for held in &report.status.held {
            let record = self.record_at(log, held.offset).await?;
            let holder = report.members.iter().find(|holder| holder.id == held.subscriber);
            leases.push(HeldLease {
                offset: held.offset,
                id: record.as_ref().map(|record| record.id()),
                key: record.as_ref().and_then(|record| record.key().map(str::to_owned)),
                member: holder.map_or_else(|| format!("subscriber-{}", held.subscriber), |one| one.member.clone()),
                subject: holder.and_then(|holder| holder.subject.clone()),
                address: holder.and_then(|holder| holder.address.clone()),
                held_for: report.now.saturating_sub(held.since),
                renewals: held.renewals,
                expires_in: held.deadline.saturating_sub(report.now),
                failures: held.failures.clone(),
            });
        }
        Ok(leases)
    }

    async fn record_at(&self, log: &LogName, offset: Offset) -> Result<Option<Record>, Error> {
        let one = ReadLimit { events: 1, ..ReadLimit::default() };
        let batch = self.store().read(log, offset, one).await?;
        Ok(batch.records.into_iter().next().filter(|record| record.offset() == offset))
    }
}

/// The commands that help, those that lose nothing first.
fn actions(log: &LogName, group: &GroupName, floor: Offset, held: &[HeldLease]) -> Vec<WhyAction> {
    let LogName { topic, partition } = log;
    let of_partition = if *partition == 0 { String::new() } else { format!(" --partition {partition}") };
    let mut actions = Vec::new();
    let mut add = |what, command| actions.push(WhyAction { what, command });
    if let Some(first) = held.iter().find(|held| held.offset == floor).or(held.first()) {
        let command = format!("prom groups release {topic} {group} {}{of_partition}", first.offset);
        add("take the event back and redeliver it; no attempt is counted", command);
        let command = format!("prom groups kick {group} {}", quoted(&first.member));
        add("end its holder's subscription; everything it holds goes to others", command);
    }
    add("list the members of the group", format!("prom groups show {group}"));
    let command = format!("prom skip {topic} {group} {floor}{of_partition}");
    add("skip the event for this group; it is settled without being handled", command);
    actions
}

/// As a shell takes it for one word.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.:@/~+=".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    let shown: String = word.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    format!("'{}'", shown.replace('\'', "'\\''"))
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
            format!("; {kind} {number} moves from {owner}, which finishes the events it holds, to {next}")
        }
        (Some(owner), None) => format!("; {kind} {number} belongs to {owner} (epoch {})", partition.epoch),
        (None, _) => format!("; {kind} {number} has no owner; start a member"),
    }
}

/// Keys that stopped, while the floor goes on.
fn explain_parked(parked_keys: u64, report: Option<&DispatchReport>) -> String {
    let mut text = match parked_keys {
        0 => String::new(),
        1 => "; 1 key is parked".to_owned(),
        many => format!("; {many} keys are parked"),
    };
    if parked_keys > 0 {
        text.push_str(" and waits until its letters are given back or dropped");
    }
    match report.map_or(0, |report| report.status.given) {
        0 => {}
        1 => text.push_str("; 1 event that was given back is being redelivered"),
        many => text.push_str(&format!("; {many} events that were given back are being redelivered")),
    }
    text
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
                text.push_str(&last_error(reason));
            }
            text
        }
        None => "everything is settled".to_owned(),
    };
    match status.limit {
        Some(Limit::RangesAbove) => text.push_str("; too many events beyond it are settled, so nothing new is read until it is settled too"),
        Some(Limit::Waiting) => text.push_str("; too many events failed, so nothing new is delivered until some succeed"),
        Some(Limit::LookAhead) if !status.lanes.is_empty() => {
            text.push_str("; too many events wait for owners that do not read them, or behind blocked keys");
        }
        Some(Limit::LookAhead) => text.push_str("; too many events wait behind blocked keys"),
        Some(Limit::ParkedKeys) => text.push_str(
            "; the maximum number of keys is parked, so failing events of other keys wait; give letters back or drop them",
        ),
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
        Holdup::Leased { subscriber, deadline, since, renewals, .. } => {
            let named = report.members.iter().find(|holder| holder.id == subscriber);
            let holder = named.map_or_else(|| format!("subscriber {subscriber}"), |holder| holder.member.clone());
            let held = report.now.saturating_sub(since).as_secs_f32();
            let renewed = match renewals {
                0 => "its lease was never renewed".to_owned(),
                1 => "its lease was renewed once".to_owned(),
                many => format!("its lease was renewed {many} times"),
            };
            format!("is with {holder} for {held:.1} s, {renewed}, and runs for another {:.1} s", seconds(deadline))
        }
        Holdup::Waiting { until } => format!("failed and will be retried in {:.1} s", seconds(until)),
        Holdup::DeadLetterPending => "is being written to the dead letters".to_owned(),
        Holdup::WithoutRoomToPark => "failed for good, but too many keys are parked already".to_owned(),
        Holdup::DeadLetterFailing { failed_writes, until } => format!(
            "cannot be written to the dead letters ({failed_writes} tries), next try in {:.1} s; check the store",
            seconds(until)
        ),
    }
}
