//! One batch, one insert, one certain answer.
//!
//! ```text
//!   insert at `next` ─┬─ ok ─────────── was the view young enough? ─ yes ─▶ stored
//!                     │                                            └ no ──▶ look: in place, or withdrawn
//!                     ├─ duplicate key ─ whose is it? ─ ours ─▶ stored     another hub's ─▶ decide again
//!                     └─ no answer ──── the same insert again, until there is one or time is up
//! ```

use std::sync::Arc;
use std::time::Duration;

use mongodb::bson::RawDocumentBuf;
use mongodb::error::Error;
use prom_store::{CommitError, Outcome, Record, StoreError};
use tokio::time::Instant;

use super::append::not_stored;
use super::place::LogEnd;
use crate::boot_clock::boot_time;
use crate::codec::{BatchHead, BatchPlan, StoredBatch};
use crate::exact;
use crate::fault::{self, FailedWrite};
use crate::log::{CachedBatch, LogHandle};
use crate::queries;
use crate::shared::{MongoShared, RetryPause, commit_error};

pub enum Inserted {
    Stored,
    /// Their batches have been taken in; what was decided no longer holds.
    OthersWereFirst,
    /// An exact id is in another batch, which may not be on a majority yet.
    IdsAreTaken(CommitError),
    Failed(CommitError),
    /// The database does not take these records.
    Refused(CommitError),
}

pub async fn insert(
    shared: &Arc<MongoShared>,
    log: &Arc<LogHandle>,
    end: LogEnd,
    records: &[Record],
    deadline: Instant,
) -> Inserted {
    let plan = new_batches(shared, log, end, &[records])[0];
    let (is_made, viewed_at) = {
        let known = log.lock();
        (known.is_made, known.viewed_at)
    };
    let document = match plan.document() {
        Ok(document) => document,
        Err(_) => return Inserted::Failed(not_stored("the batch cannot be written as BSON")),
    };
    if !is_made && let Err(error) = crate::trim::make_log(shared, log).await {
        return Inserted::Failed(commit_error(error));
    }
    let begun = Instant::now();
    let sent_at = boot_time();
    let answer = insert_until_answered(shared, log, &plan, &document, deadline).await;
    if let Inserted::Stored = answer {
        shared.sync_ms.record(begun.elapsed());
        if boot_time().saturating_sub(viewed_at) >= shared.options.times.head_age {
            return place_again(shared, log, &plan).await;
        }
        take_in(shared, log, &plan, sent_at);
    }
    answer
}

/// Batches one after the other from this end of the log on, one per slice of records.
pub fn new_batches<'a>(
    shared: &MongoShared,
    log: &'a LogHandle,
    LogEnd { next: mut base, mut total }: LogEnd,
    slices: &[&'a [Record]],
) -> Vec<BatchPlan<'a>> {
    let attempt = shared.next_attempt();
    let plan = |records: &&'a [Record]| {
        total += records.iter().map(|record| record.len() as u64).sum::<u64>();
        let next = records.last().map_or(base, |last| last.offset() + 1);
        BatchPlan {
            log: &log.name,
            // Also where its first event has a later place: batches are a chain without holes.
            base: std::mem::replace(&mut base, next),
            next,
            records,
            cleaned: &[],
            last_ts: records.last().map_or(0, Record::stored_ts),
            total,
            start: 0,
            by: shared.hub,
            attempt,
            at: None,
            end: false,
        }
    };
    slices.iter().map(plan).collect()
}

/// The batch that ends a log, at the offset that every writer needs next.
pub fn end_batch<'a>(shared: &MongoShared, log: &'a LogHandle) -> BatchPlan<'a> {
    let known = log.lock();
    BatchPlan {
        log: &log.name,
        base: known.bounds.next,
        next: known.bounds.next + 1,
        records: &[],
        cleaned: &[],
        last_ts: known.last_stored_ts,
        total: known.total,
        start: 0,
        by: shared.hub,
        attempt: shared.next_attempt(),
        at: None,
        end: true,
    }
}

/// What is durable becomes visible here.
pub fn take_in(shared: &MongoShared, log: &LogHandle, plan: &BatchPlan<'_>, sent_at: Duration) {
    let cached = CachedBatch { base: plan.base, next: plan.next, records: plan.records.to_vec() };
    shared.cache.put(&log.name, cached);
    let mut known = log.lock();
    known.observe(&plan.head(), plan.records, shared.options.clock.monotonic());
    known.viewed_at = known.viewed_at.max(sent_at);
    known.is_made = true;
}

async fn insert_until_answered(
    shared: &Arc<MongoShared>,
    log: &Arc<LogHandle>,
    plan: &BatchPlan<'_>,
    document: &RawDocumentBuf,
    deadline: Instant,
) -> Inserted {
    let mut pause = RetryPause::default();
    let mut outcome = Outcome::NotStored;
    loop {
        let inserting = shared.collections.batches.insert_one(document);
        let error = match shared.call(async { inserting.await }).await {
            Ok(_) => return Inserted::Stored,
            Err(error) => error,
        };
        match fault::of_write(&error) {
            FailedWrite::Duplicate => return whose(shared, log, plan, &error, deadline).await,
            FailedWrite::Refused => return Inserted::Refused(fault::commit_failed(&error, outcome)),
            FailedWrite::Unknown => outcome = Outcome::Unknown,
            FailedWrite::NotNow => {}
        }
        if Instant::now() >= deadline {
            if outcome == Outcome::Unknown {
                head_is_settled(shared, log);
            }
            return Inserted::Failed(fault::commit_failed(&error, outcome));
        }
        pause.wait().await;
    }
}

/// Another batch has the key that ours needs.
async fn whose(
    shared: &Arc<MongoShared>,
    log: &Arc<LogHandle>,
    plan: &BatchPlan<'_>,
    error: &Error,
    deadline: Instant,
) -> Inserted {
    if fault::is_about_exact_ids(error) {
        // Either another hub's batch, or one that retention has hidden. Reading again tells which.
        return match exact::forget_trimmed(shared, log, plan.records).await {
            Ok(()) => Inserted::IdsAreTaken(fault::commit_failed(error, Outcome::NotStored)),
            Err(error) => Inserted::Failed(commit_error(error)),
        };
    }
    let mut pause = RetryPause::default();
    loop {
        match take_in_others(shared, log, plan).await {
            Ok(Some(Whose::Ours)) => return Inserted::Stored,
            Ok(Some(Whose::Another)) => return Inserted::OthersWereFirst,
            // Not yet on a majority, or the servers are unsettled.
            Ok(None) | Err(_) if Instant::now() < deadline => pause.wait().await,
            Ok(None) => {
                return Inserted::Failed(unknown("another batch has its key and no majority has confirmed it yet"));
            }
            Err(error) => return Inserted::Failed(unknown(error)),
        }
    }
}

enum Whose {
    Ours,
    Another,
}

/// Reads the batches at and after our offset.
async fn take_in_others(
    shared: &MongoShared,
    log: &LogHandle,
    plan: &BatchPlan<'_>,
) -> Result<Option<Whose>, StoreError> {
    let viewed_at = boot_time();
    let batches = crate::read::fetch(shared, &log.name, plan.base, shared.options.sizes.read_batches).await?;
    let Some(first) = batches.first() else {
        return Ok(None);
    };
    if (first.head.by, first.head.attempt) == (plan.by, plan.attempt) {
        return Ok(Some(Whose::Ours));
    }
    let is_end = (batches.len() as i64) < shared.options.sizes.read_batches;
    for batch in batches {
        take_in_read(shared, log, batch);
    }
    if is_end {
        log.lock().viewed_at = viewed_at;
    }
    Ok(Some(Whose::Another))
}

/// A batch that a majority has.
pub fn take_in_read(shared: &MongoShared, log: &LogHandle, batch: StoredBatch) {
    let seen = log.lock().observe(&batch.head, &batch.records, shared.options.clock.monotonic());
    // A batch before the end may be one that its hub withdraws; readers get what is there by reading it.
    if seen != crate::log::Observed::Before {
        let StoredBatch { head, records, .. } = batch;
        shared.cache.put(&log.name, CachedBatch { base: head.base, next: head.next, records });
    }
}

/// The answer came so late that others may have merged or removed earlier batches. The batch counts only if it
/// continues the one before it.
async fn place_again(shared: &Arc<MongoShared>, log: &Arc<LogHandle>, plan: &BatchPlan<'_>) -> Inserted {
    match is_in_place(shared, plan).await {
        Ok(true) => {
            take_in(shared, log, plan, boot_time());
            Inserted::Stored
        }
        Ok(false) => match withdraw(shared, plan).await {
            Ok(()) => match crate::log::reload(shared, log).await {
                Ok(()) => Inserted::OthersWereFirst,
                Err(error) => Inserted::Failed(commit_error(error)),
            },
            Err(error) => Inserted::Failed(unknown(error)),
        },
        Err(error) => Inserted::Failed(unknown(error)),
    }
}

async fn is_in_place(shared: &MongoShared, plan: &BatchPlan<'_>) -> Result<bool, StoreError> {
    let before = shared
        .read(|| {
            let query = queries::heads_before(plan.log, plan.base);
            let find = shared.collections.batches.find_one(query.filter).sort(query.sort).projection(query.projection);
            async { find.await }
        })
        .await?;
    let document = crate::trim::read_log(shared, plan.log).await?.unwrap_or_default();
    let before = before.as_deref().and_then(|document| BatchHead::read(document).ok());
    let end = before.map_or(0, |before| before.next).max(document.next);
    Ok(end == plan.base)
}

async fn withdraw(shared: &MongoShared, plan: &BatchPlan<'_>) -> Result<(), StoreError> {
    let own = || queries::own_batch(plan.log, plan.base, plan.by, plan.attempt);
    shared.read(|| async { shared.collections.batches.delete_one(own()).await }).await?;
    Ok(())
}

/// After an answer of "unknown": readers are told if the batch turns up after all. Our own batches are not in the
/// change stream, so it is looked for until the server has answered once and some time has passed.
pub fn head_is_settled(shared: &Arc<MongoShared>, log: &Arc<LogHandle>) {
    let (shared, log) = (shared.clone(), log.clone());
    shared.clone().runtime.spawn(async move {
        let mut closing = shared.closing.subscribe();
        let until = Instant::now() + 2 * shared.options.times.commit;
        loop {
            let looked = crate::log::reload(&shared, &log).await;
            if looked.is_ok() && Instant::now() > until {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep(Duration::from_secs(2)) => {}
                _ = closing.wait_for(|closing| *closing) => return,
            }
        }
    });
}

fn unknown(reason: impl ToString) -> CommitError {
    CommitError::Failed { reason: reason.to_string(), outcome: Outcome::Unknown }
}
