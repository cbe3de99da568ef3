//! Looks at the counters once a second, but only while the rates are asked for.
//!
//! An answer is the rate since the oldest look of the last ten seconds. The task that looks
//! ends a minute after the last question, so an unwatched hub does nothing.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use prom_engine::{Bus, Error, TaskName};
use prom_store::Clock;

use super::rates::{CounterSample, MeasuredRates};
use crate::http::{RATE_INTEREST, RATE_WINDOW};

const INTERVAL: Duration = Duration::from_secs(1);
/// Two looks closer together than this say little.
const SHORTEST: Duration = Duration::from_millis(500);

pub(crate) struct Sampler {
    bus: Bus,
    clock: Arc<dyn Clock>,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    /// The oldest first.
    samples: VecDeque<CounterSample>,
    asked_at: Duration,
    running: bool,
}

impl Sampler {
    pub fn new(bus: Bus, clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self { bus, clock, kept: Mutex::default() })
    }

    /// The rates of the last seconds; begins to look if nothing does.
    pub async fn rates(self: &Arc<Self>) -> Result<MeasuredRates, Error> {
        let now = self.look().await?;
        let mut kept = self.kept.lock();
        kept.asked_at = now.at;
        if !kept.running {
            kept.running = true;
            kept.samples.clear();
            kept.samples.push_back(now.clone());
            let (sampler, failures) = (Arc::downgrade(self), self.bus.task_failures().clone());
            let work = async move || run(&sampler).await;
            tokio::spawn(failures.keep_running(TaskName::only("rate sampler"), work));
        }
        let oldest = kept.samples.front().filter(|sample| now.at.saturating_sub(sample.at) >= SHORTEST);
        Ok(MeasuredRates::new(oldest.cloned(), now))
    }

    async fn look(&self) -> Result<CounterSample, Error> {
        let logs = self.bus.logs().await?;
        Ok(CounterSample::new(self.clock.monotonic(), &self.bus.meters(), &logs))
    }

    /// Keeps a look; `Over` when the last question is long ago.
    fn keep(&self, sample: CounterSample) -> Interest {
        let mut kept = self.kept.lock();
        if sample.at.saturating_sub(kept.asked_at) > RATE_INTEREST {
            *kept = Kept::default();
            return Interest::Over;
        }
        while kept.samples.front().is_some_and(|oldest| sample.at.saturating_sub(oldest.at) > RATE_WINDOW) {
            kept.samples.pop_front();
        }
        kept.samples.push_back(sample);
        Interest::GoesOn
    }
}

enum Interest {
    GoesOn,
    Over,
}

/// Ends with the interest, with the sampler, and with the store.
async fn run(sampler: &Weak<Sampler>) {
    loop {
        tokio::time::sleep(INTERVAL).await;
        let Some(sampler) = sampler.upgrade() else { return };
        match sampler.look().await {
            Ok(sample) => match sampler.keep(sample) {
                Interest::GoesOn => {}
                Interest::Over => return,
            },
            Err(_) => {
                *sampler.kept.lock() = Kept::default();
                return;
            }
        }
    }
}
