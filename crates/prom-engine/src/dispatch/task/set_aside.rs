//! What is set aside beside the log, read page by page: events that were given back, and the first one of each parked key.
//!
//! Nothing is read here while nothing is set aside. What the dispatcher knows of an event that it took in is kept until its
//! end is durable: at most as much as its look-ahead, and one event for each parked key.

use std::collections::HashMap;

use prom_store::{CursorName, DocumentWrite, Failures, LogName, ReadLimit, Record, StoreError};
use prom_types::{EventId, Offset, key_hash};

use super::{DispatchTask, Pace};
use crate::Error;
use crate::commit::UnitOfWork;
use crate::dispatch::{Changes, FirstParked, GiveAnswer, GivenEvent, GivenStep};
use crate::letter_ref::{self, LetterPlace};
use crate::limits::{DOCUMENTS_AT_ONCE, FIRSTS_AT_ONCE, GIVEN_PAGE};
use crate::set_aside::{
    self, CountedFailures, GATES, Gate, GivenMark, KEYS, MARKS, MarkState, PARKED, ParkedKeyDocument, ParkedLetter,
    gate_key,
};

/// What a dispatcher knows of it.
#[derive(Default)]
pub(super) struct SetAside {
    /// The name of all its documents.
    pub name: String,
    pub gate: Gate,
    /// The gate is in the store.
    pub is_stored: bool,
    pub keys: HashMap<u64, ParkedKeyDocument>,
    /// Events that the dispatcher took in.
    pub items: HashMap<Offset, GivenItem>,
    /// Where events that were given back are read on; `None` at their end.
    pub next: Option<Offset>,
}

/// An event that was given back, and taken in.
pub(super) struct GivenItem {
    pub mark: GivenMark,
    /// Where its key is parked.
    pub parked: Option<(u64, ParkedLetter)>,
}

/// What became of a page.
enum Paged {
    /// There may be more at once.
    More,
    /// The rest waits: for room, for the log, or because there is none.
    Enough,
}

impl SetAside {
    pub fn of(cursor: &CursorName) -> Self {
        Self { name: gate_key(cursor), ..Self::default() }
    }

    /// Events from `offset` on are read again.
    pub fn read_from(&mut self, offset: Offset) {
        self.next = Some(self.next.map_or(offset, |next| next.min(offset)));
    }
}

impl DispatchTask {
    /// Learns what is set aside: when it takes the cursor over, and when that was reset.
    pub(super) async fn load_set_aside(&mut self) -> Result<(), Error> {
        self.set_aside = None;
        let mut set_aside = SetAside::of(&self.cursor);
        let Some(gate) = set_aside::read_one::<Gate>(&*self.core.store, GATES, &set_aside.name).await? else {
            return Ok(());
        };
        set_aside.next = gate.from;
        (set_aside.gate, set_aside.is_stored) = (gate, true);
        let mut after = set_aside::behind(&set_aside.name, None);
        loop {
            let page = self.core.store.documents(KEYS, Some(&after), DOCUMENTS_AT_ONCE).await?;
            for document in &page {
                let Some(hash) = set_aside::hash_below(&set_aside.name, &document.key) else {
                    break;
                };
                set_aside.keys.insert(hash, set_aside::read(KEYS, document)?);
            }
            match page.last() {
                Some(last) if page.len() == DOCUMENTS_AT_ONCE => after.clone_from(&last.key),
                _ => break,
            }
        }
        self.machine.load_parked(set_aside.keys.keys().copied());
        self.set_aside = Some(Box::new(set_aside));
        Ok(())
    }

    /// Takes in what was given back, as far as there is room for it.
    pub(super) async fn bring_back(&mut self) -> Pace {
        if self.set_aside.is_none() || self.reads.must_wait() {
            return Pace::Idle;
        }
        let brought = match self.find_firsts().await {
            Ok(Paged::More) => Ok(Paged::More),
            Ok(Paged::Enough) => self.page_in().await,
            Err(error) => Err(error),
        };
        match brought {
            Ok(Paged::More) => Pace::Busy,
            Ok(Paged::Enough) => Pace::Idle,
            Err(error) => {
                tracing::error!(cursor = %self.cursor, %error, "what was given back cannot be read; trying again");
                self.reads.failed(self.now());
                Pace::Idle
            }
        }
    }

    /// Looks up the first events of parked keys where they are not known.
    async fn find_firsts(&mut self) -> Result<Paged, Error> {
        let wanted = self.machine.firsts_wanted(FIRSTS_AT_ONCE);
        if wanted.is_empty() {
            return Ok(Paged::Enough);
        }
        for key in wanted {
            let found = self.find_first(key).await?;
            self.machine.first_found(key, found);
        }
        Ok(Paged::More)
    }

    async fn find_first(&mut self, key: u64) -> Result<FirstParked, Error> {
        let Some(set_aside) = &self.set_aside else {
            return Ok(FirstParked::Nothing);
        };
        let name = set_aside::parked_key_key(&set_aside.name, key);
        let document = set_aside.keys.get(&key).cloned();
        let flows_from = document.as_ref().and_then(|key| key.flows_from);
        let text = document.map(|document| document.key);
        let mut after = None;
        loop {
            let behind = set_aside::behind(&name, after);
            let found = self.core.store.documents(PARKED, Some(&behind), 1).await?;
            let Some((first, offset)) =
                found.first().and_then(|first| Some((first, set_aside::offset_below(&name, &first.key)?)))
            else {
                return Ok(FirstParked::Nothing);
            };
            let parked: ParkedLetter = set_aside::read(PARKED, first)?;
            if !parked.given && flows_from.is_none_or(|from| offset < from) {
                return Ok(FirstParked::Held { until_settled: None });
            }
            match self.give_parked(key, text.clone(), offset, parked).await? {
                GiveAnswer::Taken => return Ok(FirstParked::Given),
                GiveAnswer::Behind => return Ok(FirstParked::Behind),
                GiveAnswer::Unsettled => return Ok(FirstParked::Held { until_settled: Some(offset) }),
                // Done, and not durable yet.
                GiveAnswer::Known => after = Some(offset),
            }
        }
    }

    async fn give_parked(
        &mut self,
        hash: u64,
        key: Option<String>,
        offset: Offset,
        parked: ParkedLetter,
    ) -> Result<GiveAnswer, Error> {
        let Some(set_aside) = &self.set_aside else {
            return Ok(GiveAnswer::Known);
        };
        let mark = set_aside::mark_key(&set_aside.name, offset);
        let mark = match set_aside::read_one::<GivenMark>(&*self.core.store, MARKS, &mark).await? {
            Some(mark) if mark.time > parked.given_back => mark,
            // It goes on behind the others, and nobody gave it back by name.
            _ => GivenMark {
                state: MarkState::Waiting,
                time: parked.given_back.saturating_add(1),
                letter: parked.letter,
                place: None,
                event: parked.event,
                key: key.clone(),
                parked: true,
                by: None,
                given_ts: self.core.clock.now_ms(),
                settled_ts: None,
                failures: CountedFailures::default(),
                next: None,
            },
        };
        let event = GivenEvent {
            offset,
            key_hash: Some(hash),
            lane: self.lane_by(key.as_deref(), parked.event),
            failures: parked.failures.clone().into(),
            parked: Some(hash),
        };
        let answer = self.machine.give(event);
        if answer == GiveAnswer::Taken
            && let Some(set_aside) = &mut self.set_aside
        {
            set_aside.items.insert(offset, GivenItem { mark, parked: Some((hash, parked)) });
        }
        Ok(answer)
    }

    /// Reads on in what was given back.
    async fn page_in(&mut self) -> Result<Paged, Error> {
        let Some(set_aside) = &self.set_aside else {
            return Ok(Paged::Enough);
        };
        let Some(from) = set_aside.next.filter(|_| self.machine.wants_given()) else {
            return Ok(Paged::Enough);
        };
        let name = set_aside.name.clone();
        let behind = set_aside::behind(&name, from.checked_sub(1));
        let page = self.core.store.documents(MARKS, Some(&behind), GIVEN_PAGE).await?;
        let mut next = None;
        for document in &page {
            let Some(offset) = set_aside::offset_below(&name, &document.key) else {
                next = None;
                break;
            };
            next = offset.checked_add(1).filter(|_| page.len() == GIVEN_PAGE);
            let mark: GivenMark = set_aside::read(MARKS, document)?;
            if mark.state != MarkState::Waiting || mark.parked {
                continue;
            }
            if self.give_one(offset, mark) == GiveAnswer::Unsettled {
                // Those behind it wait with it.
                self.read_on_from(Some(offset));
                return Ok(Paged::Enough);
            }
        }
        self.read_on_from(next);
        Ok(if next.is_some() { Paged::More } else { Paged::Enough })
    }

    fn read_on_from(&mut self, next: Option<Offset>) {
        if let Some(set_aside) = &mut self.set_aside {
            set_aside.next = next;
        }
    }

    fn give_one(&mut self, offset: Offset, mark: GivenMark) -> GiveAnswer {
        let event = GivenEvent {
            offset,
            key_hash: mark.key.as_deref().map(key_hash),
            lane: self.lane_by(mark.key.as_deref(), mark.event),
            failures: mark.failures.clone().into(),
            parked: None,
        };
        let answer = self.machine.give(event);
        if answer == GiveAnswer::Taken
            && let Some(set_aside) = &mut self.set_aside
        {
            set_aside.items.insert(offset, GivenItem { mark, parked: None });
        }
        answer
    }

    /// Adds what became of given events, and the end of parked keys, to the commit that settles them.
    pub(super) fn add_given(&mut self, work: &mut UnitOfWork, changes: &Changes) -> Result<(), Error> {
        let now = self.core.clock.now_ms();
        let Some(set_aside) = &mut self.set_aside else {
            return Ok(());
        };
        for (offset, step) in &changes.given {
            if let Some(item) = set_aside.items.get_mut(offset) {
                item.took(step, now);
                item.add_to(work, &set_aside.name, *offset, step)?;
            }
        }
        for key in &changes.unparked {
            work.write(DocumentWrite::delete(KEYS, &set_aside::parked_key_key(&set_aside.name, *key)));
            set_aside.keys.remove(key);
        }
        if let Some(from) = self.machine.first_given().or(set_aside.next)
            && set_aside.gate.from.is_some_and(|stored| from >= stored.saturating_add(GIVEN_PAGE as u64))
            && set_aside.next.is_none_or(|next| from <= next)
        {
            set_aside.gate.from = Some(from);
            work.write(set_aside::put(GATES, &set_aside.name, &set_aside.gate)?);
        }
        Ok(())
    }

    /// What became of given events is durable.
    pub(super) fn given_is_durable(&mut self, changes: &Changes) {
        self.machine.given_is_durable(&changes.given);
        if let Some(set_aside) = &mut self.set_aside {
            let done = changes.given.iter().filter(|(_, step)| !matches!(step, GivenStep::Failed(_)));
            done.for_each(|(offset, _)| {
                set_aside.items.remove(offset);
            });
        }
    }

    /// Nothing is set aside any more: says so in the store, and costs nothing from then on.
    pub(super) async fn end_set_aside(&mut self) {
        let is_over = |set_aside: &SetAside| {
            set_aside.next.is_none()
                && set_aside.items.is_empty()
                && set_aside.keys.is_empty()
                && self.machine.has_given_all()
                && self.machine.parks_nothing()
        };
        if self.set_aside.is_none() || !self.settlement.is_idle() || !self.letters.is_idle() {
            return;
        }
        if !self.set_aside.as_deref().is_some_and(is_over) {
            return self.end_queue().await;
        }
        let Some(set_aside) = self.set_aside.take() else {
            return;
        };
        if !set_aside.is_stored {
            return;
        }
        let mut work = self.core.unit_of_work();
        work.write(DocumentWrite::delete(GATES, &set_aside.name));
        work.change_cursor(self.cursor.clone(), self.fence());
        if let Err(error) = work.send().await {
            tracing::warn!(cursor = %self.cursor, %error, "it stays marked as having something set aside");
            self.set_aside = Some(set_aside);
            self.reads.failed(self.now());
        }
    }

    /// Keys are parked, and nothing else waits: their letters alone are to be kept.
    async fn end_queue(&mut self) {
        let Some(set_aside) = &mut self.set_aside else {
            return;
        };
        let waits = set_aside.next.is_some() || set_aside.items.values().any(|item| item.parked.is_none());
        if set_aside.gate == Gate::default() || waits {
            return;
        }
        let before = std::mem::take(&mut set_aside.gate);
        let mut work = self.core.unit_of_work();
        let written = set_aside::put(GATES, &set_aside.name, &set_aside.gate).map(|write| work.write(write));
        work.change_cursor(self.cursor.clone(), self.fence());
        let done = match written {
            Ok(()) => work.send().await.map(drop).map_err(Error::from),
            Err(error) => Err(error),
        };
        if let (Err(error), Some(set_aside)) = (done, &mut self.set_aside) {
            tracing::warn!(cursor = %self.cursor, %error, "more letters are kept than is needed");
            set_aside.gate = before;
        }
    }

    /// An event that was given back, from its letter: its log has it no more.
    pub(super) async fn record_of_letter(&mut self, offset: Offset) -> Result<Option<Record>, Error> {
        let Some((letter, place)) = self.set_aside.as_ref().and_then(|set_aside| {
            let item = set_aside.items.get(&offset)?;
            // Of a parked event its own letter counts: an earlier one may have been given back last.
            let parked = item.parked.as_ref().map(|(_, parked)| parked.letter);
            let place = item.mark.place.filter(|_| parked.is_none_or(|letter| letter == item.mark.letter));
            Some((parked.unwrap_or(item.mark.letter), place))
        }) else {
            return Ok(None);
        };
        let Some(topic) = self.cursor.log.topic.dead_letters().and_then(|topic| self.core.topics.get(&topic)) else {
            return Ok(None);
        };
        for log in topic.logs() {
            if place.is_some_and(|place| place.partition != log.partition) {
                continue;
            }
            if let Some(record) = self.letter_in(log, letter, place).await? {
                return letter_ref::original(log, &record).map(Some);
            }
        }
        Ok(None)
    }

    async fn letter_in(
        &mut self,
        log: &LogName,
        letter: EventId,
        place: Option<LetterPlace>,
    ) -> Result<Option<Record>, StoreError> {
        let offset = match place {
            Some(place) => place.offset,
            None => match self.core.store.find(log, prom_store::Find::Id(letter)).await? {
                Some(offset) => offset,
                None => return Ok(None),
            },
        };
        let one = ReadLimit { events: 1, ..ReadLimit::default() };
        let batch = self.core.store.read(log, offset, one).await?;
        Ok(batch.records.into_iter().next().filter(|record| record.id() == letter))
    }
}

impl GivenItem {
    fn took(&mut self, step: &GivenStep, now: prom_types::EpochMs) {
        let state = match step {
            GivenStep::Acked => MarkState::Acked,
            GivenStep::Gone => MarkState::Gone,
            GivenStep::Failed(failures) => return self.failed(failures),
        };
        self.mark = self.mark.clone().ended(state, now);
    }

    fn failed(&mut self, failures: &Failures) {
        self.mark.failures = failures.clone().into();
        if let Some((_, parked)) = &mut self.parked {
            parked.failures = failures.clone().into();
        }
    }

    fn add_to(&self, work: &mut UnitOfWork, name: &str, offset: Offset, step: &GivenStep) -> Result<(), Error> {
        work.write(set_aside::put(MARKS, &set_aside::mark_key(name, offset), &self.mark)?);
        if let Some((hash, parked)) = &self.parked {
            let key = set_aside::parked_letter_key(name, *hash, offset);
            work.write(match step {
                GivenStep::Failed(_) => set_aside::put(PARKED, &key, parked)?,
                GivenStep::Acked | GivenStep::Gone => DocumentWrite::delete(PARKED, &key),
            });
        }
        Ok(())
    }
}
