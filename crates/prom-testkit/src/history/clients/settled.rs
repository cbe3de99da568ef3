//! Everything is delivered to every group and settled in the end, and nothing unacked is settled.

use std::collections::BTreeMap;

use super::index::{CursorRecord, Index, LogKey, Logged, Moment, name};
use super::{Broken, Promise};

pub(super) fn check(index: &Index<'_>, broken: &mut Vec<Broken>) {
    for &group in index.groups.keys() {
        for (&log, events) in &index.logs {
            events.iter().for_each(|event| check_event(index, group, log, event, broken));
            if let Some(cursors) = index.cursors.get(&(group, log)) {
                check_floors(index, group, log, events, cursors, broken);
            }
        }
    }
}

fn check_event<'a>(index: &Index<'a>, group: &'a str, log: LogKey<'a>, event: &Logged<'_>, broken: &mut Vec<Broken>) {
    let key = (group, log, event.offset);
    let seen: Vec<usize> = index.deliveries_of(&key).map(|delivery| delivery.seen.line).collect();
    let what = if seen.is_empty() {
        "was never delivered"
    } else if index.first_ack(&key).is_none() {
        "was delivered, and no ack of it was accepted"
    } else {
        return;
    };
    let lines: Vec<usize> = std::iter::once(event.line).chain(seen).collect();
    broken.push(Broken::new(Promise::Settled, lines, format!("{} {what}", name(group, log, event.offset, event.id))));
}

fn check_floors<'a>(
    index: &Index<'a>,
    group: &'a str,
    log: LogKey<'a>,
    events: &[Logged<'_>],
    cursors: &[CursorRecord],
    broken: &mut Vec<Broken>,
) {
    for pair in cursors.windows(2).filter(|pair| pair[1].floor < pair[0].floor || pair[1].epoch < pair[0].epoch) {
        let what = format!("the cursor of {group} in {} partition {} goes back", log.0, log.1);
        broken.push(Broken::new(Promise::Settled, [pair[0].seen.line, pair[1].seen.line], what));
    }
    let end = events.len() as u64;
    if let Some(last) = cursors.last().filter(|last| last.floor < end) {
        let (at, what) =
            (last.seen.line, format!("{group} has settled {} of {end} in {} partition {}", last.floor, log.0, log.1));
        broken.push(Broken::new(Promise::Settled, [at], what));
    }
    let acks: BTreeMap<u64, Option<Moment>> =
        events.iter().map(|event| (event.offset, index.first_ack(&(group, log, event.offset)))).collect();
    let mut checked = 0;
    for cursor in cursors {
        // What is acked after this line counts only for later ones, so each offset is looked at once.
        for event in events.iter().filter(|event| (checked..cursor.floor).contains(&event.offset)) {
            let asked = acks.get(&event.offset).copied().flatten().is_some_and(|ack| ack.line < cursor.seen.line);
            if !asked {
                let what = format!("{} counts as settled without an ack", name(group, log, event.offset, event.id));
                broken.push(Broken::new(Promise::Settled, [cursor.seen.line, event.line], what));
            }
        }
        checked = checked.max(cursor.floor);
    }
}
