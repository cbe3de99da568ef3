//! Steps of the store: commits that succeed or fail, dead letters, and restarts.

use prom_engine::dispatch::Dispatcher;
use prom_types::Offset;

use super::Walk;
use crate::reference::Place;

impl Walk {
    /// Begins a commit, or ends the one under way, well or badly.
    pub(super) fn commit(&mut self) {
        match self.committing.take() {
            None => {
                self.committing = self.dispatcher.take_changes();
                self.check_changes();
                if self.committing.is_none() || self.rng.percent(50) {
                    self.finish_commit();
                    self.nothing_is_missing();
                }
            }
            Some(changes) if self.rng.percent(30) => self.dispatcher.restore_changes(changes),
            some => {
                self.committing = some;
                self.finish_commit();
            }
        }
    }

    fn check_changes(&self) {
        let Some(changes) = &self.committing else { return };
        for range in &changes.settled {
            let all_settled = range.clone().all(|offset| self.reference.is_settled(offset));
            assert!(all_settled, "{range:?} should be stored as settled, and is not");
        }
        for (offset, failures) in &changes.failures {
            let count = self.reference.counts[*offset as usize];
            assert_eq!((failures.attempts, failures.returns), (count.attempts, count.returns), "of {offset}");
        }
    }

    /// With everything committed, the stored cursor says what the dispatcher knows.
    fn nothing_is_missing(&self) {
        for offset in self.reference.start..self.reference.next() {
            let settled = self.reference.is_settled(offset);
            assert_eq!(self.stored.is_settled(offset), settled, "stored state of {offset}");
            let stored = self.stored.failures.get(&offset).cloned().unwrap_or_default();
            let count = self.reference.counts[offset as usize];
            let expected = (count.attempts, count.returns);
            assert_eq!((stored.attempts, stored.returns), expected, "stored failures of {offset}");
        }
    }

    pub(super) fn finish_commit(&mut self) {
        if let Some(changes) = self.committing.take() {
            self.stored.apply(&changes.settled, &changes.failures);
        }
    }

    /// Takes letters, or answers one that was taken.
    pub(super) fn bury(&mut self) {
        if self.burying.is_empty() || self.rng.percent(40) {
            self.take_dead();
        } else {
            let at = self.rng.below(self.burying.len() as u64) as usize;
            let offset = self.burying.swap_remove(at);
            if self.rng.percent(60) { self.written(offset) } else { self.not_written(offset) }
        }
    }

    pub(super) fn take_dead(&mut self) {
        let dead = self.dispatcher.take_dead();
        for letter in &dead {
            let count = self.reference.counts[letter.offset as usize];
            assert_eq!((letter.attempts, letter.returns), (count.attempts, count.returns), "{letter:?}");
            let place = self.reference.place(letter.offset);
            let Place::Dead { earliest, failed_writes, .. } = place else {
                panic!("{letter:?} is {place:?}");
            };
            assert!(earliest <= self.reference.last_tick, "{letter:?} before its backoff was over");
            self.reference.places[letter.offset as usize] = Place::DeadTaken { failed_writes };
            self.burying.push(letter.offset);
        }
        for offset in self.reference.floor..self.reference.next() {
            if let Place::Dead { latest, .. } = self.reference.place(offset) {
                assert!(latest > self.reference.last_tick, "the letter of {offset} was kept back");
            }
        }
    }

    pub(super) fn written(&mut self, offset: Offset) {
        self.dispatcher.dead_letter_written(offset);
        self.stored.apply(std::slice::from_ref(&(offset..offset + 1)), &[]);
        if let Place::DeadTaken { .. } = self.reference.place(offset) {
            self.reference.settle(offset);
        }
    }

    pub(super) fn not_written(&mut self, offset: Offset) {
        self.dispatcher.dead_letter_failed(self.now, offset);
        if let Place::DeadTaken { failed_writes } = self.reference.place(offset) {
            let failed_writes = failed_writes + 1;
            let (earliest, latest) = self.reference.wait(self.now, failed_writes);
            self.reference.places[offset as usize] = Place::Dead { earliest, latest, failed_writes };
        }
    }

    /// The hub dies and another goes on from what was stored.
    pub(super) fn restart(&mut self) {
        for offset in 0..self.reference.next() {
            let ahead = self.stored.is_settled(offset) && !self.reference.is_settled(offset);
            assert!(!ahead, "{offset} is stored as settled, and is not");
        }
        let options = self.reference.options.clone();
        self.dispatcher = Dispatcher::new(options, self.stored.clone(), self.bounds(), self.rng.next());
        self.reference.members.clear();
        self.reference.released.clear();
        self.reference.last_lease = 0;
        self.reference.begin_at(&self.stored);
        self.scanning = None;
        self.committing = None;
        self.burying.clear();
        self.leases.clear();
        self.join();
    }
}
