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
use crate::dispatch::{Dead, LeaseId, Leased, SubscriberId};
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
    events: Vec<(Offset, Cause)>,
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

    /// Of events that are settled by now.
    pub fn forget(&mut self, settled: &Range<Offset>) {
        self.dead.retain(|dead| !settled.contains(&dead.offset));
        self.condemned.retain(|condemned| !settled.contains(&condemned.leased.offset));
    }
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
        for (letter, cause) in self.next_letters().await {
            let event = dead_letter::event(&self.cursor, &letter, topic.clone(), self.core.clock.now_ms());
            match work.publish_own(topic.clone(), &event) {
                Ok(()) => events.push((letter.record.offset(), cause)),
                Err(error) => self.letter_failed(letter.record.offset(), cause, &error),
            }
        }
        if events.is_empty() {
            return;
        }
        let mut offsets: Vec<Offset> = events.iter().map(|(offset, _)| *offset).collect();
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
    async fn next_letters(&mut self) -> Vec<(Letter, Cause)> {
        let mut letters = Vec::new();
        let condemned = self.letters.condemned.len().min(LETTERS_AT_ONCE);
        for condemned in self.letters.condemned.drain(..condemned) {
            let cause = Cause::Filter {
                subscriber: condemned.subscriber,
                lease: condemned.leased.lease,
                reason: condemned.reason.clone(),
            };
            let letter =
                Letter { record: condemned.record, reason: condemned.reason, attempts: condemned.leased.attempt - 1 };
            letters.push((letter, cause));
        }
        let room = (LETTERS_AT_ONCE - letters.len()).min(self.letters.dead.len());
        let mut dead: Vec<Dead> = self.letters.dead.drain(..room).collect();
        dead.sort_unstable_by_key(|dead| dead.offset);
        let offsets: Vec<Offset> = dead.iter().map(|dead| dead.offset).collect();
        let found = self.read_back(&offsets).await;
        for (dead, found) in dead.into_iter().zip(found) {
            match found {
                ReadBack::Record(record) => {
                    let letter = Letter { record, attempts: dead.attempts, reason: dead_letter::reason(&dead) };
                    letters.push((letter, Cause::AttemptLimit));
                }
                ReadBack::Gone => self.machine.vanished(dead.offset),
                ReadBack::Unread => self.machine.dead_letter_failed(self.now(), dead.offset),
            }
        }
        letters
    }

    pub(super) fn letters_done(&mut self, result: Result<Durable, NotCommitted>) -> Option<End> {
        let UnderWay { topic, events, .. } = self.letters.under_way.take()?;
        match result {
            Ok(_) => {
                self.meter.dead_lettered.add(events.len() as u64);
                for (offset, cause) in events {
                    tracing::warn!(cursor = %self.cursor, offset, letters = %topic, "event went to the dead letters");
                    self.condemned.remove(&offset);
                    match cause {
                        Cause::AttemptLimit => self.machine.dead_letter_written(offset),
                        // Settled like an event that is gone: it is not leased again.
                        Cause::Filter { .. } => self.machine.vanished(offset),
                    }
                }
                None
            }
            Err(NotCommitted::Refused(CommitError::Fenced { .. })) => Some(End::Failed(Error::fenced)),
            Err(NotCommitted::Refused(CommitError::Closed)) => Some(End::Failed(|_| Error::Closed)),
            Err(error) => {
                for (offset, cause) in events {
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
                let _the_lease_may_have_ended = self.machine.nack(now, subscriber, offset, lease, Some(reason), None);
            }
        }
    }
}
