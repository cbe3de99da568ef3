//! Loading a log's state from the database: bounds, options, and the ids of the window.
//!
//! The newest batch is read before the log's document, in one causal order. A removal at the end is recorded in that
//! document first, so the next offset is never read too low.

use std::sync::Arc;

use mongodb::bson::RawDocumentBuf;
use mongodb::error::Error;
use prom_store::{Bounds, StoreError, StoredAt};
use prom_types::Offset;

use super::{IdWindow, LogHandle, LogView, is_within};
use crate::boot_clock::boot_time;
use crate::codec::{BatchHead, StoredBatch};
use crate::fault::unreadable;
use crate::limits::ID_PAGE_BATCHES;
use crate::queries;
use crate::shared::{MongoShared, all};
use crate::trim::LogDocument;

/// A log as the database describes it.
struct StoredLog {
    head: Option<BatchHead>,
    document: Option<LogDocument>,
}

pub async fn ensure_loaded(shared: &MongoShared, log: &Arc<LogHandle>) -> Result<(), StoreError> {
    if log.is_loaded() {
        return Ok(());
    }
    let _one = log.loading.lock().await;
    if log.is_loaded() { Ok(()) } else { load(shared, log).await }
}

/// Reads everything about the log again.
pub async fn reload(shared: &MongoShared, log: &Arc<LogHandle>) -> Result<(), StoreError> {
    let _one = log.loading.lock().await;
    load(shared, log).await
}

async fn load(shared: &MongoShared, log: &Arc<LogHandle>) -> Result<(), StoreError> {
    let viewed_at = boot_time();
    let found = shared.read(|| find(shared, log)).await??;
    let mut known = log.lock();
    known.apply(found, viewed_at);
    Ok(())
}

async fn find(shared: &MongoShared, log: &LogHandle) -> Result<Result<StoredLog, StoreError>, Error> {
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
    Ok(Ok(StoredLog { head, document: document.map(|document| LogDocument::read(&document)) }))
}

impl LogView {
    fn apply(&mut self, found: StoredLog, viewed_at: std::time::Duration) {
        let document = found.document.unwrap_or_default();
        let next = found.head.map_or(0, |head| head.next).max(document.next).max(document.start);
        let stale_window = self.loaded && next > self.bounds.next;
        if stale_window {
            self.window = None;
        }
        // Another task on this hub may have seen more meanwhile: nothing goes back.
        self.bounds = Bounds { start: self.bounds.start.max(document.start), next: self.bounds.next.max(next) };
        let last = found.head.map_or(0, |head| head.last_ts).max(document.last_stored_ts);
        self.last_stored_ts = self.last_stored_ts.max(last);
        self.total = self.total.max(found.head.map_or(0, |head| head.total)).max(document.total);
        self.removed = self.removed.max(document.removed);
        self.options = document.options;
        self.latest_upto = document.latest_upto;
        self.latest_from = document.latest_from;
        self.is_made |= found.document.is_some();
        self.begins_at(document.begun, document.ended);
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

/// Completes the window up to the head. Batches that arrive meanwhile are added to it as well.
pub async fn fill_window(shared: &MongoShared, log: &Arc<LogHandle>) -> Result<(), StoreError> {
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
        let begun = known.begun;
        // It is gone again if a batch was missed while reading.
        if let Some(window) = &mut known.window {
            let now = shared.options.clock.monotonic();
            let of_this_time = ids.into_iter().filter(|(_, place)| place.offset >= begun);
            of_this_time.for_each(|(id, place)| window.remember(id, place, now));
            window.completed();
            return Ok(());
        }
    }
}

type Ids = Vec<(prom_types::EventId, StoredAt)>;

/// Page by page: a window of ten minutes can be long. The server's time counts as well, because the time of a log stands
/// still after a hub's clock was ahead.
async fn recent_ids(shared: &MongoShared, log: &LogHandle, mut before: Offset, now: i64) -> Result<Ids, StoreError> {
    let mut ids = Ids::new();
    let mut newest_at_s = None;
    loop {
        let page = shared.read(|| ids_page(shared, log, before)).await?;
        let is_last = (page.len() as i64) < ID_PAGE_BATCHES;
        for document in page {
            let batch = StoredBatch::read_ids(&document).map_err(|_| unreadable(format!("a batch of {}", log.name)))?;
            let at_s = i64::from(document.get_timestamp("at").map_or(0, |at| at.time));
            let is_recent = is_within(1000 * at_s, 1000 * *newest_at_s.get_or_insert(at_s));
            if !is_recent || !is_within(document.get_i64("last_ts").unwrap_or(now), now) {
                return Ok(ids);
            }
            before = StoredBatch::base_of(&document).unwrap_or(0);
            ids.extend(batch);
        }
        if is_last {
            return Ok(ids);
        }
    }
}

async fn ids_page(shared: &MongoShared, log: &LogHandle, before: Offset) -> Result<Vec<RawDocumentBuf>, Error> {
    let query = queries::ids_before(&log.name, before);
    let find = shared.collections.batches.find(query.filter).sort(query.sort).projection(query.projection);
    all(find.limit(ID_PAGE_BATCHES).await?).await
}
