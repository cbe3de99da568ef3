//! A dry run: what an order would send, judged as publishing would judge it. Nothing is stored.

use prom_engine::{Bus, Error};
use prom_types::{EventId, Json, NewEvent};

use super::super::desk::LetterDesk;
use super::document::{LetterJob, LetterOrder, LetterWork, StoredJob};
use super::events::EventMaker;
use super::step::{LetterSent, add_events, gather};
use crate::limits::{LETTERS_AT_ONCE, LETTERS_SHOWN};
use crate::{JobError, UnfitEvent};

/// What an order would do.
#[derive(Debug, Default)]
pub struct LetterTrial {
    /// Letters that match.
    pub matched: u64,
    /// Those whose events would be handed out, or that would be purged.
    pub replayed: u64,
    /// Those that would be left as they are.
    pub skipped: u64,
    /// More letters than the order's limit, or than a dry run looks at.
    pub is_cut: bool,
    /// The first ones.
    pub shown: Vec<TriedLetter>,
    /// The first letter whose event cannot be made or would be refused, and why.
    pub unfit: Option<(EventId, String)>,
}

/// What would become of a letter.
#[derive(Debug)]
pub struct TriedLetter {
    /// The letter.
    pub letter: super::super::letter::FoundLetter,
    /// The event that would be published; `None` where the letter is left as it is.
    pub event: Option<NewEvent>,
    /// Its payload is not that of the original.
    pub edited: bool,
    /// Why the event cannot be made or would be refused.
    pub unfit: Option<String>,
}

impl TriedLetter {
    /// The payload as it was.
    pub fn original_payload(&self) -> Option<Json> {
        #[derive(serde::Deserialize)]
        struct WithPayload {
            payload: Json,
        }
        self.letter.original.to::<WithPayload>().ok().map(|original| original.payload)
    }
}

/// Goes through at most `most` letters that match.
pub(in super::super) async fn run(
    desk: &mut LetterDesk,
    order: &LetterOrder,
    maker: &EventMaker,
    most: u64,
) -> Result<LetterTrial, JobError> {
    desk.catch_up().await?;
    let until = ends(&desk.bus, desk).await?;
    let job = LetterJob::new(EventId::derived("a dry run"), order.clone(), desk.bus.clock().now_ms(), until);
    let mut stored = StoredJob { job, revision: 0 };
    let mut trial = LetterTrial::default();
    let most = most.min(order.limit);
    while trial.matched < most {
        let room = usize::try_from(most - trial.matched).unwrap_or(usize::MAX).min(LETTERS_AT_ONCE * 8);
        let Some(step) = gather(desk, &mut stored, &maker.wanted, room).await? else {
            return Ok(trial);
        };
        stored.job.next[step.at.partition as usize] = step.next;
        trial.matched += step.letters.len() as u64;
        if order.work != LetterWork::ToTopic {
            trial.replayed += step.letters.len() as u64;
            let room = LETTERS_SHOWN.saturating_sub(trial.shown.len());
            let given = step.letters.into_iter().take(room).filter(|_| order.work == LetterWork::ToGroup);
            trial.shown.extend(given.map(|letter| {
                let event = maker.make(&letter).ok().flatten().map(|made| made.event);
                TriedLetter { letter, event, edited: false, unfit: None }
            }));
            continue;
        }
        let work = desk.bus.unit_of_work();
        let (work, sent, made) = add_events(&desk.bus, work, maker, &step.letters, UnfitEvent::Skip).await?;
        drop(work);
        for ((letter, sent), made) in step.letters.into_iter().zip(sent).zip(made) {
            let (edited, unfit) = match sent {
                LetterSent::Added { edited } => (edited, None),
                LetterSent::Unfit(reason) => (false, Some(reason)),
                LetterSent::Left | LetterSent::NotTried => (false, None),
            };
            let is_sent = unfit.is_none() && made.is_some();
            trial.replayed += u64::from(is_sent);
            trial.skipped += u64::from(!is_sent);
            if let (Some(reason), None) = (&unfit, &trial.unfit) {
                trial.unfit = Some((letter.id, reason.clone()));
            }
            if trial.shown.len() < LETTERS_SHOWN {
                trial.shown.push(TriedLetter { letter, event: made.map(|made| made.event), edited, unfit });
            }
        }
    }
    trial.is_cut = gather(desk, &mut stored, &maker.wanted, 1).await?.is_some();
    Ok(trial)
}

/// Where the letters end now.
pub(super) async fn ends(bus: &Bus, desk: &LetterDesk) -> Result<Vec<u64>, JobError> {
    match bus.bounds(&desk.letters).await {
        Err(Error::UnknownTopic { .. }) => Ok(Vec::new()),
        bounds => Ok(bounds?.iter().map(|bounds| bounds.next).collect()),
    }
}
