//! The budget of one comparison. Steps decide, so that the answer is the same on every machine, busy or idle; the clock only
//! ends what takes far longer than steps should.

use std::time::{Duration, Instant};

/// The clock is read once per this many steps.
const STEPS_PER_LOOK: u64 = 64;
/// Small pieces of work that take as long as one step.
const TICKS_PER_STEP: u64 = 4;

pub(super) struct Meter {
    budget: u64,
    spent: u64,
    /// Spent steps at which the present phase ends.
    limit: u64,
    ticks: u64,
    until: Instant,
    next_look: u64,
}

impl Meter {
    pub fn new(until: Instant, steps: u64) -> Self {
        Self { budget: steps, spent: 0, limit: steps, ticks: 0, until, next_look: 0 }
    }

    /// From now on so much of the whole budget may be spent, what was spent before included.
    pub fn allow(&mut self, share: f64) {
        if self.limit > 0 {
            self.limit = (self.budget as f64 * share) as u64;
        }
    }

    /// Takes steps. `false` once the budget is spent, and from then on.
    pub fn take(&mut self, steps: u64) -> bool {
        self.spent = self.spent.saturating_add(steps);
        if self.spent >= self.next_look {
            self.look();
        }
        !self.is_spent()
    }

    /// Takes a fraction of a step.
    pub fn tick(&mut self) {
        self.ticks += 1;
        if self.ticks == TICKS_PER_STEP {
            self.ticks = 0;
            self.take(1);
        }
    }

    fn look(&mut self) {
        self.next_look = self.spent + STEPS_PER_LOOK;
        if Instant::now() >= self.until {
            // Nothing is allowed any more, in later phases neither.
            self.limit = 0;
        }
    }

    pub fn is_spent(&self) -> bool {
        self.spent >= self.limit
    }

    /// Steps that were taken so far.
    pub fn spent(&self) -> u64 {
        self.spent
    }
}

/// The end of a comparison that begins now, by the clock.
pub(super) fn until(time: Duration) -> Instant {
    Instant::now() + time
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_share_one_budget_and_the_clock_ends_all_of_them() {
        let mut meter = Meter::new(until(Duration::from_secs(600)), 100);
        meter.allow(0.5);
        assert!(meter.take(40) && !meter.take(10) && meter.is_spent());
        meter.allow(0.9);
        assert!(meter.take(30) && !meter.take(30));
        (0..8).for_each(|_| meter.tick());
        assert_eq!(meter.spent(), 112);
        let mut late = Meter::new(Instant::now(), 100);
        assert!(!late.take(1));
        late.allow(1.0);
        assert!(late.is_spent());
    }
}
