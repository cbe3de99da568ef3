//! Writes frames and changes what readers see. There is one committer, behind one lock.

use std::iter::Peekable;
use std::sync::Arc;
use std::time::{Duration, Instant};

use prom_store::{CommitAnswers, CommitError, CommitReply, Committed, LogName, LogOptions, Outcome};

use super::build::Builder;
use super::queue::CommitRequest;
use crate::compact::{stored_latest, stored_place};
use crate::documents::keys;
use crate::journal::Journal;
use crate::journal::writer::WriteFault;
use crate::log::Chunk;
use crate::options::Drive;
use crate::shared::StoreShared;

/// A frame takes at most about this many bytes; what waits beyond goes into the next.
const FRAME_BYTES: usize = 4 << 20;
/// After a failure that could not be cut off, how long until a fresh file is tried.
const REOPEN_AFTER: Duration = Duration::from_secs(1);
/// A sync that takes less does not hold up a caller that waits for it by itself.
const QUICK_SYNC: Duration = Duration::from_millis(1);
/// How many frames between looks at how many ids are in memory.
const COUNT_IDS_EVERY: u64 = 256;

/// What a request will be told once the frame is durable: how many of the builder's places are its own.
type Answer = Result<usize, Box<CommitError>>;

pub(crate) struct Committer {
    shared: Arc<StoreShared>,
    journal: Journal,
    builder: Builder,
    answers: Vec<(CommitReply, Answer)>,
    /// Empty between rounds; kept for its memory.
    woken: CommitAnswers,
    /// Why the journal failed, and when to try again by the store's clock.
    failed: Option<(String, Duration)>,
    frames: u64,
    /// Empty between rounds; kept for its memory.
    batch: Vec<CommitRequest>,
    /// How many callers came together lately, and half of what the last sync took.
    expected: usize,
    patience: Duration,
}

impl Committer {
    pub(crate) fn new(shared: Arc<StoreShared>, journal: Journal, next_log_id: u32, first_epoch: u64) -> Self {
        Self {
            shared,
            journal,
            builder: Builder::new(next_log_id, first_epoch),
            answers: Vec::new(),
            woken: CommitAnswers::default(),
            failed: None,
            frames: 0,
            batch: Vec::new(),
            expected: 0,
            // Not known before the first one.
            patience: Duration::MAX,
        }
    }

    /// Commits everything that waits. Returns how many callers to expect the next time.
    pub(crate) fn round(&mut self) -> usize {
        let mut batch = std::mem::take(&mut self.batch);
        self.shared.queue.take(&mut batch, self.expected, self.patience);
        self.expected = match self.shared.options.drive {
            Drive::Threads => batch.len().max(self.expected - self.expected.div_ceil(8)),
            // Waiting for callers that come back would go by real time.
            Drive::Inline => 0,
        };
        let mut requests = batch.drain(..).peekable();
        while requests.peek().is_some() {
            self.wait_for_room();
            self.gather(&mut requests);
            self.commit();
        }
        drop(requests);
        self.batch = batch;
        let has_thread = self.shared.options.drive == Drive::Threads;
        self.shared.queue.set_alone(has_thread && self.expected <= 1 && self.patience < QUICK_SYNC / 2);
        self.expected
    }

    /// Whether a commit could have to wait for something other than its sync.
    pub(crate) fn may_stall(&self) -> bool {
        let sizes = &self.shared.options.sizes;
        self.shared.background.unfilled() > sizes.fill_limit / 2
            || self.shared.journal.releasable_bytes() > sizes.journal_total / 2
    }

    /// Events in memory and journal files are bounded: beyond, publishers wait here. A caller that drives the
    /// store does not: it makes room itself after each round.
    fn wait_for_room(&self) {
        if self.shared.options.drive == Drive::Inline {
            return;
        }
        let sizes = &self.shared.options.sizes;
        while self.shared.background.unfilled() > sizes.fill_limit && self.shared.health.lock().reason().is_none() {
            self.shared.background.wait_for_room(sizes.fill_limit);
        }
        while self.shared.journal.releasable_bytes() > sizes.journal_total
            && self.shared.health.lock().reason().is_none()
        {
            self.shared.background.request(|work| work.checkpoint = true);
            self.shared.journal.wait_for_release();
        }
    }

    fn gather(&mut self, requests: &mut Peekable<impl Iterator<Item = CommitRequest>>) {
        let clock = &self.shared.options.clock;
        let now = clock.now_ms();
        let mut bytes = 0;
        while bytes < FRAME_BYTES
            && let Some(request) = requests.next_if(|request| self.builder.has_room_for(&request.commit))
        {
            bytes += request.size();
            let answer = match &self.failed {
                Some((reason, retry_at)) if clock.monotonic() < *retry_at => {
                    Err(Box::new(failure(reason, Outcome::NotStored)))
                }
                _ => self.builder.add(&self.shared, &request, now),
            };
            self.answers.push((request.reply, answer));
        }
    }

    fn commit(&mut self) {
        let Some(frame) = self.builder.frame() else {
            return self.answer();
        };
        // A measurement, not a decision by the clock: how long syncs really take says how long gathering pays.
        let began = Instant::now();
        match self.journal.append(frame) {
            Ok(number) => {
                self.patience = began.elapsed() / 2;
                self.failed = None;
                self.apply(number);
                self.answer();
            }
            Err(fault) => self.fail(fault),
        }
        self.look_after_files();
    }

    fn answer(&mut self) {
        let mut answers = std::mem::take(&mut self.woken);
        let mut places = self.builder.stored.drain(..);
        for (reply, answer) in self.answers.drain(..) {
            let committed = answer.map(|count| Committed { stored: places.by_ref().take(count).collect() });
            answers.put(reply, committed.map_err(|refusal| *refusal));
        }
        drop(places);
        answers.wake();
        self.woken = answers;
    }

    /// Every commit of the frame fails with the reason; refusals stay what they were.
    fn fail(&mut self, fault: WriteFault) {
        self.builder.undo();
        let (error, outcome) = match fault {
            WriteFault::NoRoom(error) => (format!("journal: {error}"), Outcome::NotStored),
            WriteFault::Cut(error) => (format!("journal: {error}"), Outcome::NotStored),
            WriteFault::Unknown(error) => {
                let reason = format!("journal: {error}; no fresh file could be begun");
                self.failed = Some((reason.clone(), self.shared.options.clock.monotonic() + REOPEN_AFTER));
                (reason, Outcome::Unknown)
            }
        };
        tracing::error!(reason = error, "a journal frame could not be made durable");
        for (reply, answer) in self.answers.drain(..) {
            reply.send(Err(answer.map_or_else(|refusal| *refusal, |_| failure(&error, outcome))));
        }
        self.builder.stored.clear();
    }

    /// Makes a durable frame visible.
    fn apply(&mut self, frame: u64) {
        let shared = self.shared.clone();
        let mut applied = shared.applied.lock();
        let effects = std::mem::take(&mut self.builder.effects);
        for index in effects.defined {
            let slot = self.builder.slot_at(index);
            let mut state = slot.log.state.lock();
            state.id = Some(slot.id);
            state.set_options(slot.options);
            state.ended &= slot.ended;
        }
        for (index, to) in effects.skips {
            self.builder.slot_at(index).log.state.lock().skip(to);
        }
        let mut added = 0;
        for index in 0..self.builder.touched().len() {
            let index = self.builder.touched()[index];
            added += self.apply_events(&shared, index);
        }
        for (name, step) in &effects.cursors {
            if let Err(error) = shared.cursors.apply(&shared.state, name, step) {
                // The epoch look-up for this very cursor has just brought it into memory.
                tracing::error!(cursor = %name, %error, "a durable cursor change could not be shown");
            }
        }
        shared.state.put_all(effects.documents);
        for (index, start) in effects.trims {
            let log = self.builder.slot_at(index).log.clone();
            let mut state = log.state.lock();
            state.trim(start);
            let bounds = state.bounds;
            drop(state);
            log.announce(bounds);
        }
        let has_ended = !effects.ends.is_empty();
        for (index, at) in effects.ends {
            let slot = self.builder.slot_at(index);
            let log = slot.log.clone();
            let mut state = log.state.lock();
            state.end(at);
            // It may have begun anew in the same frame.
            state.ended = slot.ended;
            let bounds = state.bounds;
            drop(state);
            log.announce(bounds);
        }
        applied.frame = frame;
        drop(applied);
        if has_ended {
            // The files go with a checkpoint; without one the room would stay taken.
            shared.background.request(|work| work.checkpoint = true);
        }
        self.builder.clear();
        if shared.background.add_unfilled(added) >= shared.options.sizes.fill_from {
            shared.background.request(|work| work.fill = true);
        }
    }

    fn apply_events(&mut self, shared: &StoreShared, index: usize) -> u64 {
        let slot = self.builder.slot_at(index);
        let chunk = slot.finish();
        let (id, options, log) = (slot.id, slot.options, slot.log.clone());
        let bytes = chunk.len_bytes();
        let mut state = log.state.lock();
        state.push(chunk.clone(), slot.last_stored_ts);
        let bounds = state.bounds;
        drop(state);
        index_events(shared, &log.name, id, options, &chunk);
        log.announce(bounds);
        bytes
    }

    fn look_after_files(&mut self) {
        self.frames += 1;
        if self.journal.take_rolled() {
            self.shared.background.request(|work| work.checkpoint = true);
        } else if self.journal.is_half_full() {
            self.shared.background.request_once_prepare();
        }
        if self.frames.is_multiple_of(COUNT_IDS_EVERY) {
            self.bound_ids();
        }
    }

    /// Ids that sealed segments have on disk leave memory; if that is not enough, segments are sealed early.
    fn bound_ids(&mut self) {
        let now = self.shared.options.clock.now_ms();
        let shared = self.shared.clone();
        for slot in self.builder.slots() {
            if let Err(error) = slot.ids.prune(&slot.log, &shared.files, now) {
                tracing::warn!(log = %slot.log.name, %error, "ids stay in memory");
            }
        }
        if self.builder.ids() > shared.options.sizes.ids_in_memory
            && let Some(largest) = self.builder.slots().iter().max_by_key(|slot| slot.ids.len())
        {
            largest.log.state.lock().seal_early = true;
            shared.background.request(|work| work.fill = true);
        }
    }
}

/// The latest offset of each key where the options ask for it, and where exact ids are.
pub(crate) fn index_events(shared: &StoreShared, name: &LogName, log: u32, options: LogOptions, chunk: &Chunk) {
    if !options.keeps_latest() && !chunk.has_exact() {
        return;
    }
    let mut changes = Vec::new();
    for record in chunk.records() {
        if record.is_exact() {
            let place = stored_place(name.partition, record.offset());
            changes.push((keys::exact(&name.topic, record.id()), Some(place)));
        }
        if let Some(key) = record.key().filter(|_| options.keeps_latest()) {
            changes.push((keys::latest(log, key), Some(stored_latest(&record))));
        }
    }
    shared.state.put_all(changes);
}

fn failure(reason: &str, outcome: Outcome) -> CommitError {
    CommitError::Failed { reason: reason.to_owned(), outcome }
}
