//! The letters of keys that are parked: what is written with them, so that the store says what is parked.
//!
//! A letter that parks its key, follows one, or tells that a given event is dead again has its documents in its own commit, beside the
//! settlement. So a crash leaves all of it or nothing.

use std::collections::BTreeMap;

use prom_store::DocumentWrite;
use prom_types::{EventId, Offset};

use super::DispatchTask;
use super::letters::NextLetter;
use super::scan::ReadBack;
use super::set_aside::SetAside;
use crate::Error;
use crate::dead_letter;
use crate::dispatch::{Dead, LetterFate};
use crate::set_aside::{
    self, CountedFailures, GATES, GivenMark, KEYS, MARKS, MarkState, PARKED, ParkedKeyDocument, ParkedLetter, gate_key,
};

impl DispatchTask {
    /// What people read when they ask why.
    pub(super) fn reason_of(&self, dead: &Dead) -> String {
        let LetterFate::Follows { key } = dead.fate else {
            return dead_letter::reason(dead);
        };
        match self.set_aside.as_ref().and_then(|set_aside| set_aside.keys.get(&key)) {
            Some(key) if dead.attempts == 0 => dead_letter::parked_behind(key.behind),
            _ => dead_letter::reason(dead),
        }
    }

    /// What is read of a given event that its log has no more.
    pub(super) async fn or_from_letter(&mut self, offset: Offset, found: ReadBack) -> ReadBack {
        if !matches!(found, ReadBack::Gone) || !self.machine.is_given(offset) {
            return found;
        }
        match self.record_of_letter(offset).await {
            Ok(Some(record)) => ReadBack::Record(record),
            Ok(None) => {
                tracing::error!(cursor = %self.cursor, offset, "neither the event that was given back nor its letter is there any more");
                ReadBack::Gone
            }
            Err(error) => {
                tracing::error!(cursor = %self.cursor, offset, %error, "a letter cannot be read; trying again");
                let now = self.now();
                self.reads.failed(now);
                ReadBack::Unread
            }
        }
    }

    /// The documents that go with a letter. It learns how often its event was given back.
    pub(super) async fn documents_of(&mut self, next: &mut NextLetter) -> Result<Vec<DocumentWrite>, Error> {
        let offset = next.letter.record.offset();
        match next.fate {
            LetterFate::Settles => {
                next.letter.given_back = self.times_given_back(offset).await?;
                Ok(Vec::new())
            }
            LetterFate::GivenBack { parked } => self.dead_again(next, parked),
            LetterFate::Parks { key } | LetterFate::Follows { key } => self.parked_with(next, key).await,
        }
    }

    /// What its letter parked, or ended, is durable.
    pub(super) fn fate_is_durable(&mut self, offset: Offset, fate: LetterFate) {
        let Some(set_aside) = &mut self.set_aside else {
            return;
        };
        match fate {
            LetterFate::GivenBack { .. } => drop(set_aside.items.remove(&offset)),
            LetterFate::Parks { .. } => set_aside.is_stored = true,
            LetterFate::Settles | LetterFate::Follows { .. } => {}
        }
    }

    /// A given event failed for good once more: a new letter, and its parked key waits behind it.
    fn dead_again(&mut self, next: &mut NextLetter, parked: Option<u64>) -> Result<Vec<DocumentWrite>, Error> {
        let (offset, event) = (next.letter.record.offset(), next.letter.record.id());
        let now = self.core.clock.now_ms();
        let mut documents = Vec::new();
        let Some(set_aside) = &mut self.set_aside else {
            return Ok(documents);
        };
        let Some(item) = set_aside.items.get(&offset) else {
            return Ok(documents);
        };
        let time = item.mark.time;
        next.letter.given_back = time;
        let letter = dead_letter::id_of(&self.cursor, offset, time);
        let mark = GivenMark { next: Some(letter), parked: false, ..item.mark.clone().ended(MarkState::Dead, now) };
        documents.push(set_aside::put(MARKS, &set_aside::mark_key(&set_aside.name, offset), &mark)?);
        if let Some(hash) = parked {
            let held = parked_letter(letter, event, time);
            let name = set_aside::parked_letter_key(&set_aside.name, hash, offset);
            documents.push(set_aside::put(PARKED, &name, &held)?);
            if let Some(key) = set_aside.keys.get_mut(&hash) {
                (key.behind, key.flows_from) = (event, None);
                documents.push(set_aside::put(KEYS, &set_aside::parked_key_key(&set_aside.name, hash), key)?);
            }
        }
        Ok(documents)
    }

    /// An event that parks its key, or lies behind it.
    async fn parked_with(&mut self, next: &mut NextLetter, hash: u64) -> Result<Vec<DocumentWrite>, Error> {
        let (offset, event) = (next.letter.record.offset(), next.letter.record.id());
        let name = gate_key(&self.cursor);
        let place = set_aside::parked_letter_key(&name, hash, offset);
        let mut documents = Vec::new();
        // The cursor was moved back, and it is parked since before that.
        if let Some(there) = set_aside::read_one::<ParkedLetter>(&*self.core.store, PARKED, &place).await? {
            next.letter.given_back = there.given_back;
        } else {
            let given_back = self.times_given_back(offset).await?;
            next.letter.given_back = given_back;
            let letter = dead_letter::id_of(&self.cursor, offset, given_back);
            documents.push(set_aside::put(PARKED, &place, &parked_letter(letter, event, given_back))?);
        }
        if let LetterFate::Parks { .. } = next.fate {
            let letters_from = self.heads_of_letters().await?;
            let since = self.core.clock.now_ms();
            let key = next.letter.record.key().unwrap_or_default().to_owned();
            let key = ParkedKeyDocument { key, behind: event, since, letters_from, flows_from: None };
            documents.push(set_aside::put(KEYS, &set_aside::parked_key_key(&name, hash), &key)?);
            let set_aside = self.set_aside.get_or_insert_with(|| Box::new(SetAside::of(&self.cursor)));
            set_aside.keys.insert(hash, key);
            if !set_aside.is_stored {
                documents.push(set_aside::put(GATES, &name, &set_aside.gate)?);
            }
        }
        Ok(documents)
    }

    async fn times_given_back(&mut self, offset: Offset) -> Result<u32, Error> {
        let name = gate_key(&self.cursor);
        if self.has_marks.is_none() {
            let first = self.core.store.documents(MARKS, Some(&set_aside::behind(&name, None)), 1).await?;
            let is_ours = |key: &str| set_aside::offset_below(&name, key).is_some();
            self.has_marks = Some(first.iter().any(|first| is_ours(&first.key)));
        }
        if self.has_marks != Some(true) {
            return Ok(0);
        }
        let mark =
            set_aside::read_one::<GivenMark>(&*self.core.store, MARKS, &set_aside::mark_key(&name, offset)).await?;
        Ok(mark.map_or(0, |mark| mark.time))
    }

    /// No letter that is written from now on lies before these offsets.
    async fn heads_of_letters(&mut self) -> Result<BTreeMap<u32, Offset>, Error> {
        let mut heads = BTreeMap::from([(0, 0)]);
        let topic = self.cursor.log.topic.dead_letters().and_then(|topic| self.core.topics.get(&topic));
        for log in topic.iter().flat_map(|topic| topic.logs()) {
            heads.insert(log.partition, self.core.store.bounds(log).await?.next);
        }
        Ok(heads)
    }
}

fn parked_letter(letter: EventId, event: EventId, given_back: u32) -> ParkedLetter {
    ParkedLetter { letter, event, given_back, given: false, failures: CountedFailures::default() }
}
