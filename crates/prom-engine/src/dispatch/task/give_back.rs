//! Giving letters back and dropping them, as ordered: durable first, then in memory.
//!
//! What settlements gathered goes into the same commit, so that the documents say all that is known when the order is answered.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, stream};
use prom_store::{CursorChange, DocumentWrite};
use prom_types::{Offset, key_hash};

use super::set_aside::SetAside;
use super::{DispatchTask, End};
use crate::commit::UnitOfWork;
use crate::give_back::LetterReply;
use crate::letter_ref::LetterRef;
use crate::limits::DOCUMENT_READS;
use crate::set_aside::{self, CountedFailures, GATES, GivenMark, KEYS, MARKS, MarkState, PARKED, ParkedLetter};
use crate::{DroppedLetter, Error, GivenBack};

/// What is to be done with letters of this cursor.
pub(crate) enum LetterRequest {
    GiveBack { letters: Vec<LetterRef>, subject: Option<Arc<str>>, reply: LetterReply<GivenBack> },
    Drop { letters: Vec<LetterRef>, subject: Option<Arc<str>>, reply: LetterReply<DroppedLetter> },
}

/// What the store has of the event of a letter.
struct Stored {
    mark: Option<GivenMark>,
    parked: Option<ParkedLetter>,
}

/// A commit that gives letters back, and the answers for them.
struct GiveOrder {
    work: UnitOfWork,
    ordered: Ordered,
    answers: Vec<GivenBack>,
}

/// What the machine is told once an order is durable.
#[derive(Default)]
struct Ordered {
    /// Parked keys that have another first event, perhaps.
    keys: BTreeSet<u64>,
    /// Events that wait outside of parked keys.
    queued: Vec<Offset>,
    dropped: Vec<Offset>,
}

impl LetterRequest {
    pub fn refuse(self, error: Error) {
        match self {
            Self::GiveBack { reply, .. } => drop(reply.send(Err(error))),
            Self::Drop { reply, .. } => drop(reply.send(Err(error))),
        }
    }
}

impl DispatchTask {
    pub(super) async fn order_letters(&mut self, order: LetterRequest) -> Option<End> {
        if let Some(end) = self.finish_commits().await {
            order.refuse(Error::fenced(&self.cursor));
            return Some(end);
        }
        match order {
            LetterRequest::GiveBack { letters, subject, reply } => {
                let done = self.give_letters_back(&letters, subject.as_deref()).await;
                self.answer_letters(done, reply)
            }
            LetterRequest::Drop { letters, subject, reply } => {
                let done = self.drop_letters(&letters, subject.as_deref()).await;
                self.answer_letters(done, reply)
            }
        }
    }

    fn answer_letters<A>(&self, done: Result<Vec<A>, Error>, reply: LetterReply<A>) -> Option<End> {
        let end = matches!(done, Err(Error::Fenced { .. })).then_some(End::Failed(Error::fenced as _));
        let _caller_left = reply.send(done);
        end
    }

    async fn give_letters_back(&mut self, letters: &[LetterRef], by: Option<&str>) -> Result<Vec<GivenBack>, Error> {
        let stored = self.stored_of(letters).await?;
        let mut set_aside = self.set_aside.take().unwrap_or_else(|| Box::new(SetAside::of(&self.cursor)));
        let mut order = GiveOrder { work: self.core.unit_of_work(), ordered: Ordered::default(), answers: Vec::new() };
        let noted = self.note_given(letters, &stored, by, &mut set_aside, &mut order);
        self.set_aside = Some(set_aside);
        noted?;
        let GiveOrder { work, ordered, answers } = order;
        if ordered.is_empty() {
            return Ok(answers);
        }
        self.commit_order(work).await?;
        if let Some(set_aside) = &mut self.set_aside {
            set_aside.is_stored = true;
            ordered.queued.iter().for_each(|offset| set_aside.read_from(*offset));
        }
        ordered.keys.iter().for_each(|key| self.machine.look_at_parked(*key));
        self.has_marks = Some(true);
        Ok(answers)
    }

    fn note_given(
        &self,
        letters: &[LetterRef],
        stored: &[Stored],
        by: Option<&str>,
        set_aside: &mut SetAside,
        order: &mut GiveOrder,
    ) -> Result<(), Error> {
        let now = self.core.clock.now_ms();
        let mut given_here: BTreeMap<Offset, GivenMark> = BTreeMap::new();
        for (letter, stored) in letters.iter().zip(stored) {
            let before = given_here.get(&letter.offset).or(stored.mark.as_ref());
            if let Some(answer) = before.and_then(|mark| not_to_be_given(mark, letter)) {
                order.answers.push(answer);
                continue;
            }
            let time = letter.given_back.saturating_add(1);
            let hash = letter.key.as_deref().map(key_hash).filter(|hash| set_aside.keys.contains_key(hash));
            let mark = GivenMark { parked: hash.is_some(), ..GivenMark::waiting(letter, time, by, now) };
            order.work.write(set_aside::put(MARKS, &set_aside::mark_key(&set_aside.name, letter.offset), &mark)?);
            match hash {
                Some(hash) => {
                    let key = set_aside::parked_letter_key(&set_aside.name, hash, letter.offset);
                    order.work.write(set_aside::put(PARKED, &key, &ParkedLetter::given(letter))?);
                    order.ordered.keys.insert(hash);
                }
                None => set_aside.queue(letter, &mut order.ordered),
            }
            given_here.insert(letter.offset, mark);
            order.answers.push(GivenBack::Given { time });
        }
        self.let_flow(&mut order.work, set_aside, &order.ordered.keys)?;
        order.work.write(set_aside::put(GATES, &set_aside.name, &set_aside.gate)?);
        Ok(())
    }

    /// Events of these keys that are parked from now on go on behind what is given back.
    fn let_flow(&self, work: &mut UnitOfWork, set_aside: &mut SetAside, keys: &BTreeSet<u64>) -> Result<(), Error> {
        for hash in keys {
            if let Some(key) = set_aside.keys.get_mut(hash) {
                key.flows_from = Some(self.machine.not_parked_from(*hash));
                work.write(set_aside::put(KEYS, &set_aside::parked_key_key(&set_aside.name, *hash), key)?);
            }
        }
        Ok(())
    }

    async fn drop_letters(&mut self, letters: &[LetterRef], by: Option<&str>) -> Result<Vec<DroppedLetter>, Error> {
        let stored = self.stored_of(letters).await?;
        let now = self.core.clock.now_ms();
        let (mut work, mut ordered) = (self.core.unit_of_work(), Ordered::default());
        let name = set_aside::gate_key(&self.cursor);
        let mut answers = Vec::with_capacity(letters.len());
        let mut dropped_here = BTreeSet::new();
        for (letter, Stored { mark, parked }) in letters.iter().zip(stored) {
            // Only the newest letter of an event is what is parked, or waits.
            let waiting = mark.filter(|mark| mark.state == MarkState::Waiting && mark.letter == letter.letter);
            let parked = parked.filter(|parked| parked.letter == letter.letter);
            if (waiting.is_none() && parked.is_none()) || !dropped_here.insert(letter.offset) {
                answers.push(DroppedLetter::NotSetAside);
                continue;
            }
            let time = letter.given_back.saturating_add(1);
            let mark = waiting.unwrap_or_else(|| GivenMark::waiting(letter, time, by, now));
            let mark = GivenMark { parked: false, ..mark.ended(MarkState::Dropped, now) };
            work.write(set_aside::put(MARKS, &set_aside::mark_key(&name, letter.offset), &mark)?);
            if let Some(hash) = letter.key.as_deref().map(key_hash).filter(|_| parked.is_some()) {
                work.write(DocumentWrite::delete(PARKED, &set_aside::parked_letter_key(&name, hash, letter.offset)));
                ordered.keys.insert(hash);
            }
            ordered.dropped.push(letter.offset);
            answers.push(DroppedLetter::Dropped);
        }
        if ordered.is_empty() {
            return Ok(answers);
        }
        self.commit_order(work).await?;
        self.has_marks = Some(true);
        for offset in ordered.dropped {
            self.forget_letters(&(offset..offset + 1));
            for seat in &self.seats {
                drop(seat.outlet.forget_queued(&self.origin, offset..offset + 1));
            }
            self.machine.drop_given(offset);
            if let Some(set_aside) = &mut self.set_aside {
                set_aside.items.remove(&offset);
            }
        }
        ordered.keys.iter().for_each(|key| self.machine.look_at_parked(*key));
        Ok(answers)
    }

    /// With everything that has gathered, under the epoch of this dispatcher.
    async fn commit_order(&mut self, mut work: UnitOfWork) -> Result<(), Error> {
        let changes = self.machine.take_changes();
        match &changes {
            Some(changes) => {
                self.add_given(&mut work, changes)?;
                let (settled, failures) = (changes.settled.clone(), changes.failures.clone());
                let settle = CursorChange::Settle { epoch: self.epoch, settled, failures };
                work.change_cursor(self.cursor.clone(), settle);
            }
            None => work.change_cursor(self.cursor.clone(), self.fence()),
        }
        let done = work.send().await;
        match (done, changes) {
            (Ok(_), Some(changes)) => self.given_is_durable(&changes),
            (Ok(_), None) => {}
            (Err(error), changes) => {
                changes.into_iter().for_each(|changes| self.machine.restore_changes(changes));
                return Err(error.into());
            }
        }
        Ok(())
    }

    /// A change that changes nothing, and is refused once another dispatcher has the cursor.
    pub(super) fn fence(&self) -> CursorChange {
        CursorChange::Settle { epoch: self.epoch, settled: Vec::new(), failures: Vec::new() }
    }

    async fn stored_of(&mut self, letters: &[LetterRef]) -> Result<Vec<Stored>, Error> {
        let name = set_aside::gate_key(&self.cursor);
        let reads = letters.iter().map(|letter| {
            let mark = set_aside::mark_key(&name, letter.offset);
            let parked = letter.key.as_deref().map(|key| {
                let hash = key_hash(key);
                set_aside::parked_letter_key(&name, hash, letter.offset)
            });
            let store = self.core.store.clone();
            async move {
                let mark = set_aside::read_one(&*store, MARKS, &mark).await?;
                let parked = match parked {
                    Some(parked) => set_aside::read_one(&*store, PARKED, &parked).await?,
                    None => None,
                };
                Ok(Stored { mark, parked })
            }
        });
        let reads: Vec<_> = reads.collect();
        stream::iter(reads).buffered(DOCUMENT_READS).try_collect().await
    }
}

/// Why a letter is not given back, if it is not.
fn not_to_be_given(mark: &GivenMark, letter: &LetterRef) -> Option<GivenBack> {
    let time = letter.given_back.saturating_add(1);
    match time.cmp(&mark.time) {
        Ordering::Greater => None,
        Ordering::Equal => Some(GivenBack::Already(mark.outcome_of(letter.given_back))),
        Ordering::Less => {
            let given_back = if mark.state == MarkState::Dead { mark.time } else { mark.time - 1 };
            Some(GivenBack::Superseded { given_back })
        }
    }
}

impl ParkedLetter {
    fn given(letter: &LetterRef) -> Self {
        Self {
            letter: letter.letter,
            event: letter.event,
            given_back: letter.given_back,
            given: true,
            failures: CountedFailures::default(),
        }
    }
}

impl SetAside {
    /// Notes an event that waits outside of parked keys.
    fn queue(&mut self, letter: &LetterRef, ordered: &mut Ordered) {
        let from = self.gate.from.map_or(letter.offset, |from| from.min(letter.offset));
        self.gate.from = Some(from);
        let letters_from = self.gate.letters_from.entry(letter.place.partition).or_insert(letter.place.offset);
        *letters_from = letter.place.offset.min(*letters_from);
        ordered.queued.push(letter.offset);
    }
}

impl Ordered {
    fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.queued.is_empty() && self.dropped.is_empty()
    }
}
