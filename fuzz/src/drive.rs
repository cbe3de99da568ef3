//! The driver: inputs from seeds until the time or the count is over, each repeatable by its number.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use prom_testkit::Random;

use crate::mutate;

/// Something that is given bytes and must not panic.
#[derive(Clone, Copy)]
pub struct Target {
    pub name: &'static str,
    pub run: fn(&[u8]),
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Pieces that its parser knows.
    pub words: fn() -> Vec<Vec<u8>>,
}

/// When to stop.
#[derive(Debug, Clone, Copy)]
pub enum Until {
    Elapsed(Duration),
    Inputs(u64),
}

/// What a run did, if nothing broke.
#[derive(Debug, Clone, Copy)]
pub struct Report {
    pub inputs: u64,
    pub elapsed: Duration,
}

/// A promise was broken.
#[derive(Debug)]
pub struct Broken {
    /// Repeats it: `--seed` with `--inputs 1`.
    pub seed: u64,
    pub input: Vec<u8>,
}

/// Panics so far, in whichever thread.
static PANICS: AtomicU64 = AtomicU64::new(0);

/// Gives the target one input after the other; the input of number `n` depends on `first_seed + n` alone.
pub fn drive(target: &Target, first_seed: u64, until: Until) -> Result<Report, Broken> {
    count_panics();
    let (seeds, words) = ((target.seeds)(), (target.words)());
    let begin = Instant::now();
    let mut inputs = 0;
    loop {
        let over = match until {
            Until::Elapsed(longest) => begin.elapsed() >= longest,
            Until::Inputs(most) => inputs >= most,
        };
        if over {
            return Ok(Report { inputs, elapsed: begin.elapsed() });
        }
        let seed = first_seed.wrapping_add(inputs);
        let input = mutate::mutated(&mut Random::seeded(seed), &seeds, &words);
        let before = PANICS.load(Ordering::SeqCst);
        let ran = panic::catch_unwind(AssertUnwindSafe(|| (target.run)(&input)));
        if ran.is_err() || PANICS.load(Ordering::SeqCst) != before {
            return Err(Broken { seed, input });
        }
        inputs += 1;
    }
}

/// Threads that a target started may panic where nothing catches it.
fn count_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let told = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            PANICS.fetch_add(1, Ordering::SeqCst);
            told(panic);
        }));
    });
}
