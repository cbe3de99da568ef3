//! Background passes: retention, compaction, expiry of groups, forgetting what became of letters. One task, one pass at a time; among
//! several processes on one store, one at a time does it. One log or group that fails keeps no other
//! from being cleaned.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use crate::bus::{BusPhase, Core};
use crate::forget_given::forget_marks;
use crate::{Error, compact, group, retain};

const LEASE: &str = "maintenance";

/// Runs until the bus shuts down.
pub(crate) async fn run(core: &Arc<Core>, every: Duration) {
    let holder = core.ids.make(core.clock.now_ms()).to_string();
    let mut phase = core.watch_phase();
    let mut pace = interval(every.max(Duration::from_millis(10)));
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // The first tick comes at once; opening a store is no moment for cleaning it.
    pace.tick().await;
    let mut marks_after = None;
    loop {
        tokio::select! {
            _ = pace.tick() => {}
            _ = phase.changed() => {}
        }
        if *phase.borrow_and_update() != BusPhase::Open {
            return;
        }
        match core.store.acquire_lease(LEASE, &holder, every * 2).await {
            Ok(Some(_)) => pass(core, &mut marks_after).await,
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, "maintenance has to wait"),
        }
    }
}

/// Each part for itself: one that fails does not stop the others.
async fn pass(core: &Arc<Core>, marks_after: &mut Option<String>) {
    log_failure("retention", retain::retain(core).await);
    log_failure("compaction", compact::compact(core, compact::CompactWhich::Worthwhile).await);
    log_failure("expiry of groups", group::expire(core).await);
    let forgotten = forget_marks(core, marks_after.as_deref()).await;
    *marks_after = forgotten.as_ref().ok().cloned().flatten();
    log_failure("forgetting what became of letters", forgotten);
}

fn log_failure<T>(work: &str, result: Result<T, Error>) {
    match result {
        // What failed of it was logged part by part.
        Ok(_) | Err(Error::Incomplete { .. }) => {}
        Err(error) => tracing::error!(%error, "{work} failed; it is tried again at the next pass"),
    }
}

/// Gathers what failed of a pass while the rest goes on.
pub(crate) struct PassFailures {
    work: &'static str,
    failed: Vec<(String, Error)>,
}

impl PassFailures {
    pub fn of(work: &'static str) -> Self {
        Self { work, failed: Vec::new() }
    }

    /// The part was not done. A closed bus ends the pass: nothing else would work either.
    pub fn note(&mut self, part: impl Display, error: Error) -> Result<(), Error> {
        if matches!(error, Error::Closed) {
            return Err(error);
        }
        tracing::error!(%part, %error, "{} failed here; it is tried again at the next pass", self.work);
        self.failed.push((part.to_string(), error));
        Ok(())
    }

    /// What was done, or the parts that failed.
    pub fn unless_any<T>(self, done: T) -> Result<T, Error> {
        if self.failed.is_empty() { Ok(done) } else { Err(Error::Incomplete { work: self.work, failed: self.failed }) }
    }
}
