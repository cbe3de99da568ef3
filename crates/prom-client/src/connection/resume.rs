//! Where a tail goes on after a lost connection.
//!
//! The hub reads the logs of a tail in turn, in pieces, so they are not equally far. A resumed tail
//! begins at the time of the log that is furthest behind among those that may not have been read to
//! their end, and what was seen before is left out by its place. Promise: nothing comes twice, and
//! nothing is left out of what the tail had begun to read.

use std::collections::HashMap;

use prom_types::{EpochMs, Offset, TopicName};

use crate::StoredEvent;
use crate::limits::{TAIL_OVERLAP_MS, TAIL_PIECE};

#[derive(Default)]
pub(super) struct TailProgress {
    logs: HashMap<(TopicName, u32), Mark>,
    arrivals: u64,
    /// When the last log appeared that was not known before.
    last_new_log: u64,
}

/// The last event of one log.
struct Mark {
    offset: Offset,
    stored_ts: EpochMs,
    arrival: u64,
}

/// What the tail was asked to begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Began {
    /// At the end: a log that brought nothing had nothing to bring.
    AtTheEnd,
    /// With what was there: a log that brought nothing may not have had its turn.
    WithHistory,
}

impl TailProgress {
    /// Notes an event that came. False if it came before.
    pub fn note(&mut self, event: &StoredEvent) -> bool {
        let (offset, stored_ts) = (event.offset(), event.stored_ts());
        self.arrivals += 1;
        let mark = Mark { offset, stored_ts, arrival: self.arrivals };
        match self.logs.get_mut(&(event.topic().clone(), event.partition())) {
            // A smaller offset with a later time is a log that was re-created.
            Some(last) if offset <= last.offset && stored_ts <= last.stored_ts => false,
            Some(last) => {
                *last = mark;
                true
            }
            None => {
                self.last_new_log = self.arrivals;
                self.logs.insert((event.topic().clone(), event.partition()), mark);
                true
            }
        }
    }

    /// The time to go on from; none if it has to begin where it began.
    pub fn resume_at(&self, began: Began) -> Option<EpochMs> {
        if began == Began::WithHistory && self.arrivals - self.last_new_log <= TAIL_PIECE {
            return None;
        }
        let round = TAIL_PIECE * (self.logs.len() as u64 + 1);
        let unfinished = self.logs.values().filter(|mark| self.arrivals - mark.arrival <= round);
        unfinished.map(|mark| mark.stored_ts - TAIL_OVERLAP_MS).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(topic: &str, offset: u64, stored_ts: i64) -> StoredEvent {
        let text = format!(
            r#"{{"id":"01890a5d-ac96-774b-bcce-b302099a8057","ts":1,"stored_ts":{stored_ts},"topic":"{topic}","partition":0,"offset":{offset},"payload":1}}"#
        );
        StoredEvent::read(text.into(), &mut None).unwrap()
    }

    #[test]
    fn it_goes_on_at_the_log_that_is_furthest_behind_and_drops_what_was_seen() {
        let mut progress = TailProgress::default();
        assert_eq!(progress.resume_at(Began::AtTheEnd), None);
        assert!(progress.note(&event("a", 0, 10_000)));
        assert!(progress.note(&event("a", 1, 90_000)));
        assert!(progress.note(&event("b", 0, 50_000)));
        assert_eq!(progress.resume_at(Began::AtTheEnd), Some(8_000 + 40_000));
        assert!(!progress.note(&event("a", 1, 90_000)), "seen before");
        assert!(!progress.note(&event("b", 0, 50_000)), "seen before");
        assert!(progress.note(&event("b", 1, 60_000)));
        assert!(progress.note(&event("c", 0, 55_000)), "a log that was not seen before");
    }

    #[test]
    fn a_quiet_log_does_not_drag_it_back() {
        let mut progress = TailProgress::default();
        progress.note(&event("quiet", 0, 1_000));
        let last = 3 * TAIL_PIECE;
        for offset in 0..=last {
            progress.note(&event("busy", offset, 100_000 + offset as i64));
        }
        assert_eq!(progress.resume_at(Began::AtTheEnd), Some(100_000 + last as i64 - TAIL_OVERLAP_MS));
    }

    #[test]
    fn while_logs_may_not_have_had_their_turn_it_begins_where_it_began() {
        let mut progress = TailProgress::default();
        for offset in 0..TAIL_PIECE {
            progress.note(&event("a", offset, 10_000));
        }
        assert_eq!(progress.resume_at(Began::WithHistory), None);
        progress.note(&event("a", TAIL_PIECE, 10_000));
        progress.note(&event("a", TAIL_PIECE + 1, 10_000));
        assert_eq!(progress.resume_at(Began::WithHistory), Some(8_000));
    }

    #[test]
    fn a_log_that_was_recreated_is_read_from_its_beginning() {
        let mut progress = TailProgress::default();
        progress.note(&event("a", 7, 1_000));
        assert!(progress.note(&event("a", 0, 2_000)));
        assert!(progress.note(&event("a", 1, 2_000)));
    }
}
