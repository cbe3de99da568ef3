//! Dead letters of this dispatcher: each becomes durable together with the settlement of its event.
//! If that fails the event stays and is tried again.

use std::collections::VecDeque;
use std::ops::Range;

use prom_store::{CommitError, CursorChange, Record};
use prom_types::{Offset, TopicName};

use super::scan::ReadBack;
use super::{DispatchTask, End};
use crate::Error;
use crate::commit::{Durable, NotCommitted, PendingUnit};
use crate::dead_letter::{self, Letter};
use crate::dispatch::{Dead, LeaseId, Leased, LetterFate, SubscriberId};
use crate::limits::LETTERS_AT_ONCE;

#[derive(Default)]
pub(super) struct Letters {
    dead: VecDeque<Dead>,
    condemned: VecDeque<Condemned>,
    under_way: Option<UnderWay>,
}

/// An event whose filter failed, held under a lease until its letter is written.
struct Condemned {
    subscriber: SubscriberId,
    leased: Leased,
    record: Record,
    reason: String,
}

struct UnderWay {
    commit: PendingUnit,
    topic: TopicName,
    events: Vec<(Offset, Cause, LetterFate)>,
}

/// Why an event goes to the dead letters: what to tell the machine afterwards depends on it.
enum Cause {
    AttemptLimit,
    Filter { subscriber: SubscriberId, lease: LeaseId, reason: String },
}

impl Letters {
    pub fn condemn(&mut self, subscriber: SubscriberId, leased: Leased, record: Record, reason: String) {
        self.condemned.push_back(Condemned { subscriber, leased, record, reason });
    }

    /// Ready when the commit under way is; never while there is none. Can be dropped and called again.
    pub async fn done(&mut self) -> Result<Durable, NotCommitted> {
        match &mut self.under_way {
            Some(under_way) => (&mut under_way.commit).await,
            None => std::future::pending().await,
        }
    }

    pub fn is_under_way(&self) -> bool {
        self.under_way.is_some()
    }

    pub fn is_idle(&self) -> bool {
        self.under_way.is_none() && self.dead.is_empty() && self.condemned.is_empty()
    }

    /// Of events that are settled by now; which they were.
    fn forget(&mut self, settled: &Range<Offset>) -> Vec<Offset> {
        let (mut dead, mut condemned) = (VecDeque::new(), VecDeque::new());
        std::mem::swap(&mut self.dead, &mut dead);
        std::mem::swap(&mut self.condemned, &mut condemned);
        let mut forgotten = Vec::new();
        for dead in dead {
            if settled.contains(&dead.offset) { forgotten.push(dead.offset) } else { self.dead.push_back(dead) }
        }
        for condemned in condemned {
            let offset = condemned.leased.offset;
            if settled.contains(&offset) { forgotten.push(offset) } else { self.condemned.push_back(condemned) }
        }
        forgotten
    }
}

/// A letter that is about to be written.
pub(super) struct NextLetter {
    pub letter: Letter,
    cause: Cause,
    pub fate: LetterFate,
}

impl DispatchTask {
    /// Starts the commit of what has to be written, if none is under way.
    pub(super) async fn write_letters(&mut self) {
        if self.letters.under_way.is_some() {
            return;
        }
        self.letters.dead.extend(self.machine.take_dead());
        let Some(topic) = self.cursor.log.topic.dead_letters() else {
            return;
        };
        let mut events = Vec::new();
        let mut work = self.core.unit_of_work();
        for mut next in self.next_letters().await {
            let offset = next.letter.record.offset();
            let added = match self.documents_of(&mut next).await {
                Ok(documents) => {
                    let event = dead_letter::event(&self.cursor, &next.letter, topic.clone(), self.core.clock.now_ms());
                    work.publish_own(topic.clone(), &event).map(|()| documents)
                }
                Err(error) => Err(error),
            };
            match added {
                Ok(documents) => {
                    documents.into_iter().for_each(|document| work.write(document));
                    events.push((offset, next.cause, next.fate));
                }
                Err(error) => self.letter_failed(offset, next.cause, &error),
            }
        }
        if events.is_empty() {
            return;
        }
        // What was given back is settled already.
        let settles = events.iter().filter(|(.., fate)| !matches!(fate, LetterFate::GivenBack { .. }));
        let mut offsets: Vec<Offset> = settles.map(|(offset, ..)| *offset).collect();
        offsets.sort_unstable();
        let settle = CursorChange::Settle {
            epoch: self.epoch,
            settled: offsets.into_iter().map(|offset| offset..offset + 1).collect(),
            failures: Vec::new(),
        };
        work.change_cursor(self.cursor.clone(), settle);
        self.letters.under_way = Some(UnderWay { commit: work.send(), topic, events });
    }

    /// The letters of the next commit, with their events.
    async fn next_letters(&mut self) -> Vec<NextLetter> {
        let mut letters = Vec::new();
        let condemned = self.letters.condemned.len().min(LETTERS_AT_ONCE);
        let condemned: Vec<Condemned> = self.letters.condemned.drain(..condemned).collect();
        for Condemned { subscriber, leased, record, reason } in condemned {
            let cause = Cause::Filter { subscriber, lease: leased.lease, reason: reason.clone() };
            match self.machine.condemn(leased.offset) {
                Some(fate) => {
                    let letter = Letter { record, reason, attempts: leased.attempt - 1, given_back: 0 };
                    letters.push(NextLetter { letter, cause, fate });
                }
                None => self.letter_failed(leased.offset, cause, &"no more keys can be parked"),
            }
        }
        let room = (LETTERS_AT_ONCE - letters.len()).min(self.letters.dead.len());
        let mut dead: Vec<Dead> = self.letters.dead.drain(..room).collect();
        dead.sort_unstable_by_key(|dead| dead.offset);
        let offsets: Vec<Offset> = dead.iter().map(|dead| dead.offset).collect();
        let found = self.read_back(&offsets).await;
        for (dead, found) in dead.into_iter().zip(found) {
            match self.or_from_letter(dead.offset, found).await {
                ReadBack::Record(record) => {
                    let reason = self.reason_of(&dead);
                    let letter = Letter { record, attempts: dead.attempts, reason, given_back: 0 };
                    letters.push(NextLetter { letter, cause: Cause::AttemptLimit, fate: dead.fate });
                }
                ReadBack::Gone if matches!(dead.fate, LetterFate::GivenBack { .. }) => {
                    self.machine.given_is_gone(dead.offset)
                }
                ReadBack::Gone => self.machine.vanished(dead.offset),
                ReadBack::Unread => self.machine.dead_letter_failed(self.now(), dead.offset),
            }
        }
        letters
    }

    /// Drops letters of events that are settled by now.
    pub(super) fn forget_letters(&mut self, settled: &Range<Offset>) {
        for offset in self.letters.forget(settled) {
            self.machine.letter_forgotten(offset);
        }
    }

    pub(super) fn letters_done(&mut self, result: Result<Durable, NotCommitted>) -> Option<End> {
        let UnderWay { topic, events, .. } = self.letters.under_way.take()?;
        match result {
            Ok(_) => {
                self.meter.dead_lettered.add(events.len() as u64);
                for (offset, cause, fate) in events {
                    match fate {
                        LetterFate::Follows { .. } => {
                            tracing::debug!(cursor = %self.cursor, offset, "event follows its parked key")
                        }
                        _ => {
                            tracing::warn!(cursor = %self.cursor, offset, letters = %topic, "event went to the dead letters")
                        }
                    }
                    self.condemned.remove(&offset);
                    match cause {
                        Cause::AttemptLimit => self.machine.dead_letter_written(offset),
                        Cause::Filter { .. } => self.machine.condemned_letter_written(offset),
                    }
                    self.fate_is_durable(offset, fate);
                }
                None
            }
            Err(NotCommitted::Refused(CommitError::Fenced { .. })) => Some(End::Failed(Error::fenced)),
            Err(NotCommitted::Refused(CommitError::Closed)) => Some(End::Failed(|_| Error::Closed)),
            Err(error) => {
                for (offset, cause, _) in events {
                    self.letter_failed(offset, cause, &error);
                }
                None
            }
        }
    }

    /// The event stays, and its letter is tried again after a wait.
    fn letter_failed(&mut self, offset: Offset, cause: Cause, error: &dyn std::fmt::Display) {
        tracing::error!(cursor = %self.cursor, offset, %error, "the dead letter cannot be written; trying again");
        let now = self.now();
        match cause {
            Cause::AttemptLimit => self.machine.dead_letter_failed(now, offset),
            Cause::Filter { subscriber, lease, reason } => {
                self.machine.letter_forgotten(offset);
                let _the_lease_may_have_ended = self.machine.nack(now, subscriber, offset, lease, Some(reason), None);
            }
        }
    }
}
