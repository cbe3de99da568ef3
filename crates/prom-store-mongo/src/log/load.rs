//! Learning about a log from the database: bounds, options, and the ids of the window.
//!
//! The newest batch is read before the log's own document, in one causal order: whatever is removed from the
//! end is noted in that document first, so that the next offset is never read too low.

use std::sync::Arc;

use mongodb::bson::RawDocumentBuf;
use mongodb::error::Error;
use prom_store::{Bounds, LogOptions, StoreError};
use prom_types::Offset;

use super::{IdWindow, Known, LogState, Place, is_within};
use crate::boot_clock::boot_time;
use crate::codec::{Batch, BatchHead};
use crate::fault::unreadable;
use crate::queries;
use crate::shared::{Shared, all};
use crate::trim::LogDocument;

/// Batches whose ids are read at once.
const PAGE_BATCHES: i64 = 200;

/// What the database says about a log.
struct Found {
    head: Option<BatchHead>,
    document: Option<LogDocument>,
}

pub async fn ensure_loaded(shared: &Shared, log: &Arc<LogState>) -> Result<(), StoreError> {
    match log.is_loaded() {
        true => Ok(()),
        false => {
            let _one = log.loading.lock().await;
            match log.is_loaded() {
                true => Ok(()),
                false => load(shared, log).await,
            }
        }
    }
}

/// Reads everything about the log again.
pub async fn reload(shared: &Shared, log: &Arc<LogState>) -> Result<(), StoreError> {
    let _one = log.loading.lock().await;
    load(shared, log).await
}

async fn load(shared: &Shared, log: &Arc<LogState>) -> Result<(), StoreError> {
    let viewed_at = boot_time();
    let found = shared.read(|| find(shared, log)).await??;
    let mut known = log.lock();
    known.apply(found, viewed_at);
    Ok(())
}

async fn find(shared: &Shared, log: &LogState) -> Result<Result<Found, StoreError>, Error> {
    let mut session = shared.client.start_session().causal_consistency(true).await?;
    let query = queries::head(&log.name);
    let find = shared.collections.batches.find_one(query.filter).sort(query.sort);
    let head: Option<RawDocumentBuf> = find.projection(query.projection).session(&mut session).await?;
    let query = queries::log(&log.name);
    let document = shared.collections.logs.find_one(query.filter).session(&mut session).await?;
    let head = match head.as_deref().map(BatchHead::read).transpose() {
        Ok(head) => head,
        Err(_) => return Ok(Err(unreadable(format!("the newest batch of {}", log.name)))),
    };
    Ok(Ok(Found { head, document: document.map(|document| LogDocument::read(&document)) }))
}

impl Known {
    fn apply(&mut self, found: Found, viewed_at: std::time::Duration) {
        let document = found.document.unwrap_or_default();
        let next = found.head.map_or(0, |head| head.next).max(document.next).max(document.start);
        let stale_window = self.loaded && next > self.bounds.next;
        if stale_window {
            self.window = None;
        }
        // Somebody on this hub may have seen more meanwhile: nothing goes back.
        self.bounds = Bounds { start: self.bounds.start.max(document.start), next: self.bounds.next.max(next) };
        let last = found.head.map_or(0, |head| head.last_ts).max(document.last_stored_ts);
        self.last_stored_ts = self.last_stored_ts.max(last);
        self.total = self.total.max(found.head.map_or(0, |head| head.total)).max(document.total);
        self.removed = self.removed.max(document.removed);
        self.options = LogOptions { compacted: document.compacted };
        self.latest_upto = document.latest_upto;
        self.is_made |= found.document.is_some();
        self.viewed_at = viewed_at;
        self.loaded = true;
        if let Some(early) = self.early.take()
            && early.next > self.bounds.next
        {
            self.window = None;
            self.move_to(&early);
        }
        self.tell();
    }
}

/// Makes the window complete up to the head. Batches that are seen meanwhile find their way in.
pub async fn fill_window(shared: &Shared, log: &Arc<LogState>) -> Result<(), StoreError> {
    loop {
        let (before, now) = {
            let mut known = log.lock();
            if known.window.as_ref().is_some_and(IdWindow::is_complete) {
                return Ok(());
            }
            known.window = Some(IdWindow::default());
            (known.bounds.next, shared.options.clock.now_ms().max(known.last_stored_ts))
        };
        let ids = recent_ids(shared, log, before, now).await?;
        let mut known = log.lock();
        // Gone again if a batch was missed while reading.
        if let Some(window) = &mut known.window {
            ids.into_iter().for_each(|(id, place)| window.remember(id, place));
            window.completed();
            return Ok(());
        }
    }
}

type Ids = Vec<(prom_types::EventId, Place)>;

/// Page by page: a window of ten minutes can be long.
async fn recent_ids(shared: &Shared, log: &LogState, mut before: Offset, now: i64) -> Result<Ids, StoreError> {
    let mut ids = Ids::new();
    loop {
        let page = shared.read(|| ids_page(shared, log, before)).await?;
        let is_last = (page.len() as i64) < PAGE_BATCHES;
        for document in page {
            let batch = Batch::read_ids(&document).map_err(|_| unreadable(format!("a batch of {}", log.name)))?;
            if !is_within(document.get_i64("last_ts").unwrap_or(now), now) {
                return Ok(ids);
            }
            before = Batch::base_of(&document).unwrap_or(0);
            ids.extend(batch.into_iter().map(|(id, offset, stored_ts)| (id, Place { offset, stored_ts })));
        }
        if is_last {
            return Ok(ids);
        }
    }
}

async fn ids_page(shared: &Shared, log: &LogState, before: Offset) -> Result<Vec<RawDocumentBuf>, Error> {
    let query = queries::ids_before(&log.name, before);
    let find = shared.collections.batches.find(query.filter).sort(query.sort).projection(query.projection);
    all(find.limit(PAGE_BATCHES).await?).await
}
