//! A graceful end: nothing new is handed out, handlers finish, their acks become durable, the store
//! is closed. What was not settled comes again at the next start, and counts neither as an attempt
//! nor as a return.
//!
//! It runs as a task of its own: a caller that stops waiting does not stop it, and every caller hears
//! how it ended.

use std::sync::{Arc, OnceLock};

use futures::FutureExt;
use futures::future::{BoxFuture, Shared, join_all};
use prom_store::StoreError;
use tokio::time::timeout;

use crate::bus::{BusPhase, Core};
use crate::limits::FLUSH_TIMEOUT;
use crate::{Bus, Error};

/// How the shutdown ended, for every caller; the reason if the store did not close.
#[derive(Default)]
pub(crate) struct Shutdown(OnceLock<Shared<BoxFuture<'static, Result<(), String>>>>);

impl Bus {
    /// Shuts down: waits for handlers up to [`crate::BusOptions::drain_timeout`], then closes the
    /// store. Publishing fails from now on, subscriptions end. Once begun it goes on, also if this
    /// future is dropped; calling it again waits for the same end and gives the same result.
    pub async fn shutdown(&self) -> Result<(), Error> {
        let core = self.core();
        let end = core.shutdown.0.get_or_init(|| {
            core.enter(BusPhase::Draining);
            let ending = tokio::spawn(shut_down(core.clone()));
            let told = ending.map(|ended| match ended {
                Ok(closed) => closed.map_err(|error| error.to_string()),
                Err(stopped) => Err(stopped.to_string()),
            });
            told.boxed().shared()
        });
        end.clone().await.map_err(|reason| Error::CloseFailed { reason })
    }
}

async fn shut_down(core: Arc<Core>) -> Result<(), StoreError> {
    let subscriptions = core.followers.all();
    subscriptions.iter().for_each(|live| live.outlet.end());
    let drained = join_all(subscriptions.iter().map(|live| live.outlet.drained()));
    if timeout(core.options.drain_timeout, drained).await.is_err() {
        tracing::warn!("handlers did not finish in time; what they hold comes again at the next start");
    }
    let tasks = core.groups.take_tasks();
    core.enter(BusPhase::Stopped);
    if timeout(FLUSH_TIMEOUT * 2, join_all(tasks)).await.is_err() {
        tracing::error!("a dispatcher did not end in time");
    }
    let maintenance = core.maintenance.lock().take();
    if let Some(maintenance) = maintenance {
        maintenance.abort();
        let _aborted = maintenance.await;
    }
    if let Some(ownership) = &core.ownership {
        ownership.leave(&*core.store).await;
    }
    core.store.close().await
}
