//! Building a frame from requests: every precondition is checked before anything of a request counts.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::Ordering;

use foldhash::fast::RandomState;
use prom_store::{
    Append, Commit, CommitError, CursorChange, CursorName, Dedupe, DocumentWrite, LogName, Outcome, Standing,
    StoreError, Stored,
};
use prom_types::{EpochMs, EventId, Offset, TopicName};

use super::queue::CommitRequest;
use super::slot::LogSlot;
use crate::codec::Take;
use crate::documents::keys;
use crate::journal::CursorStep;
use crate::journal::entry;
use crate::journal::frame::{self, FrameDraft, FrameSection};
use crate::log::ids::stored_ts_of;
use crate::log::read::Reach;
use crate::segment::gone::is_recent;
use crate::shared::StoreShared;

/// The writer's own view: ahead of what is durable by exactly the frame under way.
pub(super) struct Builder {
    slots: Vec<LogSlot>,
    pub(super) by_name: hashbrown::HashMap<LogName, usize, RandomState>,
    /// Events of one log tend to come together.
    last_slot: Option<(LogName, usize)>,
    next_log_id: u32,
    first_epoch: u64,
    /// Slots with events in the frame under way.
    touched: Vec<usize>,
    /// The frame's header and entries.
    entries: Vec<u8>,
    /// Where the events of the frame's requests are, in order.
    pub(super) stored: Vec<Stored>,
    /// For the request being added: where its events were stored before.
    pub(super) known: Vec<Option<Stored>>,
    pub(super) effects: Effects,
    /// Epochs and documents as the frame under way will leave them.
    epochs: HashMap<CursorName, Option<u64>>,
    documents: HashMap<(String, String), Standing>,
    /// What another partition answers to the exact ids of the frame under way.
    exact: HashMap<(TopicName, EventId), Stored>,
}

/// What is applied to memory once the frame is durable.
#[derive(Default)]
pub(super) struct Effects {
    pub(super) cursors: Vec<(CursorName, CursorStep)>,
    pub(super) documents: Vec<(Vec<u8>, Option<bytes::Bytes>)>,
    pub(super) trims: Vec<(usize, u64)>,
    /// Slots that leave offsets empty, and up to which.
    pub(super) skips: Vec<(usize, u64)>,
    /// Slots that end, and before which offset.
    pub(super) ends: Vec<(usize, u64)>,
    /// Slots whose number or options are in the frame.
    pub(super) defined: Vec<usize>,
}

impl Builder {
    pub(super) fn new(next_log_id: u32, first_epoch: u64) -> Self {
        let mut entries = Vec::new();
        frame::begin(&mut entries);
        Self {
            slots: Vec::new(),
            by_name: hashbrown::HashMap::default(),
            last_slot: None,
            next_log_id,
            first_epoch,
            touched: Vec::new(),
            entries,
            stored: Vec::new(),
            known: Vec::new(),
            effects: Effects::default(),
            epochs: HashMap::new(),
            documents: HashMap::new(),
            exact: HashMap::new(),
        }
    }

    /// Adds a request to the frame under way, or says why not and leaves no trace of it.
    ///
    /// Returns how many places of events were added to `stored`. They are read again when the frame is
    /// durable: copying what was just written would make the processor wait for all writes before it.
    pub(super) fn add(
        &mut self,
        shared: &StoreShared,
        request: &CommitRequest,
        now: EpochMs,
    ) -> Result<usize, Box<CommitError>> {
        self.check(shared, request, now)?;
        for (name, options) in &request.commit.logs {
            let slot = self.slot(shared, name);
            let is_known = self.slots[slot].defined && !self.slots[slot].ended;
            if !is_known || self.slots[slot].options != *options {
                self.slots[slot].options = *options;
                self.slots[slot].ended = false;
                self.define(slot);
            }
        }
        for (index, append) in request.commit.appends.iter().enumerate() {
            match self.known.get(index) {
                Some(Some(first)) => self.stored.push(*first),
                _ => {
                    let place = request.commit.place_of(&append.log);
                    self.append(shared, append, place, now);
                }
            }
        }
        for (name, change) in &request.commit.cursors {
            self.change_cursor(name, change);
        }
        if let Some(take) = &request.take {
            let slot = self.slot(shared, &take.cursor.log);
            let floor_if_new = take.floor_if_new.max(self.slots[slot].begun);
            let epoch = self.take_cursor(&take.cursor, floor_if_new);
            take.epoch.store(epoch, Ordering::Release);
        }
        for write in &request.commit.documents {
            self.write_document(write);
        }
        if let Some((name, start)) = &request.trim {
            let slot = self.slot(shared, name);
            if self.slots[slot].defined {
                entry::put_trim(&mut self.entries, self.slots[slot].id, *start);
                self.effects.trims.push((slot, *start));
            }
        }
        for name in &request.commit.ends {
            self.end(shared, name);
        }
        Ok(request.commit.appends.len())
    }

    fn end(&mut self, shared: &StoreShared, name: &LogName) {
        let index = self.slot(shared, name);
        let slot = &mut self.slots[index];
        if !slot.defined || slot.ended {
            return;
        }
        slot.end();
        entry::put_end(&mut self.entries, slot.id, slot.begun);
        self.effects.ends.push((index, slot.begun));
        self.exact.retain(|(topic, _), _| *topic != name.topic);
    }

    /// Everything that can refuse a request or fail to be looked up, before anything of it is in the
    /// frame. Notes the first receipts of events that are there already.
    fn check(&mut self, shared: &StoreShared, request: &CommitRequest, now: EpochMs) -> Result<(), CommitError> {
        let commit = &request.commit;
        if !commit.appends.is_empty()
            && let Some(reason) = shared.health.lock().reason()
        {
            return Err(CommitError::Full { reason: reason.clone() });
        }
        self.check_cursors(shared, commit)?;
        if let Some(take) = &request.take {
            self.epoch(shared, &take.cursor)?;
        }
        self.check_documents(shared, commit)?;
        self.known.clear();
        for (index, append) in commit.appends.iter().enumerate() {
            let options = commit.logs.iter().find(|(name, _)| *name == append.log).map(|(_, options)| *options);
            let slot = self.slot(shared, &append.log);
            if self.slots[slot].ended && options.is_none() {
                return Err(CommitError::Ended { log: append.log.clone() });
            }
            let compacted = options.unwrap_or(self.slots[slot].options).compacted;
            if compacted && append.event.key().is_none() {
                return Err(CommitError::KeyRequired { log: append.log.clone() });
            }
            if append.dedupe != Dedupe::Fresh {
                let first = self.first_receipt(shared, slot, append, now)?;
                self.known.resize(index, None);
                self.known.push(first);
            }
        }
        if commit.has_terms() { self.check_terms(shared, commit) } else { Ok(()) }
    }

    /// Walks the writes in order: one may expect what another before it wrote.
    fn check_documents(&mut self, shared: &StoreShared, commit: &Commit) -> Result<(), CommitError> {
        if commit.documents.is_empty() {
            return Ok(());
        }
        let mut ahead: HashMap<(&str, &str), Standing> = HashMap::new();
        for write in &commit.documents {
            let place = (write.collection.as_str(), write.key.as_str());
            let current = match ahead.get(&place) {
                Some(standing) => standing,
                None => self.standing(shared, write)?,
            };
            if let Some(next) = write.onto(current)? {
                ahead.insert(place, next);
            }
        }
        Ok(())
    }

    /// Walks the changes in order: one may settle what another before it made.
    fn check_cursors(&mut self, shared: &StoreShared, commit: &Commit) -> Result<(), CommitError> {
        if commit.cursors.is_empty() {
            return Ok(());
        }
        let mut ahead: HashMap<&CursorName, Option<u64>> = HashMap::new();
        let mut first_epoch = self.first_epoch;
        for (name, change) in &commit.cursors {
            let current = match ahead.get(name) {
                Some(epoch) => *epoch,
                None => self.epoch(shared, name)?,
            };
            let next = current.map_or(first_epoch, |current| current + 1);
            let after = match change {
                CursorChange::Create { .. } => Some(current.unwrap_or(first_epoch)),
                CursorChange::Reset { .. } => Some(next),
                CursorChange::Delete => {
                    first_epoch = first_epoch.max(next);
                    None
                }
                CursorChange::Settle { epoch, .. } if current != Some(*epoch) => {
                    return Err(CommitError::Fenced {
                        cursor: name.clone(),
                        given: *epoch,
                        current: current.unwrap_or(first_epoch),
                    });
                }
                CursorChange::Settle { .. } => current,
            };
            if commit.cursors.len() > 1 {
                ahead.insert(name, after);
            }
        }
        Ok(())
    }

    fn append(&mut self, shared: &StoreShared, append: &Append, place: Option<Offset>, now: EpochMs) {
        let index = self.slot(shared, &append.log);
        let slot = &mut self.slots[index];
        if append.dedupe != Dedupe::Fresh
            && let Some((offset, stored_ts)) = slot.find_in_frame(append.event.id())
        {
            self.stored.push(Stored { offset, stored_ts, duplicate: true, elsewhere: None });
            return;
        }
        let is_exact = append.dedupe == Dedupe::Exact;
        if is_exact && let Some(beside) = self.exact.get(&(append.log.topic.clone(), append.event.id())) {
            self.stored.push(*beside);
            return;
        }
        if !slot.is_touched() {
            self.touched.push(index);
            if let Some(place) = place.filter(|place| *place > slot.next) {
                slot.skip(place);
                entry::put_skip(&mut self.entries, slot.id, place);
                self.effects.skips.push((index, place));
            }
        }
        let (offset, stored_ts) = slot.append(&shared.buffers, append, now);
        if !slot.defined {
            self.define(index);
        }
        self.stored.push(Stored { offset, stored_ts, duplicate: false, elsewhere: None });
        if is_exact {
            let LogName { topic, partition } = append.log.clone();
            let beside = Stored { offset, stored_ts, duplicate: true, elsewhere: Some(partition) };
            self.exact.insert((topic, append.event.id()), beside);
        }
    }

    /// Where the same id was stored before, within the window or, if exact, at all.
    fn first_receipt(
        &mut self,
        shared: &StoreShared,
        index: usize,
        append: &Append,
        now: EpochMs,
    ) -> Result<Option<Stored>, CommitError> {
        let slot = &mut self.slots[index];
        let id = append.event.id();
        let (files, interval) = (&shared.files, shared.interval());
        let receipt = |offset, stored_ts| Stored { offset, stored_ts, duplicate: true, elsewhere: None };
        let begun = slot.begun;
        let found = slot.ids.find(&slot.log, files, interval, id, now).map_err(refused)?;
        if let Some(offset) = found.filter(|offset| *offset >= begun) {
            if let Some(stored_ts) = slot.stored_ts_in_frame(offset, id) {
                return Ok(Some(receipt(offset, stored_ts)));
            }
            let stored_ts = stored_ts_of(&slot.log, files, interval, offset, id, Reach::Stored).map_err(refused)?;
            if let Some(stored_ts) = stored_ts.filter(|stored_ts| is_recent(*stored_ts, now)) {
                return Ok(Some(receipt(offset, stored_ts)));
            }
        }
        let gone = slot.ids.find_gone(files, id).map_err(refused)?;
        if let Some(place) = gone.filter(|place| place.offset >= begun && is_recent(place.stored_ts, now)) {
            return Ok(Some(receipt(place.offset, place.stored_ts)));
        }
        if append.dedupe != Dedupe::Exact {
            return Ok(None);
        }
        let LogName { topic, partition } = slot.name().clone();
        let known = shared.state.get(&keys::exact(&topic, id)).map_err(refused)?;
        let Some((offset, holder)) = known.and_then(|bytes| exact_place(&bytes)) else {
            return Ok(None);
        };
        let elsewhere = Some(holder).filter(|holder| *holder != partition);
        let holder = self.slot_by_name(shared, &LogName::new(topic, holder));
        let LogSlot { log, begun, .. } = &self.slots[holder];
        if offset < *begun {
            return Ok(None);
        }
        let stored_ts = stored_ts_of(log, files, interval, offset, id, Reach::Retained).map_err(refused)?;
        Ok(stored_ts.map(|stored_ts| Stored { elsewhere, ..receipt(offset, stored_ts) }))
    }

    fn change_cursor(&mut self, name: &CursorName, change: &CursorChange) {
        let current = self.epochs.get(name).copied().flatten();
        let next = current.map_or(self.first_epoch, |current| current + 1);
        let step = match change {
            CursorChange::Create { .. } if current.is_some() => return,
            CursorChange::Create { floor } => CursorStep::Created { epoch: next, floor: *floor },
            CursorChange::Reset { floor } => CursorStep::Reset { epoch: next, floor: *floor },
            CursorChange::Settle { epoch, settled, failures } => {
                CursorStep::Settled { epoch: *epoch, settled: settled.clone(), failures: failures.clone() }
            }
            CursorChange::Delete => {
                self.first_epoch = self.first_epoch.max(next);
                CursorStep::Deleted { first_epoch: self.first_epoch }
            }
        };
        self.step(name, step);
    }

    fn take_cursor(&mut self, name: &CursorName, floor_if_new: u64) -> u64 {
        let current = self.epochs.get(name).copied().flatten();
        let epoch = current.unwrap_or(self.first_epoch) + 1;
        self.step(name, CursorStep::Taken { epoch, floor_if_new });
        epoch
    }

    /// What is written down is what the document comes to, not what was expected: a frame is applied
    /// again without asking. A write that changes nothing leaves nothing to apply.
    fn write_document(&mut self, write: &DocumentWrite) {
        let place = (write.collection.clone(), write.key.clone());
        let current = self.documents.entry(place).or_default();
        let Ok(Some(next)) = write.onto(current) else {
            return;
        };
        let revision = current.revision + 1;
        let value = next.value.as_deref();
        entry::put_document(&mut self.entries, &write.collection, &write.key, revision, value);
        let stored = value.map(|value| crate::documents::encode_document(revision, value));
        self.effects.documents.push((keys::document(&write.collection, &write.key), stored));
        *current = next;
    }

    fn step(&mut self, name: &CursorName, step: CursorStep) {
        entry::put_cursor(&mut self.entries, name, &step);
        let epoch = match &step {
            CursorStep::Created { epoch, .. } => Some(*epoch),
            CursorStep::Settled { epoch, .. } => Some(*epoch),
            CursorStep::Reset { epoch, .. } => Some(*epoch),
            CursorStep::Taken { epoch, .. } => Some(*epoch),
            CursorStep::Deleted { .. } => None,
        };
        self.epochs.insert(name.clone(), epoch);
        self.effects.cursors.push((name.clone(), step));
    }

    fn define(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        slot.defined = true;
        entry::put_log(&mut self.entries, slot.id, slot.name(), slot.options);
        self.effects.defined.push(index);
    }

    fn epoch(&mut self, shared: &StoreShared, name: &CursorName) -> Result<Option<u64>, CommitError> {
        if let Some(epoch) = self.epochs.get(name) {
            return Ok(*epoch);
        }
        let epoch = shared.cursors.epoch(&shared.state, name).map_err(refused)?;
        self.epochs.insert(name.clone(), epoch);
        Ok(epoch)
    }

    fn standing(&mut self, shared: &StoreShared, write: &DocumentWrite) -> Result<&Standing, CommitError> {
        match self.documents.entry((write.collection.clone(), write.key.clone())) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(unknown) => {
                let document = shared.state.document(&write.collection, &write.key).map_err(refused)?;
                Ok(unknown.insert(document.into()))
            }
        }
    }

    pub(super) fn slot(&mut self, shared: &StoreShared, name: &LogName) -> usize {
        if let Some((last, index)) = &self.last_slot
            && last.is_same(name)
        {
            return *index;
        }
        let index = self.slot_by_name(shared, name);
        self.last_slot = Some((name.clone(), index));
        index
    }

    fn slot_by_name(&mut self, shared: &StoreShared, name: &LogName) -> usize {
        if let Some(index) = self.by_name.get(name) {
            return *index;
        }
        let slot = LogSlot::new(shared.log(name), self.next_log_id);
        if !slot.defined {
            self.next_log_id += 1;
        }
        self.slots.push(slot);
        self.by_name.insert(name.clone(), self.slots.len() - 1);
        self.slots.len() - 1
    }

    /// The frame, ready to be written; `None` if there is nothing to write.
    pub(super) fn frame(&mut self) -> Option<FrameDraft<'_>> {
        if self.entries.len() == frame::HEADER_BYTES && self.touched.is_empty() {
            return None;
        }
        let section = |&index: &usize| {
            let slot: &LogSlot = &self.slots[index];
            let (records, count) = slot.records();
            FrameSection { log: slot.id, count, records }
        };
        Some(FrameDraft { sections: self.touched.iter().map(section).collect(), head: &mut self.entries })
    }

    pub(super) fn touched(&self) -> &[usize] {
        &self.touched
    }

    pub(super) fn slot_of(&self, index: usize) -> &LogSlot {
        &self.slots[index]
    }

    pub(super) fn slot_at(&mut self, index: usize) -> &mut LogSlot {
        &mut self.slots[index]
    }

    /// The frame is durable and applied: on to the next.
    pub(super) fn clear(&mut self) {
        self.touched.clear();
        frame::begin(&mut self.entries);
        self.effects = Effects::default();
        self.epochs.clear();
        self.documents.clear();
        self.exact.clear();
    }

    /// The frame failed: nothing of it ever was.
    pub(super) fn undo(&mut self) {
        for &index in &self.touched {
            self.slots[index].undo();
        }
        for &index in &self.effects.defined {
            let slot = &mut self.slots[index];
            let state = slot.log.state.lock();
            slot.defined = state.id.is_some();
            slot.options = state.options;
            slot.ended = state.ended;
        }
        for &(index, _) in &self.effects.ends {
            let slot = &mut self.slots[index];
            let state = slot.log.state.lock();
            (slot.begun, slot.ended) = (state.begun, state.ended);
        }
        self.clear();
    }

    /// All ids in memory, over all logs.
    pub(super) fn ids(&self) -> usize {
        self.slots.iter().map(|slot| slot.ids.len()).sum()
    }

    pub(super) fn slots(&mut self) -> &mut [LogSlot] {
        &mut self.slots
    }
}

/// Offset and partition, as [`crate::compact::stored_place`] wrote them.
fn exact_place(stored: &[u8]) -> Option<(Offset, u32)> {
    let mut take = Take::new(stored);
    Some((take.u64().ok()?, take.u32().ok()?))
}

/// A precondition could not be looked up.
pub(super) fn refused(error: StoreError) -> CommitError {
    CommitError::Failed { reason: error.to_string(), outcome: Outcome::NotStored }
}
