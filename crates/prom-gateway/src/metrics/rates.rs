//! Rates from two looks at counters that only grow.

use std::time::Duration;

use hashbrown::HashMap;
use prom_engine::MetersSnapshot;
use prom_protocol::http::stats::{EventRates, EventTotals};
use prom_store::LogInfo;
use prom_types::TopicName;

/// What a topic takes in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TopicRates {
    pub events_per_s: f64,
    pub bytes_per_s: f64,
}

/// One look.
#[derive(Debug, Clone)]
pub(super) struct CounterSample {
    /// On the monotonic clock.
    pub at: Duration,
    totals: EventTotals,
    /// Dead letters that are retained.
    dead_letters: u64,
    /// Offsets given out and bytes held, per topic.
    topics: HashMap<TopicName, (u64, u64)>,
}

/// Two looks some time apart, or only one.
pub(crate) struct MeasuredRates {
    before: Option<CounterSample>,
    now: CounterSample,
}

/// Events since the process started.
pub(crate) fn totals(meters: &MetersSnapshot) -> EventTotals {
    EventTotals {
        published: meters.topics.iter().map(|topic| topic.published).sum(),
        delivered: meters.groups.iter().map(|group| group.delivered).sum(),
        acked: meters.groups.iter().map(|group| group.acked).sum(),
        redelivered: meters.groups.iter().map(|group| group.redelivered).sum(),
        nacked: meters.groups.iter().map(|group| group.nacked).sum(),
        dead_lettered: meters.groups.iter().map(|group| group.dead_lettered).sum(),
    }
}

impl CounterSample {
    pub fn new(at: Duration, meters: &MetersSnapshot, logs: &[LogInfo]) -> Self {
        let mut topics: HashMap<TopicName, (u64, u64)> = HashMap::new();
        let mut dead_letters = 0;
        for log in logs {
            if log.log.topic.letters_of().is_some() {
                dead_letters += log.bounds.next.saturating_sub(log.bounds.start);
            }
            let (offsets, bytes) = topics.entry(log.log.topic.clone()).or_default();
            *offsets += log.bounds.next;
            *bytes += log.bytes;
        }
        Self { at, totals: totals(meters), dead_letters, topics }
    }
}

impl MeasuredRates {
    pub(super) fn new(before: Option<CounterSample>, now: CounterSample) -> Self {
        Self { before, now }
    }

    /// Dead letters that are retained now.
    pub fn dead_letters(&self) -> u64 {
        self.now.dead_letters
    }

    /// Bytes of all events now.
    pub fn bytes(&self) -> u64 {
        self.now.topics.values().map(|(_, bytes)| bytes).sum()
    }

    /// `None` while there was only one look.
    pub fn events(&self) -> Option<EventRates> {
        let before = self.before.as_ref()?;
        let rate = |now: u64, before: u64| self.per_second(now.saturating_sub(before));
        Some(EventRates {
            published_per_s: rate(self.now.totals.published, before.totals.published),
            delivered_per_s: rate(self.now.totals.delivered, before.totals.delivered),
            acked_per_s: rate(self.now.totals.acked, before.totals.acked),
        })
    }

    /// `None` while there was only one look. Bytes that retention or compaction took away in
    /// between make the byte rate smaller than it was, never negative.
    pub fn of(&self, topic: &TopicName) -> Option<TopicRates> {
        let before = self.before.as_ref()?;
        let look = |sample: &CounterSample| sample.topics.get(topic).copied().unwrap_or_default();
        let ((offsets, bytes), (offsets_before, bytes_before)) = (look(&self.now), look(before));
        Some(TopicRates {
            events_per_s: self.per_second(offsets.saturating_sub(offsets_before)),
            bytes_per_s: self.per_second(bytes.saturating_sub(bytes_before)),
        })
    }

    fn per_second(&self, count: u64) -> f64 {
        let since = self.before.as_ref().map_or(self.now.at, |before| before.at);
        let seconds = self.now.at.saturating_sub(since).as_secs_f64().max(0.001);
        (count as f64 / seconds * 10.0).round() / 10.0
    }
}
