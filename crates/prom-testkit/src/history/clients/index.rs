//! The lines by topic, so that each rule finds what it needs.

use std::collections::{BTreeMap, HashMap};

use prom_types::{EpochMs, EventId, Offset};

use super::{Broken, Fault, GroupOrder, HistoryLine, Observation, Promise, SettleAnswer, SettleKind};

/// When something was seen, and on which line; the first line is 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment {
    pub at_us: u64,
    pub line: usize,
}

/// Topic and partition.
pub(super) type LogKey<'a> = (&'a str, u32);
/// Group, log and offset.
pub(super) type GroupEvent<'a> = (&'a str, LogKey<'a>, Offset);

pub(super) struct PublishRecord<'a> {
    pub began: Moment,
    pub receipts: Vec<(Moment, LogKey<'a>, Offset)>,
}

pub(super) struct DeliveryRecord<'a> {
    pub seen: Moment,
    pub client: &'a str,
    pub hub: &'a str,
    pub group: &'a str,
    pub log: LogKey<'a>,
    pub offset: Offset,
    pub id: EventId,
    pub key: Option<&'a str>,
    pub attempt: u32,
    /// The end of its lease, without renewals.
    pub until_us: u64,
    pub settlings: Vec<SettleRecord>,
}

pub(super) struct SettleRecord {
    pub sent: Moment,
    pub verdict: SettleKind,
    pub answer: Option<(Moment, SettleAnswer)>,
}

pub(super) struct Logged<'a> {
    pub line: usize,
    pub offset: Offset,
    pub id: EventId,
    pub key: Option<&'a str>,
    pub stored_ts: EpochMs,
}

pub(super) struct CursorRecord {
    pub seen: Moment,
    pub since_us: u64,
    pub epoch: u64,
    pub floor: Offset,
}

/// From the pause to its end.
pub(super) struct Pause {
    pub from_us: u64,
    pub until_us: u64,
}

#[derive(Default)]
pub(super) struct Index<'a> {
    pub hub_ttl_us: u64,
    pub latency_us: u64,
    pub groups: BTreeMap<&'a str, GroupOrder>,
    pub publishes: HashMap<EventId, PublishRecord<'a>>,
    /// In line order.
    pub deliveries: Vec<DeliveryRecord<'a>>,
    pub by_event: BTreeMap<GroupEvent<'a>, Vec<usize>>,
    pub logs: BTreeMap<LogKey<'a>, Vec<Logged<'a>>>,
    pub cursors: BTreeMap<(&'a str, LogKey<'a>), Vec<CursorRecord>>,
    pub disconnects: HashMap<&'a str, Vec<u64>>,
    pub revocations: HashMap<(&'a str, &'a str, LogKey<'a>), Vec<u64>>,
    pub resubscribed: HashMap<(&'a str, &'a str), Vec<u64>>,
    pub pauses: HashMap<&'a str, Vec<Pause>>,
    pub faults: Vec<(Moment, Fault, &'a str)>,
    by_number: HashMap<u64, usize>,
}

impl<'a> Index<'a> {
    pub fn build(lines: &'a [HistoryLine]) -> Result<Self, Broken> {
        let mut index = Self::default();
        let Some(HistoryLine { seen: Observation::Run { hub_ttl_ms, latency_ms }, .. }) = lines.first() else {
            return Err(Broken::new(Promise::History, [1], "the first line must say how the run was set up"));
        };
        (index.hub_ttl_us, index.latency_us) = (hub_ttl_ms * 1000, latency_ms * 1000);
        let mut last_us = 0;
        for (number, line) in lines.iter().enumerate() {
            let seen = Moment { at_us: line.at_us, line: number + 1 };
            if seen.at_us < last_us {
                return Err(Broken::new(Promise::History, [seen.line - 1, seen.line], "time goes backwards"));
            }
            last_us = seen.at_us;
            index.add(seen, &line.seen)?;
        }
        Ok(index)
    }

    fn add(&mut self, at: Moment, seen: &'a Observation) -> Result<(), Broken> {
        match seen {
            Observation::Run { .. }
            | Observation::PublishFailed { .. }
            | Observation::Connected { .. }
            | Observation::Assigned { .. }
            | Observation::Primary { .. }
            | Observation::Gap { .. } => {}
            Observation::Group { group, order } => {
                self.groups.insert(group, *order);
            }
            Observation::Publishing { id, .. } => {
                self.publishes.entry(*id).or_insert(PublishRecord { began: at, receipts: Vec::new() });
            }
            Observation::Published { id, topic, partition, offset, .. } => {
                let publish = self.publishes.get_mut(id).ok_or_else(|| unheard_of(at, *id))?;
                publish.receipts.push((at, (topic, *partition), *offset));
            }
            Observation::Delivered { .. } => self.add_delivery(at, seen),
            Observation::Settling { delivery, id, verdict } => {
                let settlings = self.settlings(at, *delivery, *id)?;
                settlings.push(SettleRecord { sent: at, verdict: *verdict, answer: None });
            }
            Observation::Settled { delivery, id, verdict, answer, .. } => {
                let settlings = self.settlings(at, *delivery, *id)?;
                let open = |one: &&mut SettleRecord| one.verdict == *verdict && one.answer.is_none();
                let settling = settlings.iter_mut().find(open).ok_or_else(|| unheard_of(at, *id))?;
                settling.answer = Some((at, *answer));
            }
            Observation::Disconnected { client, .. } => self.disconnects.entry(client).or_default().push(at.at_us),
            Observation::Resubscribed { client, group } => {
                self.resubscribed.entry((client, group)).or_default().push(at.at_us);
            }
            Observation::Revoked { client, group, topic, partitions } => {
                for partition in partitions {
                    let place = (client.as_str(), group.as_str(), (topic.as_str(), *partition));
                    self.revocations.entry(place).or_default().push(at.at_us);
                }
            }
            Observation::Fault { fault, target } => self.add_fault(at, *fault, target),
            Observation::Cursor { group, topic, partition, epoch, floor, since_us } => {
                let cursor = CursorRecord { seen: at, since_us: *since_us, epoch: *epoch, floor: *floor };
                self.cursors.entry((group, (topic, *partition))).or_default().push(cursor);
            }
            Observation::Logged { topic, partition, offset, id, key, stored_ts } => {
                let (line, key) = (at.line, key.as_deref());
                let logged = Logged { line, offset: *offset, id: *id, key, stored_ts: *stored_ts };
                self.logs.entry((topic, *partition)).or_default().push(logged);
            }
        }
        Ok(())
    }

    fn add_delivery(&mut self, seen: Moment, delivered: &'a Observation) {
        let Observation::Delivered {
            delivery,
            client,
            hub,
            group,
            topic,
            partition,
            offset,
            id,
            key,
            attempt,
            deadline_ms,
        } = delivered
        else {
            return;
        };
        let (log, position) = ((topic.as_str(), *partition), self.deliveries.len());
        self.by_number.insert(*delivery, position);
        self.by_event.entry((group, log, *offset)).or_default().push(position);
        self.deliveries.push(DeliveryRecord {
            seen,
            client,
            hub,
            group,
            log,
            offset: *offset,
            id: *id,
            key: key.as_deref(),
            attempt: *attempt,
            until_us: seen.at_us + deadline_ms * 1000,
            settlings: Vec::new(),
        });
    }

    fn settlings(&mut self, at: Moment, delivery: u64, id: EventId) -> Result<&mut Vec<SettleRecord>, Broken> {
        let position = self.by_number.get(&delivery).copied().ok_or_else(|| unheard_of(at, id))?;
        Ok(&mut self.deliveries[position].settlings)
    }

    fn add_fault(&mut self, at: Moment, fault: Fault, target: &'a str) {
        let pauses = self.pauses.entry(target).or_default();
        match fault {
            Fault::HubPaused => pauses.push(Pause { from_us: at.at_us, until_us: u64::MAX }),
            Fault::HubResumed => pauses.iter_mut().for_each(|pause| pause.until_us = pause.until_us.min(at.at_us)),
            _ => {}
        }
        self.faults.push((at, fault, target));
    }

    /// The deliveries of one event to one group, in time order.
    pub fn deliveries_of(&self, event: &GroupEvent<'a>) -> impl Iterator<Item = &DeliveryRecord<'a>> {
        let positions = self.by_event.get(event).map(Vec::as_slice).unwrap_or_default();
        positions.iter().map(|&position| &self.deliveries[position])
    }

    /// When the first ack that may have counted was sent.
    pub fn first_ack(&self, event: &GroupEvent<'a>) -> Option<Moment> {
        let counts = |delivery: &&DeliveryRecord<'a>, one: &&SettleRecord| {
            one.verdict == SettleKind::Ack && self.may_count(delivery, one)
        };
        let acks = self.deliveries_of(event).flat_map(|delivery| {
            delivery.settlings.iter().filter(move |one| counts(&delivery, one)).map(|one| one.sent)
        });
        acks.min_by_key(|sent| sent.line)
    }
}

impl SettleRecord {
    /// When the hub agreed, if it did.
    pub fn agreed(&self, verdict: SettleKind) -> Option<Moment> {
        match self.answer {
            Some((at, SettleAnswer::Ok)) if self.verdict == verdict => Some(at),
            _ => None,
        }
    }
}

impl DeliveryRecord<'_> {
    /// In the form that people search for.
    pub fn name(&self) -> String {
        name(self.group, self.log, self.offset, self.id)
    }
}

pub(super) fn name(group: &str, log: LogKey<'_>, offset: Offset, id: EventId) -> String {
    format!("{id} (offset {offset} of {} partition {}) in {group}", log.0, log.1)
}

fn unheard_of(at: Moment, id: EventId) -> Broken {
    Broken::new(Promise::History, [at.line], format!("{id} is answered and nothing was asked"))
}
