//! One token bucket on a monotonic clock.

use std::time::Duration;

/// How many per second on average, and how many at once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    pub per_second: f64,
    pub burst: f64,
}

/// Refused: try again after this long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RetryAfter(pub Duration);

/// Fills at its rate up to its burst; an event takes one token.
#[derive(Debug, Clone, Copy)]
pub struct Bucket {
    rate: Rate,
    tokens: f64,
    /// On the monotonic clock.
    filled_at: Duration,
}

impl Rate {
    pub fn per_second(per_second: f64, burst: f64) -> Self {
        Self { per_second, burst }
    }
}

impl RetryAfter {
    /// Rounded up, at least 1.
    pub fn millis(self) -> u64 {
        let rounded_up = self.0.as_nanos().div_ceil(1_000_000);
        u64::try_from(rounded_up).unwrap_or(u64::MAX).max(1)
    }
}

impl Bucket {
    /// Full.
    pub fn new(rate: Rate, now: Duration) -> Self {
        Self { rate, tokens: rate.burst, filled_at: now }
    }

    /// Takes `count` tokens, or none and says when they would be there. More than the burst at once
    /// is let through when the bucket is full, and paid back before the next.
    pub fn take(&mut self, count: usize, now: Duration) -> Result<(), RetryAfter> {
        self.fill(now);
        let count = count as f64;
        let needed = count.min(self.rate.burst);
        if self.tokens >= needed {
            self.tokens -= count;
            return Ok(());
        }
        let seconds = (needed - self.tokens) / self.rate.per_second;
        Err(RetryAfter(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)))
    }

    /// Gives back what was taken for something that was then refused elsewhere.
    pub fn give_back(&mut self, count: usize) {
        self.tokens = (self.tokens + count as f64).min(self.rate.burst);
    }

    /// A new bucket would behave the same.
    pub fn is_full(&mut self, now: Duration) -> bool {
        self.fill(now);
        self.tokens >= self.rate.burst
    }

    fn fill(&mut self, now: Duration) {
        let elapsed = now.saturating_sub(self.filled_at).as_secs_f64();
        self.filled_at = self.filled_at.max(now);
        self.tokens = (self.tokens + elapsed * self.rate.per_second).min(self.rate.burst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Duration = Duration::from_secs(100);

    #[test]
    fn a_burst_passes_and_then_the_rate_holds() {
        let mut bucket = Bucket::new(Rate::per_second(10.0, 5.0), START);
        for _ in 0..5 {
            assert_eq!(bucket.take(1, START), Ok(()));
        }
        let refused = bucket.take(1, START).unwrap_err();
        assert_eq!(refused.millis(), 100);
        assert_eq!(bucket.take(1, START + Duration::from_millis(99)).unwrap_err().millis(), 1);
        assert_eq!(bucket.take(1, START + Duration::from_millis(100)), Ok(()));
    }

    #[test]
    fn waiting_as_long_as_told_is_enough() {
        let mut bucket = Bucket::new(Rate::per_second(3.0, 7.0), START);
        let mut now = START;
        for count in (1..=7).cycle().take(100) {
            if let Err(wait) = bucket.take(count, now) {
                now += Duration::from_millis(wait.millis());
                assert_eq!(bucket.take(count, now), Ok(()), "{count} after {wait:?}");
            }
        }
    }

    #[test]
    fn a_batch_above_the_burst_waits_for_a_full_bucket_and_is_paid_back() {
        let mut bucket = Bucket::new(Rate::per_second(10.0, 10.0), START);
        assert_eq!(bucket.take(30, START), Ok(()));
        assert_eq!(bucket.take(1, START + Duration::from_secs(2)).unwrap_err().millis(), 100);
        assert_eq!(bucket.take(1, START + Duration::from_millis(2100)), Ok(()));
    }

    #[test]
    fn a_clock_that_stands_still_or_goes_back_fills_nothing() {
        let mut bucket = Bucket::new(Rate::per_second(1.0, 1.0), START);
        assert_eq!(bucket.take(1, START), Ok(()));
        assert!(bucket.take(1, START - Duration::from_secs(50)).is_err());
        assert!(bucket.take(1, START).is_err());
    }
}
