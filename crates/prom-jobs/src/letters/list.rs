//! A page of letters, newest first: found by the index, read only where the letter itself has to be looked at or shown.
//!
//! Promises: what a page costs is bounded, whatever is asked for. One that ends early says where to go on. Letters that come
//! meanwhile shift nothing.

use std::collections::BTreeMap;

use prom_engine::{Bus, StoredEvent, TopicOffsets};
use prom_types::{EpochMs, Offset, TopicName};

use super::block::{BLOCK_OFFSETS, BlockAt, LetterBlock};
use super::book::read_block;
use super::filter::{LetterFilter, LetterProgram, LetterStanding};
use super::letter::{FoundLetter, LetterReplay, letters_of, read_letter};
use super::parked::tell_what_went_on;
use super::read::read_places;
use crate::JobError;
use crate::limits::{LETTERS_AT_ONCE, LETTERS_LOOKED_AT, LETTERS_PAGE_BYTES, LETTERS_READ};

/// Letters, newest first.
#[derive(Debug)]
pub struct LetterPage {
    /// The letters.
    pub letters: Vec<FoundLetter>,
    /// Where the next page begins; `None` if there are no more.
    pub next: Option<TopicOffsets>,
}

/// One partition, from its end to its beginning.
struct Descent {
    partition: u32,
    /// Everything from here on was looked at.
    before: Offset,
    start: Offset,
    block: Option<LetterBlock>,
    /// Letters of the block that may match, the newest last.
    candidates: Vec<(EpochMs, Offset)>,
    /// Where the block begins.
    reached: Offset,
}

/// What a page may cost.
struct PageBudget {
    letters: usize,
    looks: usize,
    reads: usize,
    bytes: usize,
}

/// A letter that the index found.
struct Candidate {
    place: (u32, Offset),
    found: IndexedLetter,
}

/// What the index knows of a letter, for the one who reads it.
pub(super) struct IndexedLetter {
    fingerprint: String,
    deaths: u16,
    replay: Option<LetterReplay>,
}

impl IndexedLetter {
    pub fn of(block: &LetterBlock, offset: Offset) -> Option<Self> {
        let letter = block.get(offset)?;
        let replay = letter.mark().and_then(|mark| {
            let (job, by) = block.job(&mark)?.clone();
            Some(LetterReplay { job, by, at: mark.at, edited: mark.edited, outcome: mark.outcome })
        });
        Some(Self { fingerprint: block.fingerprint(letter).to_owned(), deaths: letter.deaths(), replay })
    }

    pub fn with(self, event: &StoredEvent) -> Option<FoundLetter> {
        let Self { fingerprint, deaths, replay } = self;
        Some(FoundLetter { fingerprint, deaths, replay, ..read_letter(event)? })
    }
}

/// A page of the topic's letters; `before` is where the page before it ended.
pub(super) async fn page(
    bus: &Bus,
    topic: &TopicName,
    filter: &LetterFilter,
    before: Option<TopicOffsets>,
    limit: usize,
) -> Result<LetterPage, JobError> {
    let letters = letters_of(topic)?;
    let bounds = match bus.bounds(&letters).await {
        Err(prom_engine::Error::UnknownTopic { .. }) => return Ok(LetterPage { letters: Vec::new(), next: None }),
        bounds => bounds?,
    };
    let mut budget =
        PageBudget { letters: limit, looks: LETTERS_LOOKED_AT, reads: LETTERS_READ, bytes: LETTERS_PAGE_BYTES };
    let mut descents: Vec<Descent> = (0..)
        .zip(&bounds)
        .map(|(partition, bounds)| {
            let asked = before.as_ref().and_then(|before| before.0.get(partition as usize).copied());
            let before = asked.unwrap_or(bounds.next).min(bounds.next);
            let candidates = Vec::new();
            Descent { partition, before, start: bounds.start, block: None, candidates, reached: before }
        })
        .collect();
    let program = LetterProgram::of(bus, filter).await?;
    let mut found = Vec::new();
    let mut is_cut = false;
    while budget.letters > 0 && budget.reads > 0 && budget.bytes > 0 {
        let most = if filter.is_of_index() { budget.letters.min(LETTERS_AT_ONCE) } else { LETTERS_AT_ONCE };
        let picked = pick(bus, topic, filter, &mut descents, &mut budget, most).await?;
        if picked.is_empty() {
            is_cut = budget.looks == 0;
            break;
        }
        is_cut = true;
        budget.reads = budget.reads.saturating_sub(picked.len());
        let places = picked.iter().map(|candidate| candidate.place).collect();
        let events = program.sift(bus, read_places(bus, &letters, places).await?).await?;
        take(picked, &events, filter, &mut descents, &mut budget, &mut found);
    }
    tell_what_went_on(bus, topic, &mut found).await?;
    if filter.standing == LetterStanding::Open {
        found.retain(|letter| letter.replay.is_none());
    }
    let next = || TopicOffsets(descents.iter().map(|descent| descent.before).collect());
    let is_more = is_cut && descents.iter().any(|descent| descent.before > descent.start);
    Ok(LetterPage { next: is_more.then(next), letters: found })
}

/// The newest letters that the index finds.
async fn pick(
    bus: &Bus,
    topic: &TopicName,
    filter: &LetterFilter,
    descents: &mut [Descent],
    budget: &mut PageBudget,
    most: usize,
) -> Result<Vec<Candidate>, JobError> {
    let mut picked = Vec::new();
    while picked.len() < most {
        for descent in descents.iter_mut() {
            descent.look(bus, topic, filter, budget).await?;
        }
        let newest = descents.iter_mut().filter(|descent| !descent.candidates.is_empty());
        let Some(newest) = newest.max_by_key(|descent| descent.candidates.last().map(|(ts, _)| *ts)) else {
            break;
        };
        let (Some((_, offset)), Some(block)) = (newest.candidates.pop(), &newest.block) else {
            break;
        };
        if let Some(found) = IndexedLetter::of(block, offset) {
            picked.push(Candidate { place: (newest.partition, offset), found });
        }
    }
    Ok(picked)
}

/// Takes those that match, as many as fit. What was looked at is behind.
fn take(
    picked: Vec<Candidate>,
    events: &BTreeMap<(u32, Offset), StoredEvent>,
    filter: &LetterFilter,
    descents: &mut [Descent],
    budget: &mut PageBudget,
    found: &mut Vec<FoundLetter>,
) {
    for Candidate { place, found: known } in picked {
        if budget.letters == 0 || budget.bytes == 0 {
            return;
        }
        if let Some(descent) = descents.get_mut(place.0 as usize) {
            descent.before = place.1;
        }
        let letter = events.get(&place).and_then(|event| Some((event, known.with(event)?)));
        if let Some((event, letter)) = letter.filter(|(_, letter)| filter.matches(letter)) {
            budget.letters -= 1;
            budget.bytes = budget.bytes.saturating_sub(event.record().len());
            found.push(letter);
        }
    }
}

impl Descent {
    /// Goes down block by block until it finds something, or nothing may be looked at any more.
    async fn look(
        &mut self,
        bus: &Bus,
        topic: &TopicName,
        filter: &LetterFilter,
        budget: &mut PageBudget,
    ) -> Result<(), JobError> {
        while self.candidates.is_empty() && self.reached > self.start && budget.looks > 0 {
            let Some(at) = self.block_below(filter) else {
                self.reached = self.start;
                self.before = self.before.min(self.start);
                return Ok(());
            };
            budget.looks = budget.looks.saturating_sub(BLOCK_OFFSETS as usize);
            let block = read_block(bus, topic, at).await?;
            let end = self.reached.min(at.end());
            let may_match = |(offset, letter): &(Offset, &_)| {
                *offset < end
                    && *offset >= self.start
                    && filter.takes_place(self.partition, *offset)
                    && filter.may_match(&block, letter)
            };
            self.candidates =
                block.letters().filter(may_match).map(|(offset, letter)| (letter.stored_ts(), offset)).collect();
            if self.candidates.is_empty() {
                self.before = at.first_offset().max(self.start);
            }
            self.reached = at.first_offset().max(self.start);
            self.block = Some(block);
        }
        Ok(())
    }

    /// The next block that can hold what is asked for.
    fn block_below(&self, filter: &LetterFilter) -> Option<BlockAt> {
        let last = match &filter.places {
            None => self.reached - 1,
            Some(places) => {
                let below = places.partition_point(|place| *place < (self.partition, self.reached));
                let last = places.get(below.checked_sub(1)?)?;
                (last.0 == self.partition).then_some(last.1)?
            }
        };
        Some(BlockAt::of(self.partition, last))
    }
}
