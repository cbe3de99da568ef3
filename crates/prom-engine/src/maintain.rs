//! Background passes: retention, compaction, expiry of groups. One task, one pass at a time; among
//! several processes on one store, one at a time does it.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use crate::bus::{Core, Phase};
use crate::{compact, group, retain};

const LEASE: &str = "maintenance";

/// Runs until the bus shuts down.
pub(crate) async fn run(core: Arc<Core>, every: Duration) {
    let holder = core.ids.make(core.clock.now_ms()).to_string();
    let mut phase = core.watch_phase();
    let mut pace = interval(every.max(Duration::from_millis(10)));
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // The first tick comes at once; opening a store is no moment for cleaning it.
    pace.tick().await;
    loop {
        tokio::select! {
            _ = pace.tick() => {}
            _ = phase.changed() => {}
        }
        if *phase.borrow_and_update() != Phase::Open {
            return;
        }
        match core.store.acquire_lease(LEASE, &holder, every * 2).await {
            Ok(Some(_)) => pass(&core).await,
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, "maintenance has to wait"),
        }
    }
}

/// Each part for itself: one that fails does not stop the others.
async fn pass(core: &Core) {
    if let Err(error) = retain::retain(core).await {
        tracing::error!(%error, "retention failed; it is tried again at the next pass");
    }
    if let Err(error) = compact::compact(core).await {
        tracing::error!(%error, "compaction failed; it is tried again at the next pass");
    }
    if let Err(error) = group::expire(core).await {
        tracing::error!(%error, "expiry of groups failed; it is tried again at the next pass");
    }
}
