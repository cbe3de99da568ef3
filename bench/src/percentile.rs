//! Percentiles of measured spans.

use std::time::Duration;

/// Spans of single operations, in order of size.
#[derive(Debug, Clone, Default)]
pub struct Spans(Vec<Duration>);

impl Spans {
    pub fn of(mut spans: Vec<Duration>) -> Self {
        spans.sort_unstable();
        Self(spans)
    }

    /// Several measurements as one.
    pub fn all(parts: Vec<Self>) -> Self {
        Self::of(parts.into_iter().flat_map(|part| part.0).collect())
    }

    /// The span that so many percent of all do not exceed.
    pub fn percentile(&self, percent: f64) -> Duration {
        let rank = (percent / 100.0 * self.0.len() as f64).ceil().max(1.0) as usize;
        self.0.get(rank.min(self.0.len()).saturating_sub(1)).copied().unwrap_or_default()
    }

    pub fn p50_ms(&self) -> f64 {
        self.percentile(50.0).as_secs_f64() * 1e3
    }

    pub fn p99_ms(&self) -> f64 {
        self.percentile(99.0).as_secs_f64() * 1e3
    }
}
