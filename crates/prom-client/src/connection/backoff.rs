//! How long to wait before connecting again: doubling, with jitter, so that clients do not come back all at once.

use std::time::Duration;

use super::random::SplitMix;

pub(super) struct ReconnectBackoff {
    first: Duration,
    longest: Duration,
    next: Duration,
    random: SplitMix,
}

impl ReconnectBackoff {
    pub fn new(first: Duration, longest: Duration, random: SplitMix) -> Self {
        Self { first, longest, next: first, random }
    }

    /// Between half and all of the step.
    pub fn wait(&mut self) -> Duration {
        let step = self.next;
        self.next = (step * 2).min(self.longest);
        step.mul_f64(0.5 + self.random.fraction() / 2.0)
    }

    pub fn reset(&mut self) {
        self.next = self.first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_to_the_longest_with_jitter_and_begin_again_after_a_reset() {
        let mut backoff =
            ReconnectBackoff::new(Duration::from_millis(100), Duration::from_millis(350), SplitMix::new());
        for step in [100, 200, 350, 350] {
            let wait = backoff.wait();
            let (least, most) = (Duration::from_millis(step / 2), Duration::from_millis(step));
            assert!(wait >= least && wait <= most, "{wait:?} is not between {least:?} and {most:?}");
        }
        backoff.reset();
        assert!(backoff.wait() <= Duration::from_millis(100));
    }
}
