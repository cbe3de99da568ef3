//! What explains a second delivery of an event.

use super::index::{DeliveryRecord, Index, Pause, SettleRecord};
use super::{Fault, SettleAnswer, SettleKind};

/// Why the lease of an earlier delivery may have ended, or why the later delivery is an old one that arrived late.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Explanation {
    Nacked,
    Expired,
    /// The client lost its connection.
    Disconnected,
    /// The partition was revoked from the client.
    Revoked,
    /// Another hub took over, or the same one again.
    NewEpoch,
    /// The client's hub was stopped.
    HubStopped,
    /// It was in transit while a process was stopped, or came from a hub that did not know yet that it was replaced.
    Late,
}

impl<'a> Index<'a> {
    /// Why `second` is allowed although `first` was delivered and not acked.
    pub fn why_again(&self, first: &DeliveryRecord<'a>, second: &DeliveryRecord<'a>) -> Option<Explanation> {
        let (from, until) = (first.seen.at_us.saturating_sub(self.latency_us), second.seen.at_us);
        let about = from..=until + self.latency_us;
        if self.is_nacked(first, second) {
            return Some(Explanation::Nacked);
        }
        if first.until_us <= until + self.latency_us {
            return Some(Explanation::Expired);
        }
        if any_in(self.disconnects.get(first.client), &about) {
            return Some(Explanation::Disconnected);
        }
        if any_in(self.revocations.get(&(first.client, first.group, first.log)), &about) {
            return Some(Explanation::Revoked);
        }
        if self.changes(first).any(|(since_us, at_us)| since_us <= until && at_us >= from) {
            return Some(Explanation::NewEpoch);
        }
        if self.pauses_of(first.hub).any(|pause| pause.from_us <= until && self.awake_us(pause) >= first.seen.at_us) {
            return Some(Explanation::HubStopped);
        }
        self.is_late(second, first.seen.at_us).then_some(Explanation::Late)
    }

    /// A client's nack names the event, not the lease: a nack for an earlier lease ends the current one.
    fn is_nacked(&self, first: &DeliveryRecord<'a>, second: &DeliveryRecord<'a>) -> bool {
        let between = first.seen.line..second.seen.line;
        let event = (first.group, first.log, first.offset);
        let own = self.deliveries_of(&event).filter(|delivery| delivery.client == first.client);
        own.flat_map(|delivery| &delivery.settlings)
            .any(|one| one.verdict == SettleKind::Nack && between.contains(&one.sent.line))
    }

    /// Whether a delivery may have begun before something seen at `reference_us`, although it arrived after it.
    pub fn is_late(&self, delivery: &DeliveryRecord<'a>, reference_us: u64) -> bool {
        let came = delivery.seen.at_us;
        let held_up = |pause: &Pause| {
            (pause.from_us..=self.awake_us(pause)).contains(&came)
                && reference_us >= pause.from_us.saturating_sub(self.latency_us)
        };
        if self.pauses_of(delivery.hub).any(held_up) {
            return true;
        }
        // Its connection was gone, and the hub did not know yet.
        let about = came.saturating_sub(self.latency_us)..=came + self.latency_us;
        if reference_us + self.latency_us >= came && any_in(self.disconnects.get(delivery.client), &about) {
            return true;
        }
        self.changes(delivery).any(|(since_us, at_us)| {
            let during = |pause: &&Pause| pause.from_us <= at_us && pause.until_us >= since_us;
            let woke = self.pauses.values().flatten().filter(during).map(|pause| pause.until_us).max();
            let known_us = woke.unwrap_or(0).max(at_us).saturating_add(self.hub_ttl_us);
            since_us <= reference_us && (since_us..=known_us).contains(&came)
        })
    }

    /// Whether a settlement may have taken effect. A refusal means that it did not, unless the hub that knew was killed,
    /// stopped or replaced meanwhile, or its write was in progress when a server was killed: then the refusal came from a
    /// process that could not know.
    pub fn may_count(&self, delivery: &DeliveryRecord<'a>, settling: &SettleRecord) -> bool {
        let Some((answered, SettleAnswer::Refused)) = settling.answer else { return true };
        let from_us = settling.sent.at_us.saturating_sub(self.latency_us);
        let until_us = answered.at_us + self.latency_us;
        let overlaps = |pause: &Pause| pause.from_us <= until_us && self.awake_us(pause) >= from_us;
        let is_kill = |fault: Fault| matches!(fault, Fault::HubKilled | Fault::PrimaryKilled);
        let mut kills = self.faults.iter().filter(|(_, fault, _)| is_kill(*fault));
        self.changed_hands(delivery, from_us, until_us + 2 * self.hub_ttl_us)
            || kills.any(|(at, ..)| (from_us..=until_us).contains(&at.at_us))
            || self.pauses.values().flatten().any(overlaps)
    }

    /// Whether the group's cursor may have changed hands between these times.
    pub fn changed_hands(&self, delivery: &DeliveryRecord<'a>, from_us: u64, until_us: u64) -> bool {
        self.changes(delivery).any(|(since_us, at_us)| since_us <= until_us && at_us >= from_us)
    }

    /// The earliest time of a change that certainly happened after one time and before the other.
    pub fn changed_between(&self, delivery: &DeliveryRecord<'a>, after_us: u64, before_us: u64) -> Option<u64> {
        let mut changes = self.changes(delivery);
        changes.find(|(since_us, at_us)| *since_us > after_us && *at_us < before_us).map(|(since_us, _)| since_us)
    }

    pub fn is_disconnected(&self, client: &str, from_us: u64, until_us: u64) -> bool {
        any_in(self.disconnects.get(client), &(from_us..=until_us))
    }

    /// For each raise of the cursor's epoch: the interval in which it may have happened.
    fn changes(&self, delivery: &DeliveryRecord<'a>) -> impl Iterator<Item = (u64, u64)> {
        let seen = self.cursors.get(&(delivery.group, delivery.log)).map(Vec::as_slice).unwrap_or_default();
        let raised = seen.windows(2).filter(|pair| pair[0].epoch != pair[1].epoch);
        raised.map(|pair| (pair[1].since_us, pair[1].seen.at_us))
    }

    fn pauses_of(&self, hub: &str) -> impl Iterator<Item = &Pause> {
        self.pauses.get(hub).into_iter().flatten()
    }

    /// When everything that a stopped hub still held has come through.
    fn awake_us(&self, pause: &Pause) -> u64 {
        pause.until_us.saturating_add(self.latency_us)
    }
}

fn any_in(times: Option<&Vec<u64>>, range: &std::ops::RangeInclusive<u64>) -> bool {
    times.is_some_and(|times| times.iter().any(|time| range.contains(time)))
}
