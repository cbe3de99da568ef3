//! How long things took, in a histogram that keeps three digits of every span.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

/// Percentiles are exact to a thousandth.
const DIGITS: u8 = 3;
/// An eighth of the memory.
const COARSE_DIGITS: u8 = 2;

#[derive(Debug, Clone)]
pub struct Latencies(Histogram<u32>);

/// In microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Percentiles {
    pub count: u64,
    pub min: f64,
    pub mean: f64,
    pub p50: f64,
    pub p90: f64,
    pub p99: f64,
    #[serde(rename = "p99_9")]
    pub p99_9: f64,
    pub max: f64,
}

/// How many spans were up to this long, and longer than the step before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LatencyStep {
    pub up_to: Duration,
    pub count: u64,
}

impl Default for Latencies {
    fn default() -> Self {
        Self::with_digits(DIGITS)
    }
}

impl Extend<Duration> for Latencies {
    fn extend<T: IntoIterator<Item = Duration>>(&mut self, spans: T) {
        spans.into_iter().for_each(|span| self.record(span));
    }
}

impl Latencies {
    /// For measurements with very many histograms.
    pub fn coarse() -> Self {
        Self::with_digits(COARSE_DIGITS)
    }

    fn with_digits(digits: u8) -> Self {
        // Only a number of digits beyond five is refused.
        let histogram = Histogram::new(digits).or_else(|_| Histogram::new(1));
        Self(histogram.unwrap_or_else(|_| unreachable!("one digit is always possible")))
    }

    pub fn record(&mut self, span: Duration) {
        self.record_many(span, 1);
    }

    pub fn record_many(&mut self, span: Duration, count: u32) {
        let nanos = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX / 2);
        // It grows by itself; only a span of centuries does not fit.
        let _fits = self.0.record_n(nanos.max(1), count);
    }

    pub fn add(&mut self, other: &Self) {
        // Both grow by themselves, so they fit into each other.
        let _fits = self.0.add(&other.0);
    }

    pub fn percentile(&self, percent: f64) -> Duration {
        Duration::from_nanos(self.0.value_at_percentile(percent))
    }

    pub fn p50_ms(&self) -> f64 {
        self.percentile(50.0).as_secs_f64() * 1e3
    }

    pub fn p99_ms(&self) -> f64 {
        self.percentile(99.0).as_secs_f64() * 1e3
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn percentiles(&self) -> Option<Percentiles> {
        if self.is_empty() {
            return None;
        }
        let micros = |nanos: f64| (nanos / 100.0).round() / 10.0;
        let at = |quantile: f64| micros(self.0.value_at_quantile(quantile) as f64);
        Some(Percentiles {
            count: self.0.len(),
            min: micros(self.0.min() as f64),
            mean: micros(self.0.mean()),
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p99_9: at(0.999),
            max: micros(self.0.max() as f64),
        })
    }

    /// In steps of 1, 2, 5, 10, …, from the first that holds something to the last.
    pub fn steps(&self) -> Vec<LatencyStep> {
        let bounds = (0..).flat_map(|power| [1, 2, 5].map(|digit| digit * 10_u64.pow(power)));
        let mut below = 0;
        let mut steps = Vec::new();
        for up_to in bounds.take_while(|bound| *bound < u64::MAX / 100) {
            let count = self.0.count_between(below, up_to - 1);
            below = up_to;
            if count > 0 || !steps.is_empty() {
                steps.push(LatencyStep { up_to: Duration::from_nanos(up_to), count });
            }
            if up_to > self.0.max() {
                break;
            }
        }
        while steps.last().is_some_and(|step| step.count == 0) {
            steps.pop();
        }
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_spans() {
        let mut latencies = Latencies::default();
        assert_eq!(latencies.percentiles(), None);
        (1..=1000).for_each(|micros| latencies.record(Duration::from_micros(micros)));
        let Percentiles { count, p50, p90, p99, p99_9, max, .. } = latencies.percentiles().unwrap();
        assert_eq!(count, 1000);
        for (shown, exact) in [(p50, 500.0), (p90, 900.0), (p99, 990.0), (p99_9, 999.0), (max, 1000.0)] {
            assert!((shown - exact).abs() <= exact / 500.0, "{shown} instead of {exact}");
        }
    }

    #[test]
    fn steps_hold_every_span_once() {
        let mut latencies = Latencies::default();
        for micros in [3, 15, 15, 900, 40_000] {
            latencies.record(Duration::from_micros(micros));
        }
        let mut other = Latencies::coarse();
        other.record_many(Duration::from_millis(7), 4);
        latencies.add(&other);
        let steps = latencies.steps();
        assert_eq!(steps.iter().map(|step| step.count).sum::<u64>(), 9);
        assert_eq!(steps[0], LatencyStep { up_to: Duration::from_micros(5), count: 1 });
        assert_eq!(steps.last().unwrap().up_to, Duration::from_millis(50));
    }
}
