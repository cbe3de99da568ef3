//! The terms of appends: judged against the end of the log with everything that goes before them in the same insert.
//!
//! The insert at the head decides: if another hub was first, everything is judged again by what it wrote. A refusal needs no
//! insert, so it is told only after the log was read again since the commit came.

use std::sync::Arc;

use hashbrown::HashMap;
use prom_store::{Commit, CommitError, LogName, LogOptions, LogStanding, NewestOfKey, TermsJudge};
use prom_types::{Expectation, Offset};

use super::place::{ExactPlaces, Placer};
use crate::latest::{self, NewestKeys};
use crate::log::{LogHandle, LogView};
use crate::shared::{MongoShared, commit_error};

/// The newest events of the keys of which these commits expect something in this log.
pub async fn newest_keys<'a>(
    shared: &Arc<MongoShared>,
    log: &Arc<LogHandle>,
    commits: impl Iterator<Item = &'a Commit>,
) -> Result<Option<NewestKeys>, CommitError> {
    let mut keys: Vec<&str> = Vec::new();
    for append in commits.flat_map(|commit| &commit.appends).filter(|append| append.log == log.name) {
        if let Some(terms) = &append.terms
            && let Some(Expectation::KeyOffset(_)) = terms.expect
        {
            keys.extend(append.event.key());
        }
    }
    if keys.is_empty() {
        return Ok(None);
    }
    keys.sort_unstable();
    keys.dedup();
    Ok(Some(latest::newest(shared, log, &keys).await.map_err(commit_error)?))
}

/// Whether what is known of keys reaches to the end of the log.
pub fn reaches_head(newest: Option<&NewestKeys>, known: &LogView) -> bool {
    newest.is_none_or(|newest| newest.upto == known.bounds.next)
}

/// A refusal that another look at the log may take back.
pub fn is_about_terms(error: &CommitError) -> bool {
    matches!(error, CommitError::Unmet { .. } | CommitError::NoVersions { .. } | CommitError::VersionsUnknown { .. })
}

/// Judges a commit of one log.
pub fn judge(
    commit: &Commit,
    known: &LogView,
    placer: &Placer,
    newest: Option<&NewestKeys>,
    exact: &ExactPlaces,
) -> Result<(), CommitError> {
    let is_known = |index: usize| {
        let append = &commit.appends[index];
        placer.earlier(&append.event.id(), append.dedupe, known, exact).is_some()
    };
    let keeps_latest = known.options.keeps_latest();
    TermsJudge::judge(commit, is_known, &mut LaneStanding { placer, newest, keeps_latest })
}

struct LaneStanding<'a> {
    placer: &'a Placer,
    newest: Option<&'a NewestKeys>,
    keeps_latest: bool,
}

impl LogStanding for LaneStanding<'_> {
    fn next(&mut self, _log: &LogName) -> Offset {
        self.placer.next()
    }

    fn newest(&mut self, log: &LogName, key: &str) -> Result<Option<NewestOfKey>, CommitError> {
        if !self.keeps_latest {
            return Err(CommitError::NoVersions { log: log.clone() });
        }
        match (self.placer.newest(key), self.newest) {
            (Some(newest), _) => Ok(Some(newest)),
            (None, Some(newest)) => newest.get(log, key),
            (None, None) => Err(CommitError::VersionsUnknown { log: log.clone() }),
        }
    }
}

/// How the logs of a transaction stood before it.
#[derive(Default)]
pub struct StandingBefore<'a> {
    logs: HashMap<&'a LogName, Before>,
}

struct Before {
    next: Offset,
    options: LogOptions,
    newest: Option<NewestKeys>,
}

impl<'a> StandingBefore<'a> {
    pub fn add(&mut self, log: &'a LogName, next: Offset, options: LogOptions, newest: Option<NewestKeys>) {
        self.logs.insert(log, Before { next, options, newest });
    }
}

impl LogStanding for StandingBefore<'_> {
    fn next(&mut self, log: &LogName) -> Offset {
        self.logs.get(log).map_or(0, |before| before.next)
    }

    fn newest(&mut self, log: &LogName, key: &str) -> Result<Option<NewestOfKey>, CommitError> {
        match self.logs.get(log) {
            Some(before) if !before.options.keeps_latest() => Err(CommitError::NoVersions { log: log.clone() }),
            // It begins with this commit.
            Some(before) if before.next == 0 => Ok(None),
            Some(Before { newest: Some(newest), .. }) => newest.get(log, key),
            _ => Err(CommitError::VersionsUnknown { log: log.clone() }),
        }
    }
}
