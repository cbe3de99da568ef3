//! How long a failed event waits before it is handed out again.
//!
//! Doubling with a ceiling, and jittered downwards by up to a quarter so that events which failed
//! together do not come back together. The jitter is seeded: the same inputs give the same waits.

use std::time::Duration;

use prom_types::Backoff;

/// How long an event waits after `failures` failures: at most the ceiling, at least three quarters of it.
pub(super) fn wait(backoff: &Backoff, failures: u32, jitter: &mut Jitter) -> Duration {
    let ceiling = backoff.ceiling(failures);
    ceiling - (ceiling / 4).mul_f64(jitter.fraction())
}

/// A small seeded generator (splitmix64): enough to spread retries, reproducible in tests.
#[derive(Debug)]
pub(super) struct Jitter(u64);

impl Jitter {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// In `0.0..1.0`.
    fn fraction(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_ceiling_and_jitter_only_shortens_them() {
        let backoff = Backoff::default();
        let mut jitter = Jitter::new(7);
        for (failures, ceiling_ms) in [(0, 200), (1, 200), (2, 400), (3, 800), (8, 25_600), (9, 30_000), (500, 30_000)]
        {
            let ceiling = Duration::from_millis(ceiling_ms);
            assert_eq!(backoff.ceiling(failures), ceiling, "after {failures} failures");
            for _ in 0..100 {
                let wait = wait(&backoff, failures, &mut jitter);
                assert!(wait <= ceiling && wait >= ceiling * 3 / 4, "{wait:?} after {failures} failures");
            }
        }
    }

    #[test]
    fn events_that_failed_together_wait_for_different_times() {
        let (backoff, mut jitter) = (Backoff::default(), Jitter::new(1));
        assert_ne!(wait(&backoff, 1, &mut jitter), wait(&backoff, 1, &mut jitter));
    }
}
