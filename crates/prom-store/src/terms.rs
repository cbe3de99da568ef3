//! Judging the terms of appends: the same for every store, which only says how its logs stand.
//!
//! Every expectation is held against the log as it was before the commit. One that is not met refuses the commit. An append
//! whose id is there already, or came earlier in the same commit, is a repetition: it is answered with its first receipt and
//! not judged.

use std::collections::HashSet;

use prom_types::{EpochMs, EventId, Expectation, Offset, TopicName};

use crate::{Append, AppendTerms, Commit, CommitError, Dedupe, LogName};

/// The newest event of a key, which retention may have removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewestOfKey {
    pub offset: Offset,
    pub is_tombstone: bool,
}

/// How logs stand before a commit.
pub trait LogStanding {
    /// The offset that the next append gets.
    fn next(&mut self, log: &LogName) -> Offset;

    /// The newest event of a key. Refused where the log does not keep it, or does not know it yet.
    fn newest(&mut self, log: &LogName, key: &str) -> Result<Option<NewestOfKey>, CommitError>;
}

/// Judges the appends of one commit, in their order.
#[derive(Debug, Default)]
pub struct TermsJudge<'a> {
    /// Ids of earlier appends, by log.
    seen: HashSet<(&'a LogName, EventId)>,
    /// Exact ids of earlier appends: they count in all partitions of a topic.
    exact: HashSet<(&'a TopicName, EventId)>,
}

impl<'a> TermsJudge<'a> {
    /// Judges all of them, and whether the places that the commit asks for are free. `is_known` says whether the store has
    /// the id of an append already.
    pub fn judge(
        commit: &'a Commit,
        mut is_known: impl FnMut(usize) -> bool,
        standing: &mut impl LogStanding,
    ) -> Result<(), CommitError> {
        check_places(commit, standing)?;
        let mut judge = Self::default();
        for (index, append) in commit.appends.iter().enumerate() {
            if judge.is_repeated(append) || is_known(index) {
                continue;
            }
            if let Some(expected) = append.terms.as_ref().and_then(|terms| terms.expect) {
                let actual = actual_of(expected, append, standing)?;
                if let Some(actual) = actual {
                    return Err(CommitError::Unmet { log: append.log.clone(), index, expected, actual });
                }
            }
        }
        Ok(())
    }

    fn is_repeated(&mut self, append: &'a Append) -> bool {
        let id = append.event.id();
        let is_new = self.seen.insert((&append.log, id));
        match append.dedupe {
            Dedupe::Fresh => false,
            Dedupe::Window => !is_new,
            Dedupe::Exact => !self.exact.insert((&append.log.topic, id)) || !is_new,
        }
    }
}

/// What is so instead of what is expected; `None` where that holds.
fn actual_of(
    expected: Expectation,
    append: &Append,
    standing: &mut impl LogStanding,
) -> Result<Option<Expectation>, CommitError> {
    match expected {
        Expectation::Offset(offset) => {
            let next = standing.next(&append.log);
            Ok((next != offset).then_some(Expectation::Offset(next)))
        }
        Expectation::KeyOffset(expected) => {
            let Some(key) = append.event.key() else {
                return Err(CommitError::KeyRequired { log: append.log.clone() });
            };
            let newest = standing.newest(&append.log, key)?;
            let live = newest.filter(|newest| !newest.is_tombstone).map(|newest| newest.offset);
            let is_met = match expected {
                Some(offset) => newest.is_some_and(|newest| newest.offset == offset),
                None => live.is_none(),
            };
            Ok((!is_met).then_some(Expectation::KeyOffset(live)))
        }
    }
}

/// Whether the places that a commit asks for are free. Returns how the one that is not stands.
fn check_places(commit: &Commit, standing: &mut impl LogStanding) -> Result<(), CommitError> {
    for (log, place) in &commit.places {
        let next = standing.next(log);
        if next > *place {
            let index = commit.appends.iter().position(|append| append.log == *log).unwrap_or_default();
            let (expected, actual) = (Expectation::Offset(*place), Expectation::Offset(next));
            return Err(CommitError::Unmet { log: log.clone(), index, expected, actual });
        }
    }
    Ok(())
}

/// The time at which an append counts as stored, behind an event of `last`.
pub fn placed_ts(terms: Option<&AppendTerms>, last: EpochMs, now: EpochMs) -> EpochMs {
    let asked = terms.and_then(|terms| terms.stored_ts).filter(|asked| *asked <= now);
    asked.unwrap_or(now).max(last)
}
