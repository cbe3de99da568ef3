//! Letters that their group settles by itself: those of a parked key, and those that went on behind others that were given back.
//!
//! The group knows of both, and the book does not. Promises: the event of such a letter is not published again, as the group would
//! handle it twice; one that went on by itself is not told to be open.

use std::collections::BTreeSet;

use prom_engine::{Bus, Error, LetterOutcome, LetterRef, PARKED_BEHIND};
use prom_types::{EpochMs, GroupName, TopicName};

use super::block::ReplayOutcome;
use super::letter::{FoundLetter, LetterReplay};
use crate::JobError;

/// Letters that the engine tells of at once.
pub(super) const LETTERS_ASKED: usize = 1000;

/// What a group does with a letter that nobody handed out.
pub(super) enum HeldLetter {
    /// Its key is parked.
    Parked,
    /// It went on behind others of its key.
    WentOn(LetterReplay),
}

/// Of letters of a topic, in their order; `None` where the group does nothing.
pub(super) async fn held_letters(
    bus: &Bus,
    topic: &TopicName,
    letters: &[FoundLetter],
) -> Result<Vec<Option<HeldLetter>>, JobError> {
    let groups: BTreeSet<&GroupName> = letters.iter().map(|letter| &letter.group).collect();
    let mut parking = BTreeSet::new();
    for group in groups {
        if parks_keys(bus, topic, group).await? {
            parking.insert(group);
        }
    }
    asked(bus, topic, letters, |letter| is_follower(letter) || parking.contains(&letter.group)).await
}

/// Adds to letters that are open, as far as the index knows, how they went on by themselves.
pub(super) async fn tell_what_went_on(
    bus: &Bus,
    topic: &TopicName,
    letters: &mut [FoundLetter],
) -> Result<(), JobError> {
    let held = asked(bus, topic, letters, is_follower).await?;
    for (letter, held) in letters.iter_mut().zip(held) {
        if let Some(HeldLetter::WentOn(replay)) = held {
            letter.replay = Some(replay);
        }
    }
    Ok(())
}

/// Whether the group has a parked key. One that is gone, or reads the topic no more, holds nothing.
pub(super) async fn parks_keys(bus: &Bus, topic: &TopicName, group: &GroupName) -> Result<bool, JobError> {
    match bus.parked_keys(topic, group, None, 1).await {
        Err(Error::UnknownGroup { .. } | Error::NotOfTheGroup { .. } | Error::UnknownTopic { .. }) => Ok(false),
        page => Ok(!page?.keys.is_empty()),
    }
}

/// Only what was parked behind another goes on by itself.
fn is_follower(letter: &FoundLetter) -> bool {
    letter.err.starts_with(PARKED_BEHIND)
}

async fn asked(
    bus: &Bus,
    topic: &TopicName,
    letters: &[FoundLetter],
    is_asked: impl Fn(&FoundLetter) -> bool,
) -> Result<Vec<Option<HeldLetter>>, JobError> {
    let open = letters.iter().enumerate().filter(|(_, letter)| letter.replay.is_none() && is_asked(letter));
    let (places, named): (Vec<usize>, Vec<LetterRef>) =
        open.filter_map(|(at, letter)| Some((at, letter.named()?))).unzip();
    let mut held: Vec<Option<HeldLetter>> = letters.iter().map(|_| None).collect();
    for (places, named) in places.chunks(LETTERS_ASKED).zip(named.chunks(LETTERS_ASKED)) {
        let outcomes = bus.letter_outcomes(topic, named).await?;
        for (at, outcome) in places.iter().zip(outcomes) {
            if let (Some(place), Some(letter)) = (held.get_mut(*at), letters.get(*at)) {
                *place = held_by(letter, &outcome);
            }
        }
    }
    Ok(held)
}

fn held_by(letter: &FoundLetter, outcome: &LetterOutcome) -> Option<HeldLetter> {
    let went_on = |outcome: ReplayOutcome, at: EpochMs| {
        // No job did it.
        let replay = LetterReplay { job: String::new(), by: None, at, edited: false, outcome };
        Some(HeldLetter::WentOn(replay))
    };
    match outcome {
        LetterOutcome::NotGivenBack => None,
        LetterOutcome::Parked => Some(HeldLetter::Parked),
        LetterOutcome::Waiting { .. } => went_on(ReplayOutcome::Waiting, letter.stored_ts),
        LetterOutcome::DeadAgain { .. } => went_on(ReplayOutcome::DeadAgain, letter.stored_ts),
        LetterOutcome::Acked { at, .. } | LetterOutcome::Dropped { at } | LetterOutcome::Gone { at } => {
            went_on(ReplayOutcome::Acked, *at)
        }
    }
}
