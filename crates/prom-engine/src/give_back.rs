//! Giving letters back: the original event is handed out again, at its offset, to the group that gave up on it and to no other.
//!
//! ```text
//!   letter ──give_back──▶ waiting ──handed out──▶ acked | dead again, with a new letter
//!                            └──drop_letters──▶ dropped
//! ```
//!
//! Promises: it is durable when the answer comes; a letter is given back once, however often that is asked; no floor moves; what
//! became of it is written in the same commit as its settlement. Where retention took the event, the letter's copy is handed out.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, stream};
use prom_store::{CursorName, LogName};
use prom_types::{EpochMs, EventId, GroupName, TopicName, key_hash};

use crate::cursor::GroupReading;
use crate::dispatch::task::{DispatchRequest, LetterRequest};
use crate::limits::{DOCUMENT_READS, GIVE_BACK_AT_ONCE};
use crate::set_aside::{self, GivenMark, ParkedLetter};
use crate::{Bus, Error, LetterRef};

/// The answer for one letter that was to be given back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GivenBack {
    /// It waits to be handed out.
    Given {
        /// How often the event has been given back, this time included.
        time: u32,
    },
    /// It was given back before. Nothing was changed.
    Already(LetterOutcome),
    /// The event died again, and a newer letter tells of it: give that one back.
    Superseded {
        /// How often the event had been given back when that letter was written.
        given_back: u32,
    },
    /// The group does not exist, or does not read the topic.
    NoGroup,
}

/// What became of a letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LetterOutcome {
    /// It lies where it is.
    NotGivenBack,
    /// Its key is parked. The event waits there until it is given back, or goes on behind others that were.
    Parked,
    /// It was given back, and is not settled.
    Waiting {
        /// How often the event has been given back.
        time: u32,
        /// How often it failed since.
        failed_attempts: u32,
    },
    /// The group has settled it.
    Acked {
        /// How often the event was given back.
        time: u32,
        /// When.
        at: EpochMs,
    },
    /// It came back as another letter.
    DeadAgain {
        /// How often the event was given back.
        time: u32,
        /// The new letter.
        letter: EventId,
    },
    /// It was given up by an operator.
    Dropped {
        /// When.
        at: EpochMs,
    },
    /// When its turn came, neither the event nor the letter was there any more.
    Gone {
        /// When.
        at: EpochMs,
    },
}

/// The answer for one letter that was to be dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DroppedLetter {
    /// It was parked or waited to be handed out, and does so no more.
    Dropped,
    /// It was neither. Nothing was changed.
    NotSetAside,
}

/// The letters of one call that concern one cursor, with their places in the call.
struct OfCursor {
    reading: GroupReading,
    log: LogName,
    at: Vec<usize>,
}

impl Bus {
    /// Hands letters of `topic`, which is that of the originals, back to the groups that they name: each event with fresh
    /// attempts, to its group alone. At most a thousand in one call; the answers are in the order of `letters`. Durable when
    /// it returns. After an error a part may have been given back, and the same call can be repeated.
    ///
    /// With order by key a given event takes its key's turn. Of a parked key any letter may be given back; they are handed out
    /// by offset, so one waits for those before it.
    pub async fn give_back(&self, topic: &str, letters: &[LetterRef]) -> Result<Vec<GivenBack>, Error> {
        let subject = self.subject().map(Arc::from);
        self.order_letters(topic, letters, GivenBack::NoGroup, |letters, reply| LetterRequest::GiveBack {
            letters,
            subject: Option::clone(&subject),
            reply,
        })
        .await
    }

    /// Gives up letters that are parked or wait to be handed out: their keys go on with the next event. The letters stay in
    /// `dlq.<topic>`. At most a thousand in one call; the answers are in the order of `letters`.
    pub async fn drop_letters(&self, topic: &str, letters: &[LetterRef]) -> Result<Vec<DroppedLetter>, Error> {
        let subject = self.subject().map(Arc::from);
        self.order_letters(topic, letters, DroppedLetter::NotSetAside, |letters, reply| LetterRequest::Drop {
            letters,
            subject: Option::clone(&subject),
            reply,
        })
        .await
    }

    /// What became of letters of `topic`, which is that of the originals; at most a thousand in one call, answered in the
    /// order of `letters`.
    pub async fn letter_outcomes(&self, topic: &str, letters: &[LetterRef]) -> Result<Vec<LetterOutcome>, Error> {
        check_number(letters)?;
        let topic = TopicName::parse(topic)?;
        let outcome = |letter: &LetterRef| {
            let gate = set_aside::gate_key(&cursor_of(&topic, letter));
            let LetterRef { letter: id, offset, given_back, ref key, .. } = *letter;
            let hash = key.as_deref().map(key_hash);
            async move {
                let (store, key) = (&**self.store(), set_aside::mark_key(&gate, offset));
                let mark = set_aside::read_one::<GivenMark>(store, set_aside::MARKS, &key).await?;
                let outcome = mark.map_or(LetterOutcome::NotGivenBack, |mark| mark.outcome_of(given_back));
                let (LetterOutcome::NotGivenBack, Some(hash)) = (&outcome, hash) else {
                    return Ok(outcome);
                };
                let key = set_aside::parked_letter_key(&gate, hash, offset);
                let parked = set_aside::read_one::<ParkedLetter>(store, set_aside::PARKED, &key).await?;
                let is_it = parked.is_some_and(|parked| parked.letter == id);
                Ok(if is_it { LetterOutcome::Parked } else { outcome })
            }
        };
        let outcomes: Vec<_> = letters.iter().map(outcome).collect();
        stream::iter(outcomes).buffered(DOCUMENT_READS).try_collect().await
    }

    /// Has the dispatcher of each cursor carry out an order on its letters.
    async fn order_letters<A: Clone>(
        &self,
        topic: &str,
        letters: &[LetterRef],
        otherwise: A,
        order: impl Fn(Vec<LetterRef>, LetterReply<A>) -> LetterRequest,
    ) -> Result<Vec<A>, Error> {
        self.core().check_open()?;
        check_number(letters)?;
        let mut answers = vec![otherwise; letters.len()];
        let cursors = self.cursors_of(topic, letters).await?;
        // A group that another hub serves is named before anything is done.
        for cursor in &cursors {
            self.core().own(&cursor.reading.group).await?;
        }
        for OfCursor { reading, log, at } in cursors {
            let theirs: Vec<LetterRef> = at.iter().filter_map(|&at| letters.get(at).cloned()).collect();
            let request = |reply| DispatchRequest::Letters(order(theirs.clone(), reply));
            let done = self.order(&reading, &log, request).await?;
            for (at, answer) in at.into_iter().zip(done) {
                if let Some(place) = answers.get_mut(at) {
                    *place = answer;
                }
            }
        }
        Ok(answers)
    }

    /// The cursors that letters are about. Those of groups that are gone are left out.
    async fn cursors_of(&self, topic: &str, letters: &[LetterRef]) -> Result<Vec<OfCursor>, Error> {
        let mut places: BTreeMap<(&GroupName, u32), Vec<usize>> = BTreeMap::new();
        for (at, letter) in letters.iter().enumerate() {
            places.entry((&letter.group, letter.partition)).or_default().push(at);
        }
        let mut cursors = Vec::new();
        for ((group, partition), at) in places {
            let reading = match self.reading(topic, group).await {
                Ok(reading) => reading,
                Err(Error::UnknownGroup { .. } | Error::NotOfTheGroup { .. }) => continue,
                Err(error) => return Err(error),
            };
            let log = reading.topic.logs().iter().find(|log| log.partition == partition).cloned();
            if let Some(log) = log {
                cursors.push(OfCursor { reading, log, at });
            }
        }
        Ok(cursors)
    }
}

/// Where a dispatcher answers an order on letters.
pub(crate) type LetterReply<A> = tokio::sync::oneshot::Sender<Result<Vec<A>, Error>>;

fn cursor_of(topic: &TopicName, letter: &LetterRef) -> CursorName {
    CursorName::new(LogName::new(topic.clone(), letter.partition), letter.group.clone())
}

fn check_number(letters: &[LetterRef]) -> Result<(), Error> {
    if letters.len() <= GIVE_BACK_AT_ONCE {
        return Ok(());
    }
    let asked = format!("{} in one call", letters.len());
    Err(Error::BadOption { option: "letters", asked, reason: "one call takes at most 1000; make several" })
}
