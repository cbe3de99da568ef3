//! How long events take from the publisher, or from the commit of the change that they tell of, to their document.

use std::collections::VecDeque;

use parking_lot::Mutex;
use prom_jobs::FlowStage;
use prom_types::EpochMs;

use super::event_view::EventView;
use super::limits::STAGE_TIMES;

/// What a change feed says about when its change was committed.
const CLUSTER_TIME: &str = "x-change-cluster-time";

/// The recent times of both stages.
#[derive(Default)]
pub(crate) struct StageTimes {
    publish: Mutex<VecDeque<u64>>,
    commit: Mutex<VecDeque<u64>>,
}

impl StageTimes {
    /// The documents of these events are durable.
    pub fn note(&self, events: &[EventView], now: EpochMs) {
        let age = |since: EpochMs| now.saturating_sub(since).max(0).unsigned_abs();
        remember(&self.publish, events.iter().map(|event| age(event.stored_ts())));
        let commits = events.iter().filter_map(|event| committed_at(&event.header(CLUSTER_TIME)?));
        remember(&self.commit, commits.map(age));
    }

    pub fn stages(&self) -> Vec<FlowStage> {
        let stages = [("publish_to_document", &self.publish), ("commit_to_document", &self.commit)];
        stages.into_iter().filter_map(|(name, times)| stage(name, &times.lock())).collect()
    }
}

fn remember(times: &Mutex<VecDeque<u64>>, more: impl Iterator<Item = u64>) {
    let mut times = times.lock();
    times.extend(more);
    let over = times.len().saturating_sub(STAGE_TIMES);
    times.drain(..over);
}

fn stage(name: &'static str, times: &VecDeque<u64>) -> Option<FlowStage> {
    let last_ms = *times.back()?;
    let mut sorted: Vec<u64> = times.iter().copied().collect();
    sorted.sort_unstable();
    let at = |percent: usize| sorted.get((sorted.len() * percent).div_ceil(100).saturating_sub(1)).copied();
    Some(FlowStage { name, last_ms, p50_ms: at(50)?, p99_ms: at(99)? })
}

/// Epoch milliseconds, or seconds with the ordinal behind a dot or a comma, as MongoDB counts.
fn committed_at(text: &str) -> Option<EpochMs> {
    let (whole, has_ordinal) = match text.split_once(['.', ',', ':']) {
        Some((seconds, _)) => (seconds, true),
        None => (text, false),
    };
    let number: EpochMs = whole.trim().parse().ok()?;
    // The first ten digits of this century are seconds.
    let is_seconds = has_ordinal || number < 100_000_000_000;
    if is_seconds { number.checked_mul(1000) } else { Some(number) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_a_cluster_are_read_in_each_form() {
        assert_eq!(committed_at("1700000000123"), Some(1_700_000_000_123));
        assert_eq!(committed_at("1700000000.7"), Some(1_700_000_000_000));
        assert_eq!(committed_at("1700000000"), Some(1_700_000_000_000));
        assert_eq!(committed_at("yesterday"), None);
    }

    #[test]
    fn the_shares_are_of_the_recent_times() {
        let times = Mutex::default();
        remember(&times, (0..2000).map(|_| 900).chain((1..=STAGE_TIMES as u64).rev()));
        let stage = stage("s", &times.lock()).unwrap();
        assert_eq!((stage.last_ms, stage.p50_ms, stage.p99_ms), (1, 512, 1014));
        assert_eq!(super::stage("s", &VecDeque::new()), None);
    }
}
