//! What a drainer tells about itself: kept where anyone may read it without waiting for a database.

use std::collections::{BTreeMap, VecDeque};

use parking_lot::Mutex;
use prom_jobs::{FlowCounts, FlowFailure, FlowStage, FlowState, FlowStatus};
use prom_types::EpochMs;

use super::limits::LATENCIES;
use super::source::Backlog;

/// How a drainer is doing.
pub struct OutboxMeters(Mutex<Known>);

struct Known {
    from: String,
    state: FlowState,
    failure: Option<FlowFailure>,
    backlog: Option<Backlog>,
    counts: FlowCounts,
    buckets: usize,
    latencies: VecDeque<u64>,
    claim_micros: Option<u64>,
}

impl OutboxMeters {
    pub fn new(from: String) -> Self {
        Self(Mutex::new(Known {
            from,
            state: FlowState::Starting,
            failure: None,
            backlog: None,
            counts: FlowCounts::default(),
            buckets: 0,
            latencies: VecDeque::new(),
            claim_micros: None,
        }))
    }

    /// It works, with so many buckets; without one, another hub does.
    pub fn is_well(&self, buckets: usize) {
        let mut known = self.0.lock();
        known.state = if buckets == 0 { FlowState::Elsewhere } else { FlowState::Running };
        known.failure = None;
        known.buckets = buckets;
    }

    pub fn is_retrying(&self, reason: String, now: EpochMs, retry_at: EpochMs) {
        let mut known = self.0.lock();
        let (since, tries) = known.failure.as_ref().map_or((now, 0), |failure| (failure.since, failure.tries));
        known.state = FlowState::Retrying;
        known.failure = Some(FlowFailure { reason, since, tries: tries + 1, retry_at: Some(retry_at) });
    }

    pub fn is_stopped(&self, reason: String, now: EpochMs) {
        let mut known = self.0.lock();
        known.state = FlowState::Stopped;
        known.failure = Some(FlowFailure { reason, since: now, tries: 1, retry_at: None });
    }

    pub fn set_backlog(&self, backlog: Backlog) {
        self.0.lock().backlog = Some(backlog);
    }

    pub fn claimed(&self, rows: usize, micros: u64) {
        let mut known = self.0.lock();
        known.counts.read += rows as u64;
        known.claim_micros = Some(micros);
    }

    /// Rows that were published, each so long after it was written.
    pub fn published(&self, latencies_ms: impl Iterator<Item = u64>) {
        let mut known = self.0.lock();
        for latency in latencies_ms {
            known.counts.written += 1;
            if known.latencies.len() == LATENCIES {
                known.latencies.pop_front();
            }
            known.latencies.push_back(latency);
        }
    }

    pub fn published_before(&self, rows: usize) {
        self.0.lock().counts.skipped += rows as u64;
    }

    pub fn in_error(&self, rows: usize) {
        self.0.lock().counts.failed += rows as u64;
    }

    pub fn status(&self) -> FlowStatus {
        let known = self.0.lock();
        let mut details = BTreeMap::from([("buckets".to_owned(), known.buckets.to_string())]);
        details.extend(known.backlog.map(|backlog| ("errors".to_owned(), backlog.errors.to_string())));
        details.extend(known.claim_micros.map(|micros| ("claim_us".to_owned(), micros.to_string())));
        FlowStatus {
            state: known.state,
            error: known.failure.clone(),
            pending: known.backlog.map(|backlog| backlog.pending),
            oldest: known.backlog.and_then(|backlog| backlog.oldest),
            counts: known.counts,
            stages: stage(&known.latencies).into_iter().collect(),
            details,
            ..FlowStatus::starting(&known.from, "the topic of each row")
        }
    }
}

fn stage(latencies: &VecDeque<u64>) -> Option<FlowStage> {
    let last_ms = *latencies.back()?;
    let mut sorted: Vec<u64> = latencies.iter().copied().collect();
    sorted.sort_unstable();
    let at = |percent: usize| sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)];
    Some(FlowStage { name: "commit_to_publish", last_ms, p50_ms: at(50), p99_ms: at(99) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tries_are_counted_until_it_works_again() {
        let meters = OutboxMeters::new("sqlite outbox".to_owned());
        meters.is_retrying("no".to_owned(), 10, 20);
        meters.is_retrying("no".to_owned(), 20, 40);
        let failure = meters.status().error.unwrap();
        assert_eq!((failure.since, failure.tries, failure.retry_at), (10, 2, Some(40)));
        meters.is_well(3);
        assert_eq!((meters.status().state, meters.status().error), (FlowState::Running, None));
        meters.is_well(0);
        assert_eq!(meters.status().state, FlowState::Elsewhere);
    }

    #[test]
    fn percentiles_are_of_recent_rows() {
        let meters = OutboxMeters::new("sqlite outbox".to_owned());
        meters.published((0..2 * LATENCIES as u64).map(|n| n % 128));
        let stage = meters.status().stages.remove(0);
        assert_eq!((stage.p50_ms, stage.p99_ms), (64, 126));
    }
}
