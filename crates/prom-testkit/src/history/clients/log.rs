//! The log against the receipts: every acknowledged event is there once, where it was promised, in order.

use std::collections::HashMap;

use prom_types::{EventId, Offset};

use super::index::{Index, LogKey, Logged, Moment};
use super::{Broken, Promise};

pub(super) fn check(index: &Index<'_>, broken: &mut Vec<Broken>) {
    let mut places: HashMap<EventId, (LogKey<'_>, &Logged<'_>)> = HashMap::new();
    for (&log, events) in &index.logs {
        check_offsets(log, events, broken);
        check_real_time(index, log, events, broken);
        for event in events {
            let at = place(log, event.offset);
            if let Some((first_log, first)) = places.insert(event.id, (log, event)) {
                let what = format!("{} is at {} and at {at}", event.id, place(first_log, first.offset));
                broken.push(Broken::new(Promise::Once, [first.line, event.line], what));
            }
            if !index.publishes.contains_key(&event.id) {
                let what = format!("{} at {at} was never published", event.id);
                broken.push(Broken::new(Promise::Once, [event.line], what));
            }
        }
    }
    check_receipts(index, &places, broken);
    check_deliveries(index, &places, broken);
}

fn check_offsets(log: LogKey<'_>, events: &[Logged<'_>], broken: &mut Vec<Broken>) {
    for (expected, event) in (0..).zip(events) {
        if event.offset != expected {
            let what = format!("{} is at {} where offset {expected} was due", event.id, place(log, event.offset));
            return broken.push(Broken::new(Promise::LogOrder, [event.line], what));
        }
    }
    for pair in events.windows(2).filter(|pair| pair[1].stored_ts < pair[0].stored_ts) {
        let what = format!("{} at {} was stored before its predecessor", pair[1].id, place(log, pair[1].offset));
        broken.push(Broken::new(Promise::LogOrder, [pair[0].line, pair[1].line], what));
    }
}

/// What was acknowledged before another publish began, by any publisher, comes before it.
fn check_real_time(index: &Index<'_>, log: LogKey<'_>, events: &[Logged<'_>], broken: &mut Vec<Broken>) {
    let mut earliest_later: Option<(Moment, &Logged<'_>)> = None;
    for event in events.iter().rev() {
        let Some(publish) = index.publishes.get(&event.id) else { continue };
        if let Some((acknowledged, later)) = earliest_later
            && acknowledged.line < publish.began.line
        {
            let (at, behind) = (place(log, event.offset), place(log, later.offset));
            let what = format!("{} at {at} was published after {} at {behind} was acknowledged", event.id, later.id);
            broken.push(Broken::new(Promise::LogOrder, [acknowledged.line, publish.began.line, event.line], what));
        }
        let receipt = publish.receipts.first().map(|(at, ..)| *at);
        if let Some(receipt) = receipt
            && earliest_later.is_none_or(|(earliest, _)| receipt.line < earliest.line)
        {
            earliest_later = Some((receipt, event));
        }
    }
}

fn check_receipts(index: &Index<'_>, places: &HashMap<EventId, (LogKey<'_>, &Logged<'_>)>, broken: &mut Vec<Broken>) {
    for (id, publish) in &index.publishes {
        for &(receipt, log, offset) in &publish.receipts {
            let promised = place(log, offset);
            match places.get(id) {
                Some((found_log, found)) if *found_log == log && found.offset == offset => {}
                Some((found_log, found)) => {
                    let what =
                        format!("{id} was acknowledged at {promised} and is at {}", place(*found_log, found.offset));
                    broken.push(Broken::new(Promise::Stored, [receipt.line, found.line], what));
                }
                None => {
                    let what = format!("{id} was acknowledged at {promised} and is not there");
                    broken.push(Broken::new(Promise::Stored, [publish.began.line, receipt.line], what));
                }
            }
        }
    }
}

fn check_deliveries(index: &Index<'_>, places: &HashMap<EventId, (LogKey<'_>, &Logged<'_>)>, broken: &mut Vec<Broken>) {
    for delivery in &index.deliveries {
        let is_there = places.get(&delivery.id).is_some_and(|(log, event)| {
            (*log, event.offset, event.key) == (delivery.log, delivery.offset, delivery.key)
        });
        if !is_there {
            let what = format!("{} was delivered and is not in the log there", delivery.name());
            broken.push(Broken::new(Promise::Stored, [delivery.seen.line], what));
        }
    }
}

fn place(log: LogKey<'_>, offset: Offset) -> String {
    format!("offset {offset} of {} partition {}", log.0, log.1)
}
