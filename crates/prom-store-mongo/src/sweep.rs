//! The store's background maintenance, on one hub at a time: removes batches that retention has hidden, merges small
//! ones, forgets the windows of idle logs.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use mongodb::bson::{Document, doc};
use prom_store::{LogName, StoreError};
use prom_types::TopicName;

use crate::log::is_within;
use crate::merge::merge;
use crate::remove::{Ages, remove};
use crate::shared::MongoShared;
use crate::trim::LogDocument;
use crate::{lease, queries};

const LEASE: &str = "store.sweep";

/// Runs until the store closes. If a round panics, the next one comes at its time.
pub async fn run(shared: Arc<MongoShared>) {
    let mut closing = shared.closing.subscribe();
    let every = shared.options.times.sweep;
    let holder = shared.hub.to_hex();
    loop {
        tokio::select! {
            () = tokio::time::sleep(every) => {}
            _ = closing.wait_for(|closing| *closing) => return,
        }
        let round = async {
            forget_resting_windows(&shared);
            match lease::acquire(&shared, LEASE, &holder, every + Duration::from_secs(60)).await {
                Ok(Some(_)) => sweep(&shared).await,
                Ok(None) => Ok(()),
                Err(error) => Err(error),
            }
        };
        match AssertUnwindSafe(round).catch_unwind().await {
            Ok(Ok(()) | Err(StoreError::Closed)) => {}
            Ok(Err(error)) => tracing::warn!(%error, "cannot remove or merge old batches; trying again later"),
            Err(_) => tracing::error!("removing and merging old batches panicked; trying again later"),
        }
    }
}

/// One round over all logs. A failure in one log does not affect the others.
pub async fn sweep(shared: &Arc<MongoShared>) -> Result<(), StoreError> {
    let ages = Ages::now(shared).await?;
    for (name, log) in log_documents(shared).await? {
        shared.check_open()?;
        if let Err(error) = tidy_up(shared, &name, &log, ages).await {
            tracing::warn!(log = %name, %error, "cannot remove or merge old batches of this log");
        }
    }
    Ok(())
}

async fn tidy_up(shared: &Arc<MongoShared>, name: &LogName, log: &LogDocument, ages: Ages) -> Result<(), StoreError> {
    let first = remove(shared, name, log, ages).await?;
    let from = log.merged_upto.max(first);
    let upto = merge(shared, name, from, log.start, ages).await?;
    if upto > log.merged_upto {
        let update = || doc! { "$max": { "merged_upto": upto as i64 } };
        let filter = || queries::log(name).filter;
        shared.read(|| async { shared.collections.logs.update_one(filter(), update()).await }).await?;
    }
    Ok(())
}

/// All logs that were ever created.
pub async fn log_documents(shared: &MongoShared) -> Result<Vec<(LogName, LogDocument)>, StoreError> {
    let documents: Vec<Document> = shared
        .read(async || {
            let query = queries::all_logs();
            let mut cursor = shared.collections.logs.find(query.filter).sort(query.sort).hint(by_id()).await?;
            let mut documents = Vec::new();
            while cursor.advance().await? {
                documents.push(cursor.deserialize_current()?);
            }
            Ok(documents)
        })
        .await?;
    Ok(documents.iter().filter_map(|document| Some((log_name(document)?, LogDocument::read(document)))).collect())
}

fn by_id() -> mongodb::options::Hint {
    mongodb::options::Hint::Keys(doc! { "_id": 1 })
}

pub fn log_name(document: &Document) -> Option<LogName> {
    let key = document.get_document("_id").ok()?;
    let topic = TopicName::parse(key.get_str("topic").ok()?).ok()?;
    Some(LogName::new(topic, u32::try_from(key.get_i32("partition").ok()?).ok()?))
}

fn forget_resting_windows(shared: &MongoShared) {
    let (now, monotonic) = (shared.options.clock.now_ms(), shared.options.clock.monotonic());
    for log in shared.known_logs() {
        let mut known = log.lock();
        let last_stored_ts = known.last_stored_ts;
        if let Some(window) = &mut known.window {
            window.forget_before_window(last_stored_ts, monotonic);
        }
        if !is_within(known.last_stored_ts, now) {
            known.window = None;
        }
    }
}
