//! A commit in memory: checked, placed, applied. Nothing changes until nothing can fail.

use bytes::Bytes;
use hashbrown::HashMap;
use prom_types::{EpochMs, EventId, Offset, TopicName};

use super::MemoryState;
use super::log::MemoryLog;
use crate::terms::{LogStanding, NewestOfKey, TermsJudge, placed_ts};
use crate::{Append, Commit, CommitError, Committed, Dedupe, LogName, LogOptions, Outcome, Record, Stored, StoredAt};

/// The logs before a commit that turns some of them to these options.
struct Standing<'a> {
    state: &'a MemoryState,
    commit: &'a Commit,
}

impl LogStanding for Standing<'_> {
    fn next(&mut self, log: &LogName) -> Offset {
        self.state.logs.get(log).map_or(0, |log| log.bounds().next)
    }

    fn newest(&mut self, log: &LogName, key: &str) -> Result<Option<NewestOfKey>, CommitError> {
        let known = self.state.logs.get(log);
        let keeps = |options: LogOptions| options.keeps_latest();
        let is_told = self.commit.options_of(log).is_some_and(keeps);
        match known {
            Some(known) if keeps(known.options()) => Ok(known.newest(key)),
            _ if !is_told => Err(CommitError::NoVersions { log: log.clone() }),
            // Its events are gathered when the commit is applied.
            Some(known) if known.bounds().start < known.bounds().next => {
                Err(CommitError::VersionsUnknown { log: log.clone() })
            }
            _ => Ok(None),
        }
    }
}

/// The result of one append.
struct PlacedAppend {
    stored: Stored,
    /// `None` for a duplicate.
    record: Option<Record>,
}

/// The end of a log, including earlier events of the same commit.
struct Tail {
    next: Offset,
    stored_ts: EpochMs,
    now: EpochMs,
    ids: HashMap<EventId, StoredAt>,
}

impl MemoryState {
    pub fn commit(&mut self, commit: Commit, now: EpochMs) -> Result<Committed, CommitError> {
        self.check_keys(&commit)?;
        self.check_ended(&commit)?;
        self.cursors.check(&commit.cursors)?;
        self.documents.check(&commit.documents)?;
        let placed = self.place(&commit, now)?;
        if commit.has_terms() {
            let was_there = |index: usize| placed.get(index).is_some_and(|placed| placed.record.is_none());
            TermsJudge::judge(&commit, was_there, &mut Standing { state: self, commit: &commit })?;
        }

        for (name, options) in commit.logs {
            self.logs.entry(name).or_default().set_options(options);
        }
        let mut committed = Committed::default();
        for (append, placed) in commit.appends.into_iter().zip(placed) {
            committed.stored.push(placed.stored);
            if let Some(record) = placed.record {
                self.push(append.log, record, append.dedupe);
            }
        }
        for (name, change) in commit.cursors {
            self.cursors.apply(name, change);
        }
        for name in commit.ends {
            self.end(&name);
        }
        for write in commit.documents {
            let collection = write.collection.clone();
            if let Some(news) = self.documents.apply(write) {
                self.listeners.tell(&collection, news);
            }
        }
        Ok(committed)
    }

    fn check_keys(&self, commit: &Commit) -> Result<(), CommitError> {
        let told: HashMap<&LogName, LogOptions> = commit.logs.iter().map(|(name, options)| (name, *options)).collect();
        let is_compacted = |log: &LogName| {
            let known = || self.logs.get(log).map(|log| log.options());
            told.get(log).copied().or_else(known).unwrap_or_default().compacted
        };
        match commit.appends.iter().find(|append| append.event.key().is_none() && is_compacted(&append.log)) {
            Some(append) => Err(CommitError::KeyRequired { log: append.log.clone() }),
            None => Ok(()),
        }
    }

    fn check_ended(&self, commit: &Commit) -> Result<(), CommitError> {
        let is_ended = |log: &LogName| {
            let begins = || commit.logs.iter().any(|(name, _)| name == log);
            self.logs.get(log).is_some_and(MemoryLog::is_ended) && !begins()
        };
        match commit.appends.iter().find(|append| is_ended(&append.log)) {
            Some(append) => Err(CommitError::Ended { log: append.log.clone() }),
            None => Ok(()),
        }
    }

    fn end(&mut self, name: &LogName) {
        let Some(log) = self.logs.get_mut(name) else {
            return;
        };
        log.end();
        let bounds = log.bounds();
        self.heads.tell(name, bounds);
    }

    fn place(&self, commit: &Commit, now: EpochMs) -> Result<Vec<PlacedAppend>, CommitError> {
        let appends = &commit.appends;
        let next = |name: &LogName| {
            let next = self.logs.get(name).map_or(0, |log| log.bounds().next);
            next.max(commit.place_of(name).unwrap_or(0))
        };
        let mut tails: HashMap<&LogName, Tail> = HashMap::new();
        let mut exact: HashMap<(&TopicName, EventId), (u32, StoredAt)> = HashMap::new();
        let mut placed = Vec::with_capacity(appends.len());
        for append in appends {
            let log = self.logs.get(&append.log);
            let tail = tails.entry(&append.log).or_insert_with(|| Tail {
                next: next(&append.log),
                stored_ts: log.map_or(0, |log| log.last_stored_ts()),
                now,
                ids: HashMap::new(),
            });
            let id = append.event.id();
            let known = match append.dedupe {
                Dedupe::Fresh => None,
                asked => {
                    let stored_before = || log?.place_of(&id, asked, tail.stored_ts.max(now));
                    tail.ids.get(&id).copied().or_else(stored_before)
                }
            };
            let LogName { topic, partition } = &append.log;
            let elsewhere = || {
                let is_exact = append.dedupe == Dedupe::Exact;
                let in_commit = || exact.get(&(topic, id)).copied();
                is_exact.then(|| in_commit().or_else(|| self.exact_place_beside(&append.log, &id)))?
            };
            placed.push(match (known, elsewhere) {
                (Some(place), _) => PlacedAppend::duplicate(place, None),
                (None, elsewhere) => match elsewhere() {
                    Some((other, place)) => PlacedAppend::duplicate(place, Some(other)),
                    None => tail.add(append)?,
                },
            });
            if append.dedupe == Dedupe::Exact
                && let Some(PlacedAppend { stored, record: Some(_) }) = placed.last()
            {
                let place = StoredAt { offset: stored.offset, stored_ts: stored.stored_ts };
                exact.insert((topic, id), (*partition, place));
            }
        }
        Ok(placed)
    }

    /// Where another partition of the topic has the exact id.
    fn exact_place_beside(&self, log: &LogName, id: &EventId) -> Option<(u32, StoredAt)> {
        let of_topic = self.logs.range(LogName::new(log.topic.clone(), 0)..);
        let of_topic = of_topic.take_while(|(name, _)| name.topic == log.topic);
        let mut others = of_topic.filter(|(name, _)| name.partition != log.partition);
        others.find_map(|(name, other)| Some((name.partition, other.exact_place(id)?)))
    }

    fn push(&mut self, name: LogName, record: Record, dedupe: Dedupe) {
        let log = self.logs.entry(name.clone()).or_default();
        log.push(record, dedupe);
        let bounds = log.bounds();
        self.heads.tell(&name, bounds);
    }
}

impl Tail {
    fn add(&mut self, append: &Append) -> Result<PlacedAppend, CommitError> {
        self.stored_ts = placed_ts(append.terms.as_deref(), self.stored_ts, self.now);
        let place = StoredAt { offset: self.next, stored_ts: self.stored_ts };
        let mut bytes = Vec::with_capacity(append.event.len());
        append.event.write_at(place.offset, place.stored_ts, &mut bytes);
        let record = Record::trusted(&Bytes::from(bytes))
            .map_err(|fault| CommitError::Failed { reason: fault.to_string(), outcome: Outcome::NotStored })?;
        self.next += 1;
        self.ids.insert(append.event.id(), place);
        Ok(PlacedAppend { stored: place.into(), record: Some(record) })
    }
}

impl PlacedAppend {
    fn duplicate(place: StoredAt, elsewhere: Option<u32>) -> Self {
        Self { stored: Stored { duplicate: true, elsewhere, ..place.into() }, record: None }
    }
}
