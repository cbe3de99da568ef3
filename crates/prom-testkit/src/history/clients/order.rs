//! The order in which a group gets its events.
//!
//! With order by key, an event comes only after acks were sent for all earlier ones of its key, and an earlier one comes
//! again only if the cursor changed hands. In a partition with an owner, one subscription delivers by offset, except for
//! events that had been delivered before.

use std::collections::HashMap;

use prom_types::Offset;

use super::index::{DeliveryRecord, Index, LogKey};
use super::{Broken, GroupOrder, Promise};

pub(super) fn check(index: &Index<'_>, broken: &mut Vec<Broken>) {
    for (&group, order) in &index.groups {
        match order {
            GroupOrder::None => {}
            GroupOrder::Key => check_keys(index, group, broken),
            GroupOrder::Partition => check_partitions(index, group, broken),
        }
    }
}

/// An event of a key, and the line by which acks for it and all earlier ones had been sent.
struct Link {
    offset: Offset,
    line: usize,
    all_acked: usize,
}

fn check_keys<'a>(index: &Index<'a>, group: &'a str, broken: &mut Vec<Broken>) {
    let mut chains: HashMap<(LogKey<'_>, &str), Vec<Link>> = HashMap::new();
    for (&log, events) in &index.logs {
        for event in events {
            let Some(key) = event.key else { continue };
            let acked = index.first_ack(&(group, log, event.offset)).map_or(usize::MAX, |sent| sent.line);
            let chain = chains.entry((log, key)).or_default();
            let all_acked = chain.last().map_or(0, |before| before.all_acked).max(acked);
            chain.push(Link { offset: event.offset, line: event.line, all_acked });
        }
    }
    let mut furthest: HashMap<(LogKey<'_>, &str), &DeliveryRecord<'_>> = HashMap::new();
    for delivery in index.deliveries.iter().filter(|delivery| delivery.group == group) {
        let Some(key) = delivery.key else { continue };
        let place = (delivery.log, key);
        let chain = chains.get(&place).map(Vec::as_slice).unwrap_or_default();
        let earlier = &chain[..chain.partition_point(|link| link.offset < delivery.offset)];
        let acked = earlier.partition_point(|link| link.all_acked < delivery.seen.line);
        if let Some(open) = earlier.get(acked) {
            let what = format!("{} came while offset {} of key {key:?} was unsettled", delivery.name(), open.offset);
            broken.push(Broken::new(Promise::DeliveryOrder, [delivery.seen.line, open.line], what));
        }
        match furthest.get(&place) {
            Some(later) if later.offset > delivery.offset => {
                if !may_go_back(index, later, delivery) {
                    let what = format!("{} came after offset {} of its key {key:?}", delivery.name(), later.offset);
                    let lines = [later.seen.line, delivery.seen.line];
                    broken.push(Broken::new(Promise::DeliveryOrder, lines, what));
                }
            }
            _ => {
                furthest.insert(place, delivery);
            }
        }
    }
}

/// A new owner of the cursor relies on what was settled durably, and old deliveries may arrive late.
fn may_go_back<'a>(index: &Index<'a>, later: &DeliveryRecord<'a>, earlier: &DeliveryRecord<'a>) -> bool {
    let event = (earlier.group, earlier.log, earlier.offset);
    let first = index.deliveries_of(&event).next().map_or(earlier.seen.at_us, |first| first.seen.at_us);
    index.changed_hands(earlier, first, earlier.seen.at_us) || index.is_late(earlier, later.seen.at_us)
}

fn check_partitions<'a>(index: &Index<'a>, group: &'a str, broken: &mut Vec<Broken>) {
    let mut furthest: HashMap<(&str, usize, LogKey<'_>), &DeliveryRecord<'_>> = HashMap::new();
    for delivery in index.deliveries.iter().filter(|delivery| delivery.group == group) {
        let begins = index.resubscribed.get(&(delivery.client, group)).map(Vec::as_slice).unwrap_or_default();
        let subscription = begins.iter().filter(|at| **at <= delivery.seen.at_us).count();
        let place = (delivery.client, subscription, delivery.log);
        match furthest.get(&place) {
            Some(later) if later.offset > delivery.offset => {
                let event = (group, delivery.log, delivery.offset);
                let came_before = index.deliveries_of(&event).any(|one| one.seen.line < delivery.seen.line);
                if !came_before && delivery.attempt == 1 {
                    let what = format!("{} came after offset {} of its partition", delivery.name(), later.offset);
                    let lines = [later.seen.line, delivery.seen.line];
                    broken.push(Broken::new(Promise::DeliveryOrder, lines, what));
                }
            }
            _ => {
                furthest.insert(place, delivery);
            }
        }
    }
}
