//! Counting without a lock: the path of an event is measured with relaxed atomic adds.
//!
//! Promises: recording never waits and never allocates; a counter never falls; the buckets of a
//! snapshot always add up to its count. Several numbers read together may be from slightly
//! different moments.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

/// The upper edges of a histogram's buckets, in nanoseconds: from a read out of memory to a handler that uses up its
/// lease.
const BOUNDS_NS: [u64; 18] = [
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
    2_500_000_000,
    5_000_000_000,
    10_000_000_000,
    30_000_000_000,
];

/// The same in milliseconds, for people.
const BOUNDS_MS: [f64; BOUNDS_NS.len()] = {
    let mut bounds = [0.0; BOUNDS_NS.len()];
    let mut at = 0;
    while at < bounds.len() {
        bounds[at] = BOUNDS_NS[at] as f64 / 1e6;
        at += 1;
    }
    bounds
};

/// A number that only grows. It has its own cache line, so that counters of different threads do not slow each other
/// down.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct Counter(AtomicU64);

impl Counter {
    pub fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A number that rises and falls. Several parties may each add their share.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct Gauge(AtomicI64);

impl Gauge {
    pub fn add(&self, change: i64) {
        self.0.fetch_add(change, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        u64::try_from(self.0.load(Ordering::Relaxed)).unwrap_or(0)
    }
}

/// How long things took, in fixed buckets from 0.05 ms to 30 s.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct Histogram {
    /// The last bucket is for times above all bounds.
    counts: [AtomicU64; BOUNDS_NS.len() + 1],
    /// In microseconds: precise enough for a sum, and centuries fit.
    sum_us: AtomicU64,
}

/// A histogram at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct HistogramSnapshot {
    /// Upper edges in milliseconds, each included in its bucket.
    pub bounds: &'static [f64],
    /// How many fell into each bucket, not cumulative; one more than `bounds`, for times above all of them.
    pub counts: Vec<u64>,
    /// In milliseconds.
    pub sum: f64,
    pub count: u64,
}

impl Histogram {
    pub fn record(&self, took: Duration) {
        self.record_many(took, 1);
    }

    /// Records `count` things that took the same time, at the price of one.
    pub fn record_many(&self, took: Duration, count: u64) {
        if count == 0 {
            return;
        }
        let took_ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let bucket = BOUNDS_NS.partition_point(|&bound| bound < took_ns);
        self.counts[bucket].fetch_add(count, Ordering::Relaxed);
        let took_us = took_ns.saturating_add(500) / 1000;
        self.sum_us.fetch_add(took_us.saturating_mul(count), Ordering::Relaxed);
    }

    pub fn snapshot(&self) -> HistogramSnapshot {
        let counts: Vec<u64> = self.counts.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        HistogramSnapshot {
            bounds: &BOUNDS_MS,
            count: counts.iter().sum(),
            counts,
            sum: self.sum_us.load(Ordering::Relaxed) as f64 / 1000.0,
        }
    }
}

/// What a store measures about itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StoreMeters {
    /// How long it took to make commits durable, one entry per sync; `None` for a store that does not sync.
    pub sync_ms: Option<HistogramSnapshot>,
    /// Places found since the start that no longer hold what was written.
    pub damaged_places: u64,
    /// Journal frames that were not whole when the store was opened and were cut: a crash while a frame is written
    /// leaves one, and so does damage to the last frame.
    pub cut_frames: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_falls_into_the_first_bucket_that_reaches_it() {
        let histogram = Histogram::default();
        let cases = [
            (Duration::ZERO, 0),
            (Duration::from_micros(50), 0),
            (Duration::from_nanos(50_001), 1),
            (Duration::from_millis(1), 4),
            (Duration::from_millis(30_000), 17),
            (Duration::from_millis(30_001), 18),
            (Duration::MAX, 18),
        ];
        for (took, bucket) in cases {
            let before = histogram.snapshot().counts[bucket];
            histogram.record(took);
            assert_eq!(histogram.snapshot().counts[bucket], before + 1, "{took:?}");
        }
        assert_eq!(histogram.snapshot().count, cases.len() as u64);
    }

    #[test]
    fn many_at_once_count_like_one_after_the_other() {
        let (together, apart) = (Histogram::default(), Histogram::default());
        together.record_many(Duration::from_micros(1500), 3);
        together.record_many(Duration::from_secs(9), 0);
        (0..3).for_each(|_| apart.record(Duration::from_micros(1500)));
        assert_eq!(together.snapshot(), apart.snapshot());
        assert_eq!((together.snapshot().sum, together.snapshot().count), (4.5, 3));
    }

    #[test]
    fn the_bounds_grow_and_are_told_in_milliseconds() {
        let snapshot = Histogram::default().snapshot();
        assert!(snapshot.bounds.is_sorted_by(|a, b| a < b));
        assert_eq!((snapshot.bounds.first(), snapshot.bounds.last()), (Some(&0.05), Some(&30_000.0)));
        assert_eq!(snapshot.counts.len(), snapshot.bounds.len() + 1);
    }

    #[test]
    fn what_many_threads_count_is_all_there() {
        let (counter, gauge, histogram) = (Counter::default(), Gauge::default(), Histogram::default());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        counter.add(2);
                        gauge.add(3);
                        gauge.add(-2);
                        histogram.record(Duration::from_millis(1));
                    }
                });
            }
        });
        assert_eq!((counter.get(), gauge.get(), histogram.snapshot().count), (8000, 4000, 4000));
        assert_eq!(histogram.snapshot().sum, 4000.0);
    }
}
