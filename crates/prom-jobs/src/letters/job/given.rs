//! Giving letters back to the group that gave up on them, and their outcome.
//!
//! The engine hands the event out again at its offset, to that group alone, and remembers that it did: asked again after a crash it
//! says so. So letters are given back first and marked after it.

use std::collections::BTreeMap;

use prom_engine::{Bus, GivenBack, LetterOutcome, LetterRef, Owner};
use prom_types::{Offset, TopicName};

use super::super::block::{BlockAt, ReplayOutcome};
use super::super::desk::LetterDesk;
use super::super::letter::{FoundLetter, read_letter};
use super::super::parked::{HeldLetter, LETTERS_ASKED, held_letters, parks_keys};
use super::super::read::read_places;
use super::document::{LetterOrder, LetterWork, StoredJob};
use super::step::LetterSent;
use crate::JobError;

/// Whether another hub serves the group whose letters these are: only that one hands its events out, and drops them.
pub(super) async fn is_served_elsewhere(bus: &Bus, order: &LetterOrder) -> Result<bool, JobError> {
    let Some(group) = order.filter.group.as_ref().filter(|_| order.work != LetterWork::ToTopic) else {
        return Ok(false);
    };
    Ok(matches!(bus.owner_of(group).await?, Owner::There { .. }))
}

/// Gives letters back, each once.
pub(super) async fn give_back(desk: &LetterDesk, letters: &[FoundLetter]) -> Result<Vec<LetterSent>, JobError> {
    let named: Vec<LetterRef> = letters.iter().filter_map(FoundLetter::named).collect();
    let mut given = desk.bus.give_back(&desk.topic, &named).await?.into_iter();
    let sent = letters.iter().map(|letter| match letter.named().and_then(|_| given.next()) {
        Some(GivenBack::Given { .. } | GivenBack::Already(_)) => LetterSent::Added { edited: false },
        // A newer letter tells of the event.
        Some(GivenBack::Superseded { .. }) => LetterSent::Left,
        Some(GivenBack::NoGroup) => {
            LetterSent::Unfit(format!("group {} does not read {} any more", letter.group, desk.topic))
        }
        None => LetterSent::Unfit("the original cannot be read".to_owned()),
    });
    Ok(sent.collect())
}

/// Lets the keys go on that these letters hold. Nothing is done to letters that hold none, or whose group another hub serves.
pub(super) async fn drop_held(desk: &LetterDesk, letters: &[FoundLetter]) -> Result<(), JobError> {
    let mut by_group: BTreeMap<_, Vec<LetterRef>> = BTreeMap::new();
    for letter in letters.iter().filter_map(FoundLetter::named) {
        by_group.entry(letter.group.clone()).or_default().push(letter);
    }
    for (group, letters) in by_group {
        let is_ours = !matches!(desk.bus.owner_of(&group).await?, Owner::There { .. });
        if is_ours && parks_keys(&desk.bus, &desk.topic, &group).await? {
            desk.bus.drop_letters(&desk.topic, &letters).await?;
        }
    }
    Ok(())
}

/// What becomes of letters whose events are not published, because their group handles them by itself; in their order.
pub(super) async fn left_to_their_groups(
    bus: &Bus,
    topic: &TopicName,
    letters: &[FoundLetter],
) -> Result<Vec<Option<LetterSent>>, JobError> {
    let held = held_letters(bus, topic, letters).await?;
    let left = letters.iter().zip(held).map(|(letter, held)| match held? {
        HeldLetter::WentOn(_) => Some(LetterSent::Left),
        HeldLetter::Parked => Some(LetterSent::Unfit(is_parked(topic, letter))),
    });
    Ok(left.collect())
}

fn is_parked(topic: &TopicName, letter: &FoundLetter) -> String {
    let (group, key) = (&letter.group, letter.key.as_deref().unwrap_or_default());
    format!(
        "key {key:?} is parked for group {group}, which would park the new event as well; give the letters back instead \
         (`prom dlq replay {topic} --group {group} --to-group`), or purge this one and publish a corrected event"
    )
}

/// What is known of the events of a block that were given back and not counted.
pub(super) async fn outcomes(
    desk: &mut LetterDesk,
    stored: &StoredJob,
    at: BlockAt,
) -> Result<BTreeMap<Offset, ReplayOutcome>, JobError> {
    if stored.job.order.work != LetterWork::ToGroup {
        return Ok(BTreeMap::new());
    }
    let id = stored.job.id.to_string();
    let block = desk.book.block(&desk.bus, at).await?;
    let waiting = block.marked_by(&id).filter(|(_, _, mark)| mark.outcome == ReplayOutcome::Waiting);
    let places = waiting.map(|(offset, ..)| (at.partition, offset)).collect();
    let events = read_places(&desk.bus, &desk.letters, places).await?;
    let named = events.values().filter_map(|event| Some((event.offset(), read_letter(event)?.named()?)));
    let (offsets, named): (Vec<Offset>, Vec<LetterRef>) = named.unzip();
    let mut known = BTreeMap::new();
    for (offsets, named) in offsets.chunks(LETTERS_ASKED).zip(named.chunks(LETTERS_ASKED)) {
        let outcomes = desk.bus.letter_outcomes(&desk.topic, named).await?;
        known.extend(offsets.iter().copied().zip(outcomes).filter_map(|(offset, outcome)| {
            let outcome = match outcome {
                LetterOutcome::NotGivenBack | LetterOutcome::Parked | LetterOutcome::Waiting { .. } => return None,
                LetterOutcome::DeadAgain { .. } => ReplayOutcome::DeadAgain,
                LetterOutcome::Acked { .. } | LetterOutcome::Dropped { .. } | LetterOutcome::Gone { .. } => {
                    ReplayOutcome::Acked
                }
            };
            Some((offset, outcome))
        }));
    }
    Ok(known)
}
