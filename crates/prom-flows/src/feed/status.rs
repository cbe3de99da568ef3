//! The status of a feed. Nothing here waits.

use std::collections::{BTreeMap, VecDeque};

use parking_lot::Mutex;
use prom_jobs::{FlowCounts, FlowFailure, FlowStage, FlowState, FlowStatus};
use prom_types::EpochMs;

use super::limits::RECENT_TIMES;
use super::position::FeedPosition;

/// What a feed tells of itself while it runs here.
#[derive(Debug)]
pub(crate) struct FeedProgress(Mutex<Told>);

#[derive(Debug)]
struct Told {
    state: FlowState,
    failure: Option<FlowFailure>,
    counts: FlowCounts,
    commit_to_publish: RecentTimes,
    position: Option<FeedPosition>,
    /// When the last published change was committed.
    newest_ms: Option<EpochMs>,
    /// MongoDB said that nothing waits.
    is_caught_up: bool,
    commits: u64,
}

/// The last times of a stage.
#[derive(Debug, Default)]
struct RecentTimes(VecDeque<u64>);

/// What one commit brought.
#[derive(Debug, Clone, Default)]
pub(crate) struct PublishedChanges {
    pub counts: FlowCounts,
    /// When each was committed in MongoDB.
    pub committed_ms: Vec<EpochMs>,
}

impl Default for FeedProgress {
    fn default() -> Self {
        Self(Mutex::new(Told {
            state: FlowState::Starting,
            failure: None,
            counts: FlowCounts::default(),
            commit_to_publish: RecentTimes::default(),
            position: None,
            newest_ms: None,
            is_caught_up: false,
            commits: 0,
        }))
    }
}

impl FeedProgress {
    /// Nothing stands in its way.
    pub fn is(&self, state: FlowState) {
        let mut told = self.0.lock();
        told.state = state;
        if state == FlowState::Running {
            told.failure = None;
        }
    }

    /// It failed and is tried again, or waits for an operator.
    pub fn failed(&self, failure: FlowFailure) {
        let mut told = self.0.lock();
        told.state = if failure.retry_at.is_some() { FlowState::Retrying } else { FlowState::Stopped };
        told.failure = Some(failure);
    }

    /// When the failure began that holds on, if one does.
    pub fn failed_since(&self) -> Option<EpochMs> {
        self.0.lock().failure.as_ref().map(|failure| failure.since)
    }

    pub fn published(&self, changes: &PublishedChanges, position: &FeedPosition, now: EpochMs) {
        let mut told = self.0.lock();
        let counts = &mut told.counts;
        counts.read += changes.counts.read;
        counts.written += changes.counts.written;
        counts.skipped += changes.counts.skipped;
        counts.failed += changes.counts.failed;
        for committed in &changes.committed_ms {
            told.commit_to_publish.add(u64::try_from(now - committed).unwrap_or(0));
        }
        told.commits += 1;
        told.newest_ms = changes.committed_ms.last().copied().or(told.newest_ms);
        told.position = Some(position.clone());
    }

    /// Commits since the hub started: a feed that made one since its last failure is well again.
    pub fn commits(&self) -> u64 {
        self.0.lock().commits
    }

    pub fn caught_up(&self, is_caught_up: bool) {
        self.0.lock().is_caught_up = is_caught_up;
    }

    /// Everything, as it is now.
    pub fn status(&self, from: String, to: String, now: EpochMs) -> FlowStatus {
        let told = self.0.lock();
        let behind = told.newest_ms.filter(|_| !told.is_caught_up && told.state == FlowState::Running);
        let mut details = BTreeMap::new();
        if told.state == FlowState::Running {
            let lag_ms = behind.map_or(0, |newest| now.saturating_sub(newest).max(0));
            details.insert("lag_ms".to_owned(), lag_ms.to_string());
        }
        if let Some(copy) = told.position.as_ref().and_then(|position| position.copy.as_ref()) {
            details.insert("copied".to_owned(), copy.copied.to_string());
        }
        if let Some(time_ms) = told.position.as_ref().and_then(|position| position.time_ms) {
            details.insert("position_ms".to_owned(), time_ms.to_string());
        }
        FlowStatus {
            state: told.state,
            error: told.failure.clone(),
            pending: None,
            oldest: behind,
            counts: told.counts,
            stages: told.commit_to_publish.stage("commit_to_publish").into_iter().collect(),
            position: told.position.as_ref().map(|position| position.at.told()),
            details,
            ..FlowStatus::starting(from, to)
        }
    }
}

impl RecentTimes {
    fn add(&mut self, millis: u64) {
        if self.0.len() == RECENT_TIMES {
            self.0.pop_front();
        }
        self.0.push_back(millis);
    }

    fn stage(&self, name: &'static str) -> Option<FlowStage> {
        let last_ms = *self.0.back()?;
        let mut sorted: Vec<u64> = self.0.iter().copied().collect();
        sorted.sort_unstable();
        let at = |share: usize| sorted.get((sorted.len() * share / 100).min(sorted.len() - 1)).copied().unwrap_or(0);
        Some(FlowStage { name, last_ms, p50_ms: at(50), p99_ms: at(99) })
    }
}
