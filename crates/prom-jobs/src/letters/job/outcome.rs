//! What became of the events that a job handed out: waiting, acked, or dead again.
//!
//! That an event died again is noted when its new letter comes into the book. That it was acked is seen at the cursor of its group:
//! it is settled, and the letters that were written until then are in the book. Each outcome is counted once.

use std::collections::{BTreeMap, HashSet};

use prom_engine::Error;
use prom_types::{GroupName, Offset};

use super::super::block::{BlockAt, ReplayOutcome};
use super::super::desk::LetterDesk;
use super::super::letter::republished_id;
use super::super::read::read_places;
use super::document::{LetterWork, StoredJob};
use super::given::outcomes;
use super::step::store;
use crate::JobError;

/// Events of a block, by group and the partition in which they are now.
type EventPlaces = BTreeMap<(String, u32), Vec<(Offset, Offset)>>;

/// Looks at some blocks, beginning with the one behind `after`, and counts what is new. Returns where to go on.
pub(super) async fn count(
    desk: &mut LetterDesk,
    stored: &mut StoredJob,
    after: Option<BlockAt>,
    blocks: usize,
) -> Result<Option<BlockAt>, JobError> {
    let open = stored
        .job
        .open
        .iter()
        .flat_map(|&(partition, from, end)| (from..end).map(move |number| BlockAt { partition, number }));
    let chosen: Vec<BlockAt> = open.filter(|at| after.is_none_or(|after| *at > after)).take(blocks).collect();
    for at in &chosen {
        count_block(desk, stored, *at).await?;
    }
    // At the end it begins again.
    Ok(chosen.last().copied().filter(|_| chosen.len() == blocks))
}

async fn count_block(desk: &mut LetterDesk, stored: &mut StoredJob, at: BlockAt) -> Result<(), JobError> {
    desk.catch_up().await?;
    let given = outcomes(desk, stored, at).await?;
    let places = waiting(desk, stored, at).await?;
    let unsettled = unsettled(desk, &places).await?;
    // The letters that were written before the cursors were looked at are in the book from here on.
    desk.catch_up().await?;
    desk.begin();
    let id = stored.job.id.to_string();
    let block = desk.book.block(&desk.bus, at).await?;
    let mut settled = Vec::new();
    let mut waiting = 0;
    for (offset, letter, mark) in block.marked_by(&id) {
        let is_settled = |place: (u32, Offset)| {
            let group = block.group(letter).to_owned();
            let was_asked =
                places.get(&(group.clone(), place.0)).is_some_and(|asked| asked.contains(&(place.1, place.1)));
            was_asked && !unsettled.contains(&(group, place.0, place.1))
        };
        match mark.outcome {
            _ if mark.counted => {}
            ReplayOutcome::Waiting if given.contains_key(&offset) => settled.push((offset, given[&offset])),
            ReplayOutcome::Waiting if mark.place.is_some_and(is_settled) => {
                settled.push((offset, ReplayOutcome::Acked))
            }
            ReplayOutcome::Waiting => waiting += 1,
            known => settled.push((offset, known)),
        }
    }
    let is_behind =
        stored.job.next.get(at.partition as usize).is_none_or(|next| *next >= at.end()) || stored.job.left() == 0;
    let closes = waiting == 0 && is_behind;
    if settled.is_empty() && !closes {
        desk.stored();
        return Ok(());
    }
    let block = desk.book.block_to_change(&desk.bus, at).await?;
    for (offset, outcome) in settled {
        if let Some(mark) = block.mark_of(offset) {
            (mark.outcome, mark.counted) = (outcome, true);
        }
        match outcome {
            ReplayOutcome::DeadAgain => stored.job.dead += 1,
            _ => stored.job.acked += 1,
        }
    }
    if closes {
        stored.job.closed(at.partition, at.number);
    }
    store(desk, stored, desk.bus.unit_of_work()).await.map(drop)
}

/// Where the events of a block are whose outcome is not known.
async fn waiting(desk: &mut LetterDesk, stored: &StoredJob, at: BlockAt) -> Result<EventPlaces, JobError> {
    if stored.job.order.work == LetterWork::ToGroup {
        return Ok(EventPlaces::new());
    }
    let id = stored.job.id.to_string();
    let block = desk.book.block(&desk.bus, at).await?;
    let mut places = EventPlaces::new();
    let mut unplaced = Vec::new();
    for (offset, letter, mark) in block.marked_by(&id).filter(|(_, _, mark)| mark.outcome == ReplayOutcome::Waiting) {
        match mark.place {
            Some((partition, event)) => {
                places.entry((block.group(letter).to_owned(), partition)).or_default().push((event, event));
            }
            None => unplaced.push((at.partition, offset)),
        }
    }
    // A step was stored, and the process ended before it had stored where its events are.
    let letters = read_places(&desk.bus, &desk.letters, unplaced).await?;
    for ((_, offset), letter) in letters {
        let place = desk.bus.find_event(&desk.topic, republished_id(letter.id())).await?;
        let block = desk.book.block_to_change(&desk.bus, at).await?;
        let group = block.get(offset).map(|letter| block.group(letter).to_owned());
        if let (Some(mark), Some(place), Some(group)) = (block.mark_of(offset), place, group) {
            mark.place = Some(place);
            places.entry((group, place.0)).or_default().push((place.1, place.1));
        }
    }
    places.values_mut().for_each(|offsets| offsets.sort_unstable());
    Ok(places)
}

/// Those among them that their groups have not settled. A group that is gone settles nothing.
async fn unsettled(desk: &LetterDesk, places: &EventPlaces) -> Result<HashSet<(String, u32, Offset)>, JobError> {
    let mut unsettled = HashSet::new();
    for ((group, partition), offsets) in places {
        let left = match GroupName::parse(group) {
            Ok(name) => match desk.bus.unsettled(&desk.topic, *partition, &name, offsets).await {
                Err(Error::UnknownTopic { .. }) => offsets.clone(),
                left => left?,
            },
            Err(_) => offsets.clone(),
        };
        for (from, to) in left {
            unsettled.extend((from..=to).map(|offset| (group.clone(), *partition, offset)));
        }
    }
    Ok(unsettled)
}
