//! A graceful end: nothing new is handed out, handlers finish, their acks become durable, the store
//! is closed. What was not settled comes again at the next start, and counts neither as an attempt
//! nor as a return.

use futures::future::join_all;
use tokio::time::timeout;

use crate::bus::Phase;
use crate::limits::FLUSH_TIMEOUT;
use crate::{Bus, Error};

impl Bus {
    /// Shuts down: waits for handlers up to [`crate::BusOptions::drain_timeout`], then closes the
    /// store. Publishing fails from now on, subscriptions end. Calling it again does nothing.
    pub async fn shutdown(&self) -> Result<(), Error> {
        let core = self.core();
        if core.enter(Phase::Draining) != Phase::Open {
            return Ok(());
        }
        let subscriptions = core.followers.all();
        subscriptions.iter().for_each(|live| live.outlet.end());
        let drained = join_all(subscriptions.iter().map(|live| live.outlet.drained()));
        if timeout(core.options.drain_timeout, drained).await.is_err() {
            tracing::warn!("handlers did not finish in time; what they hold comes again at the next start");
        }
        let tasks = core.groups.take_tasks();
        core.enter(Phase::Stopped);
        if timeout(FLUSH_TIMEOUT * 2, join_all(tasks)).await.is_err() {
            tracing::error!("a dispatcher did not end in time");
        }
        let maintenance = core.maintenance.lock().take();
        if let Some(maintenance) = maintenance {
            maintenance.abort();
            let _aborted = maintenance.await;
        }
        Ok(core.store.close().await?)
    }
}
