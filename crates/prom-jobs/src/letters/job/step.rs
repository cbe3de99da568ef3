//! One step of a job: some letters of one block, their events, their marks and the progress, in one commit.
//!
//! Letters are taken partition by partition in offset order, so that the events of a key keep their order.

use std::collections::BTreeMap;
use std::sync::Arc;

use prom_engine::{Bus, Error, StoredEvent, UnitOfWork};
use prom_types::{Offset, Receipt};

use super::super::block::{BlockAt, NewMark};
use super::super::desk::LetterDesk;
use super::super::filter::LetterProgram;
use super::super::letter::{FoundLetter, read_letter};
use super::super::read::read_places;
use super::document::{LetterJobState, LetterWork, StoredJob};
use super::events::{EventMaker, MadeEvent};
use super::given::{drop_held, give_back, left_to_their_groups};
use crate::limits::{LETTER_BLOCKS_AT_ONCE, LETTERS_AT_ONCE, STEP_WRITTEN_BYTES};
use crate::source::about_the_event;
use crate::{JobError, UnfitEvent};

/// Letters that a step works on.
pub(super) struct StepLetters {
    pub at: BlockAt,
    pub letters: Vec<FoundLetter>,
    /// The next step of this partition begins here.
    pub next: Offset,
}

/// What became of a letter's event.
pub(super) enum LetterSent {
    /// It is in the unit of work.
    Added { edited: bool },
    /// The program made nothing of it, or its group handles it by itself.
    Left,
    /// It cannot be made, or is refused.
    Unfit(String),
    /// One before it was unfit, and that ends the step.
    NotTried,
}

/// The next letters that match, of one block; `None` where nothing is left. Moves `next` past what does not match.
pub(super) async fn gather(
    desk: &mut LetterDesk,
    stored: &mut StoredJob,
    program: &LetterProgram,
    most: usize,
) -> Result<Option<StepLetters>, JobError> {
    for _ in 0..LETTER_BLOCKS_AT_ONCE {
        let Some((at, candidates)) = candidates(desk, stored, most).await? else {
            return Ok(None);
        };
        if candidates.is_empty() {
            continue;
        }
        if let Some(found) = read_candidates(desk, stored, program, at, candidates).await? {
            return Ok(Some(found));
        }
    }
    let next = stored.job.next.iter().zip(&stored.job.until).position(|(next, until)| next < until);
    let Some((partition, next)) = next.and_then(|at| Some((u32::try_from(at).ok()?, *stored.job.next.get(at)?))) else {
        return Ok(None);
    };
    // Nothing yet: the caller stores how far it is and comes again.
    Ok(Some(StepLetters { at: BlockAt::of(partition, next), letters: Vec::new(), next }))
}

/// What the index finds in the first block that is left; `None` where none is. Moves on where it finds nothing.
async fn candidates(
    desk: &mut LetterDesk,
    stored: &mut StoredJob,
    most: usize,
) -> Result<Option<(BlockAt, Vec<Offset>)>, JobError> {
    let job = &mut stored.job;
    for (partition, (next, until)) in (0..).zip(job.next.iter_mut().zip(&job.until)) {
        if let Some(places) = &job.order.filter.places {
            let left = places.get(places.partition_point(|place| *place < (partition, *next)));
            *next = left.filter(|place| place.0 == partition).map_or(*until, |place| place.1);
        }
        if *next >= *until {
            continue;
        }
        let (at, left) = (BlockAt::of(partition, *next), *next..*until);
        let filter = &job.order.filter;
        let block = desk.book.block(&desk.bus, at).await?;
        let found: Vec<Offset> = block
            .letters()
            .filter(|(offset, _)| left.contains(offset) && filter.takes_place(partition, *offset))
            .filter(|(_, letter)| filter.may_match(block, letter))
            .map(|(offset, _)| offset)
            .take(most.max(1))
            .collect();
        if found.is_empty() {
            *next = at.end().min(*until);
        }
        return Ok(Some((at, found)));
    }
    Ok(None)
}

/// Reads them, as many as fit into a step. `None` if none of them matches.
async fn read_candidates(
    desk: &LetterDesk,
    stored: &mut StoredJob,
    program: &LetterProgram,
    at: BlockAt,
    candidates: Vec<Offset>,
) -> Result<Option<StepLetters>, JobError> {
    let (mut letters, mut bytes, mut next) = (Vec::new(), 0, stored.job.next[at.partition as usize]);
    for few in candidates.chunks(LETTERS_AT_ONCE) {
        let places = few.iter().map(|offset| (at.partition, *offset)).collect();
        let read = read_places(&desk.bus, &desk.letters, places).await?;
        let events: BTreeMap<_, StoredEvent> = program.sift(&desk.bus, read).await?;
        for offset in few {
            let event = events.get(&(at.partition, *offset));
            bytes += event.map_or(0, |event| event.record().len());
            next = offset + 1;
            let letter = event.and_then(read_letter).filter(|letter| stored.job.order.filter.matches(letter));
            letters.extend(letter);
        }
        if bytes >= STEP_WRITTEN_BYTES {
            break;
        }
    }
    if letters.is_empty() {
        stored.job.next[at.partition as usize] = next;
        return Ok(None);
    }
    Ok(Some(StepLetters { at, letters, next }))
}

/// Makes the events, has them judged, and adds them to the unit of work. An event that is refused leaves no trace.
pub(super) async fn add_events(
    bus: &Bus,
    mut work: UnitOfWork,
    maker: &EventMaker,
    letters: &[FoundLetter],
    unfit: UnfitEvent,
) -> Result<(UnitOfWork, Vec<LetterSent>, Vec<Option<MadeEvent>>), JobError> {
    let left = left_to_their_groups(bus, &maker.topic, letters).await?;
    let making = maker.clone();
    let made = bus.in_turns(letters.to_vec(), move |letter| making.make(&letter)).await?;
    let events = made.iter().flatten().flatten().map(|made| made.event.clone()).collect();
    let mut judged = bus.judge_in_background(&maker.topic, events).await?.into_iter();
    let (mut sent, mut kept, mut is_over) = (Vec::with_capacity(made.len()), Vec::with_capacity(made.len()), false);
    for (made, left) in made.into_iter().zip(left) {
        let (outcome, made) = match (left, made) {
            _ if is_over => (LetterSent::NotTried, None),
            (Some(left), made) => {
                // Its event was judged with the others.
                drop(made.ok().flatten().and_then(|_| judged.next()));
                (left, None)
            }
            (None, Err(reason)) => (LetterSent::Unfit(reason), None),
            (None, Ok(None)) => (LetterSent::Left, None),
            (None, Ok(Some(made))) => {
                let judged = judged.next().unwrap_or(Err(Error::Closed));
                let outcome = match judged.and_then(|event| work.publish_checked(&event)) {
                    Ok(()) => LetterSent::Added { edited: made.edited },
                    Err(refusal) => LetterSent::Unfit(about_the_event(refusal)?),
                };
                (outcome, Some(made))
            }
        };
        is_over |= unfit == UnfitEvent::Stop && matches!(outcome, LetterSent::Unfit(_));
        sent.push(outcome);
        kept.push(made);
    }
    Ok((work, sent, kept))
}

/// Hands some letters' events out, or purges them. Returns how many letters it took.
pub(super) async fn step(
    desk: &mut LetterDesk,
    stored: &mut StoredJob,
    maker: &EventMaker,
    most: usize,
) -> Result<u64, JobError> {
    desk.catch_up().await?;
    let Some(step) = gather(desk, stored, &maker.wanted, most).await? else {
        stored.job.state = LetterJobState::Done;
        stored.job.reason = None;
        store(desk, stored, desk.bus.unit_of_work()).await?;
        return Ok(0);
    };
    desk.begin();
    let work = desk.bus.unit_of_work_for(stored.job.order.by.as_deref().map(Arc::from).as_ref());
    let (taken, receipts) = match stored.job.order.work {
        LetterWork::Purge => {
            drop_held(desk, &step.letters).await?;
            purge(desk, stored, &step).await?;
            (step.letters.len(), store(desk, stored, work).await?)
        }
        LetterWork::ToGroup => {
            let sent = give_back(desk, &step.letters).await?;
            mark(desk, stored, &step, &sent).await?;
            (sent.len(), store(desk, stored, work).await?)
        }
        LetterWork::ToTopic => {
            let unfit = stored.job.order.unfit();
            let (work, sent, _) = add_events(&desk.bus, work, maker, &step.letters, unfit).await?;
            mark(desk, stored, &step, &sent).await?;
            let receipts = store(desk, stored, work).await?;
            note_places(desk, &step, &sent, &receipts).await?;
            (sent.len(), receipts)
        }
    };
    drop(receipts);
    Ok(taken as u64)
}

async fn purge(desk: &mut LetterDesk, stored: &mut StoredJob, step: &StepLetters) -> Result<(), JobError> {
    for letter in &step.letters {
        desk.book.purge(&desk.bus, step.at, letter.offset).await?;
        stored.job.matched += 1;
        stored.job.replayed += 1;
    }
    stored.job.next[step.at.partition as usize] = step.next;
    Ok(())
}

/// Marks what is handed out, and counts. The first letter that is unfit ends the job, unless such letters are skipped.
async fn mark(
    desk: &mut LetterDesk,
    stored: &mut StoredJob,
    step: &StepLetters,
    sent: &[LetterSent],
) -> Result<(), JobError> {
    let now = desk.bus.clock().now_ms();
    let id = stored.job.id.to_string();
    let mut next = step.next;
    for (letter, sent) in step.letters.iter().zip(sent) {
        match sent {
            LetterSent::Added { edited } => {
                let by = stored.job.order.by.clone();
                let mark = NewMark { job: &id, by: by.as_deref(), at: now, edited: *edited };
                desk.book.mark(&desk.bus, step.at, letter.offset, &mark).await?;
                stored.job.opened(step.at.partition, step.at.number);
                stored.job.replayed += 1;
            }
            LetterSent::Left => stored.job.skipped += 1,
            LetterSent::Unfit(_) if stored.job.order.skip_unfit => stored.job.skipped += 1,
            LetterSent::Unfit(reason) => {
                stored.job.state = LetterJobState::Stopped;
                stored.job.reason = Some(format!("letter {}: {reason}", letter.id));
                next = letter.offset;
                break;
            }
            LetterSent::NotTried => break,
        }
        stored.job.matched += 1;
    }
    stored.job.next[step.at.partition as usize] = next;
    Ok(())
}

/// Where the events are now, for the one who asks whether the group has settled them. Stored with whatever comes next; after a
/// crash they are looked up by their ids.
async fn note_places(
    desk: &mut LetterDesk,
    step: &StepLetters,
    sent: &[LetterSent],
    receipts: &[Receipt],
) -> Result<(), JobError> {
    let added = step.letters.iter().zip(sent).filter(|(_, sent)| matches!(sent, LetterSent::Added { .. }));
    for ((letter, _), receipt) in added.zip(receipts) {
        if let Some(mark) = desk.book.block_to_change(&desk.bus, step.at).await?.mark_of(letter.offset) {
            mark.place = Some((receipt.partition, receipt.offset));
        }
    }
    Ok(())
}

/// Commits the work with what the book and the job have become.
pub(super) async fn store(
    desk: &mut LetterDesk,
    stored: &mut StoredJob,
    mut work: UnitOfWork,
) -> Result<Vec<Receipt>, JobError> {
    desk.begin();
    stored.job.updated_ts = desk.bus.clock().now_ms();
    desk.book.write_into(&mut work)?;
    stored.write_into(&mut work)?;
    let receipts = work.commit().await?;
    stored.revision += 1;
    desk.stored();
    Ok(receipts)
}
