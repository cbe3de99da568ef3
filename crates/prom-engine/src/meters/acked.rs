//! Counting what was acked.

use std::time::Duration;

use super::GroupMeter;

/// Acks that a dispatcher works through together. Those that were handed over together mostly come
/// back together: each such run is counted at once.
#[derive(Debug)]
pub(crate) struct AckTally {
    now: Duration,
    run: u64,
    run_handed_over: Duration,
}

impl AckTally {
    pub fn new(now: Duration) -> Self {
        Self { now, run: 0, run_handed_over: Duration::ZERO }
    }

    pub fn add(&mut self, handed_over: Duration, meter: &GroupMeter) {
        if handed_over != self.run_handed_over {
            self.count(meter);
            self.run_handed_over = handed_over;
        }
        self.run += 1;
    }

    /// Passes on what has gathered.
    pub fn count(&mut self, meter: &GroupMeter) {
        if self.run > 0 {
            meter.acked.add(self.run);
            meter.handling.record_many(self.now.saturating_sub(self.run_handed_over), self.run);
            self.run = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acks_are_counted_by_when_they_were_handed_over() {
        let meter = GroupMeter::default();
        let mut tally = AckTally::new(Duration::from_millis(100));
        for handed_over_ms in [0, 0, 90, 0] {
            tally.add(Duration::from_millis(handed_over_ms), &meter);
        }
        tally.count(&meter);
        tally.count(&meter);
        let handling = meter.handling.snapshot();
        assert_eq!((meter.acked.get(), handling.count, handling.sum), (4, 4, 310.0));
    }
}
