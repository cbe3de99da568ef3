//! A rate read off a counter that others move.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long a load runs before it counts, and how long it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spans {
    pub warm_up: Duration,
    pub measured: Duration,
}

/// A counter at a moment.
#[derive(Debug, Clone, Copy)]
struct Reading {
    at: Instant,
    count: u64,
}

impl Reading {
    fn of(counter: &AtomicU64) -> Self {
        Self { at: Instant::now(), count: counter.load(Ordering::Relaxed) }
    }

    fn rate_to(self, later: Self) -> f64 {
        let seconds = later.at.duration_since(self.at).as_secs_f64();
        (later.count - self.count) as f64 / seconds.max(1e-9)
    }
}

/// Per second, after the warm-up.
pub async fn of_counter(counter: &AtomicU64, spans: Spans) -> f64 {
    of_counter_until(counter, spans, std::future::pending()).await
}

/// As [`of_counter`], until `over` at most: after that nothing is counted. A load that is over before the warm-up counts
/// as a whole.
pub async fn of_counter_until(counter: &AtomicU64, spans: Spans, over: impl Future<Output = Instant>) -> f64 {
    tokio::pin!(over);
    let begin = Reading::of(counter);
    let end_of = |at| Reading { at, ..Reading::of(counter) };
    let warm = tokio::select! {
        () = tokio::time::sleep(spans.warm_up) => Reading::of(counter),
        at = &mut over => return begin.rate_to(end_of(at)),
    };
    let end = tokio::select! {
        () = tokio::time::sleep(spans.measured) => Reading::of(counter),
        at = &mut over => end_of(at),
    };
    // A moment after the warm-up says too little.
    let is_too_short = end.at.duration_since(warm.at) < spans.measured / 10;
    if is_too_short { begin.rate_to(end) } else { warm.rate_to(end) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPANS: Spans = Spans { warm_up: Duration::from_millis(20), measured: Duration::from_millis(50) };

    #[tokio::test]
    async fn what_was_counted_before_the_warm_up_ended_does_not_count() {
        let counter = AtomicU64::new(1_000_000);
        assert_eq!(of_counter(&counter, SPANS).await, 0.0);
    }

    #[tokio::test]
    async fn a_load_that_ends_early_is_rated_over_the_time_it_took() {
        let counter = AtomicU64::new(0);
        let over = async {
            tokio::time::sleep(Duration::from_millis(10)).await;
            counter.store(100, Ordering::Relaxed);
            Instant::now()
        };
        let rate = of_counter_until(&counter, SPANS, over).await;
        assert!(rate > 1_000.0 && rate <= 10_000.0, "{rate}");
    }
}
