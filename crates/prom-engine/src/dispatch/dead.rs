//! Events at their limit, on the way to the dead letters.
//!
//! Such an event is not handed out any more, and is not settled before its letter is written: if
//! that fails it stays, and is tried again after a backoff.

use std::time::Duration;

use prom_store::Failures;
use prom_types::Offset;

use super::unsettled::{DeadLetter, EventState, Unsettled};
use super::{Dispatcher, LetterFate, backoff};

/// A dead letter to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dead {
    /// Where it is.
    pub offset: Offset,
    /// Failed attempts.
    pub attempts: u32,
    /// Leases given back because a connection ended.
    pub returns: u32,
    /// Why it failed the last time.
    pub reason: Option<String>,
    /// What becomes of it with its letter.
    pub fate: LetterFate,
}

impl Dispatcher {
    /// Whether [`Self::take_dead`] has something to give.
    pub fn has_dead(&self) -> bool {
        self.unsettled.first_dead_queued().is_some()
    }

    /// Dead letters to be written now, by offset. Each must be answered with
    /// [`Self::dead_letter_written`] or [`Self::dead_letter_failed`].
    pub fn take_dead(&mut self) -> Vec<Dead> {
        let mut dead = Vec::new();
        while let Some(offset) = self.unsettled.first_dead_queued() {
            let Some(event) = self.unsettled.take(offset) else {
                break;
            };
            let failed_writes = failed_writes(&event);
            let state = EventState::Dead(DeadLetter::Taken { failed_writes });
            self.unsettled.put(offset, Unsettled { state, ..event });
            let fate = self.fate(offset);
            if matches!(fate, LetterFate::Parks { .. }) && !self.has_room_to_park() {
                self.unsettled.take(offset);
                self.unsettled.put(offset, Unsettled { state: EventState::Dead(DeadLetter::WithoutRoom), ..event });
                self.wait_for_room(offset);
                continue;
            }
            self.note_fate(offset, fate);
            let failures = self.failures.get(&offset).cloned().unwrap_or_default();
            let Failures { attempts, returns, reason } = failures;
            dead.push(Dead { offset, attempts, returns, reason, fate });
        }
        dead
    }

    /// The letter is durable, and so is the settlement, which was in the same commit: it is not in
    /// [`Self::take_changes`] again.
    pub fn dead_letter_written(&mut self, offset: Offset) {
        let event = self.take_taken(offset);
        self.buried(offset, event);
    }

    /// As [`Self::dead_letter_written`], for an event that was leased until its letter was durable.
    pub fn condemned_letter_written(&mut self, offset: Offset) {
        let event = self.unsettled.take(offset);
        if let Some(Unsettled { state: EventState::Leased(lease), .. }) = event {
            self.subscribers.release(lease.subscriber);
        }
        self.buried(offset, event);
    }

    fn buried(&mut self, offset: Offset, event: Option<Unsettled>) {
        if self.is_given(offset) {
            return self.given_is_dead(offset, event);
        }
        // First what waits for its key: that follows it, or goes on.
        let parked = self.fate_done(offset);
        if let Some(event) = event {
            self.forget_failures(offset..offset + 1);
            self.progress.settle(offset..offset + 1);
            if parked.is_none() {
                self.unblock(event.key, event.lane);
            }
        }
    }

    /// The letter could not be written.
    pub fn dead_letter_failed(&mut self, now: Duration, offset: Offset) {
        self.fate_undone(offset);
        if let Some(event) = self.take_taken(offset) {
            let failed_writes = failed_writes(&event).saturating_add(1);
            let wait = backoff::wait(&self.options.backoff, failed_writes, &mut self.jitter);
            let until = now.saturating_add(wait);
            let state = EventState::Dead(DeadLetter::Failing { failed_writes, until });
            self.unsettled.put(offset, Unsettled { state, ..event });
        }
    }

    /// Retention or a reset may have been faster than the letter: then there is nothing to answer.
    fn take_taken(&mut self, offset: Offset) -> Option<Unsettled> {
        match self.unsettled.get(offset)?.state {
            EventState::Dead(DeadLetter::Taken { .. }) => self.unsettled.take(offset),
            _ => None,
        }
    }
}

fn failed_writes(event: &Unsettled) -> u32 {
    match event.state {
        EventState::Dead(
            DeadLetter::Queued { failed_writes }
            | DeadLetter::Taken { failed_writes }
            | DeadLetter::Failing { failed_writes, .. },
        ) => failed_writes,
        _ => 0,
    }
}
