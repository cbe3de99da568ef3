//! The budget of one comparison: steps, which are the same on every machine, and time, which people wait for.

use std::time::{Duration, Instant};

/// The clock is read once per this many steps.
const STEPS_PER_LOOK: u64 = 64;

pub(super) struct Meter {
    steps_left: u64,
    started: Instant,
    time: Duration,
    until_look: u64,
}

impl Meter {
    pub fn new(started: Instant, time: Duration, steps: u64) -> Self {
        Self { steps_left: steps, started, time, until_look: 0 }
    }

    /// Takes steps. `false` once the budget is spent, and from then on.
    pub fn take(&mut self, steps: u64) -> bool {
        if self.steps_left < steps {
            self.steps_left = 0;
            return false;
        }
        self.steps_left -= steps;
        if self.until_look > steps {
            self.until_look -= steps;
            return true;
        }
        self.look();
        self.steps_left > 0
    }

    /// Looks at the clock now and then during work that takes no steps.
    pub fn tick(&mut self) {
        self.until_look = self.until_look.saturating_sub(1);
        if self.until_look == 0 {
            self.look();
        }
    }

    fn look(&mut self) {
        self.until_look = STEPS_PER_LOOK;
        if self.started.elapsed() >= self.time {
            self.steps_left = 0;
        }
    }

    pub fn is_spent(&self) -> bool {
        self.steps_left == 0
    }
}
