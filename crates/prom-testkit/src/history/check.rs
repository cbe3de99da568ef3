//! Judges a history against the contents of the store.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use prom_store::{CursorName, CursorState, LogName};
use prom_types::{EventId, Offset};

use super::{Fact, History, StoreContents, Violation};

/// How much was judged, so that a test can refuse a history that proves nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CrashSummary {
    pub stored: usize,
    pub acked: usize,
    pub failed: usize,
    pub events_found: usize,
    pub letters_found: usize,
}

/// Every promise of the history that the store breaks.
pub fn check(history: &History, found: &StoreContents) -> Result<CrashSummary, Vec<Violation>> {
    let mut judge = Judge { sent: HashMap::new(), places: HashMap::new(), broken: Vec::new() };
    judge.broken.extend(found.damage.iter().map(|it| Violation::Damaged(it.to_string())));
    judge.read_sent(history);
    judge.check_logs(found);
    judge.check_stored(history);
    judge.check_cursors(history, found);
    if judge.broken.is_empty() { Ok(summary(history, found)) } else { Err(judge.broken) }
}

struct Judge<'a> {
    /// Publisher and sequence of everything that was ever begun.
    sent: HashMap<EventId, (u64, u64)>,
    places: HashMap<EventId, (&'a LogName, Offset)>,
    broken: Vec<Violation>,
}

impl<'a> Judge<'a> {
    fn read_sent(&mut self, history: &History) {
        for fact in &history.0 {
            if let Fact::Sent { publisher, sequence, id } = fact {
                // Sent again after a crash: the first one determines its position in the publisher's order.
                self.sent.entry(*id).or_insert((*publisher, *sequence));
            }
        }
    }

    fn check_logs(&mut self, found: &'a StoreContents) {
        for (log, events) in &found.logs {
            let mut expected = found.bounds.get(log).map_or(0, |bounds| bounds.start);
            let mut last_sequence: BTreeMap<u64, u64> = BTreeMap::new();
            for event in events {
                let (id, offset) = (event.id, event.offset);
                if offset < expected {
                    let (log, before) = (log.clone(), expected.saturating_sub(1));
                    self.broken.push(Violation::OutOfOrder { log, before, offset });
                    continue;
                }
                for missing in expected..offset {
                    self.broken.push(Violation::Hole { log: log.clone(), missing });
                }
                expected = offset + 1;
                if let Some((first_log, first)) = self.places.insert(id, (log, offset)) {
                    self.broken.push(Violation::Doubled {
                        id,
                        log: first_log.clone(),
                        first,
                        second_log: log.clone(),
                        second: offset,
                    });
                }
                let Some(&(publisher, sequence)) = self.sent.get(&id) else {
                    let log = log.clone();
                    self.broken.push(Violation::Invented { id, log, offset });
                    continue;
                };
                match last_sequence.insert(publisher, sequence) {
                    Some(before) if before > sequence => self.broken.push(Violation::PublisherReordered {
                        log: log.clone(),
                        offset,
                        publisher,
                        sequence,
                        before,
                    }),
                    _ => {}
                }
            }
            let next = found.bounds.get(log).map_or(expected, |bounds| bounds.next);
            let log = log.clone();
            (expected..next).for_each(|missing| {
                self.broken.push(Violation::Hole { log: log.clone(), missing });
            });
        }
    }

    fn check_stored(&mut self, history: &History) {
        for fact in &history.0 {
            let Fact::Stored { id, log, offset } = fact else {
                continue;
            };
            let (id, log, offset) = (*id, log.clone(), *offset);
            match self.places.get(&id) {
                None => self.broken.push(Violation::Lost { id, log, offset }),
                Some((found_log, found)) if **found_log != log || *found != offset => {
                    self.broken.push(Violation::Moved {
                        id,
                        log,
                        offset,
                        found_log: (*found_log).clone(),
                        found: *found,
                    });
                }
                Some(_) => {}
            }
        }
    }

    fn check_cursors(&mut self, history: &History, found: &StoreContents) {
        let absent = CursorState::default();
        let state_of = |cursor: &CursorName| found.cursors.get(cursor).unwrap_or(&absent);
        let mut begun: BTreeSet<(&CursorName, Offset)> = BTreeSet::new();
        for fact in &history.0 {
            match fact {
                Fact::Settling { cursor, offset } => {
                    begun.insert((cursor, *offset));
                }
                Fact::Acked { cursor, offset } if !state_of(cursor).is_settled(*offset) => {
                    let (cursor, offset) = (cursor.clone(), *offset);
                    self.broken.push(Violation::AckForgotten { cursor, offset });
                }
                Fact::Failed { cursor, offset, attempts } => {
                    self.check_attempts(cursor, state_of(cursor), *offset, *attempts)
                }
                _ => {}
            }
        }
        for (cursor, state) in &found.cursors {
            let Some(events) = found.logs.get(&cursor.log) else {
                continue;
            };
            let asked =
                |offset, id| begun.contains(&(cursor, offset)) || found.letters.contains(&(cursor.group.clone(), id));
            for event in events.iter().filter(|event| state.is_settled(event.offset)) {
                if !asked(event.offset, event.id) {
                    let (cursor, offset) = (cursor.clone(), event.offset);
                    self.broken.push(Violation::SettledUnasked { cursor, offset });
                }
            }
            let next = found.bounds.get(&cursor.log).map_or(0, |bounds| bounds.next);
            let settled_end = state.above.iter().map(|range| range.end).max().unwrap_or(state.floor);
            if settled_end.max(state.floor) > next {
                self.broken.push(Violation::BeyondTheEnd {
                    cursor: cursor.clone(),
                    offset: settled_end.max(state.floor) - 1,
                    next,
                });
            }
        }
    }

    fn check_attempts(&mut self, cursor: &CursorName, state: &CursorState, offset: Offset, recorded: u32) {
        let found = state.failures.get(&offset).map_or(0, |failures| failures.attempts);
        if !state.is_settled(offset) && found < recorded {
            self.broken.push(Violation::AttemptsForgotten { cursor: cursor.clone(), offset, recorded, found });
        }
    }
}

fn summary(history: &History, found: &StoreContents) -> CrashSummary {
    let count = |matches: fn(&Fact) -> bool| history.0.iter().filter(|fact| matches(fact)).count();
    CrashSummary {
        stored: count(|fact| matches!(fact, Fact::Stored { .. })),
        acked: count(|fact| matches!(fact, Fact::Acked { .. })),
        failed: count(|fact| matches!(fact, Fact::Failed { .. })),
        events_found: found.logs.values().map(Vec::len).sum(),
        letters_found: found.letters.len(),
    }
}
