//! A commit that touches several documents: one transaction, retried as long as a retry can succeed.
//!
//! The lanes of everything it touches pause meanwhile, so nothing on this hub competes with it. The server ends a
//! transaction after a minute, so the heads it relies on are never too old when it commits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hashbrown::HashMap;
use mongodb::ClientSession;
use mongodb::bson::{Bson, Document, RawDocumentBuf, doc};
use mongodb::error::{Error, TRANSIENT_TRANSACTION_ERROR, UNKNOWN_TRANSACTION_COMMIT_RESULT};
use mongodb::options::ReadConcern;
use prom_store::{Append, Commit, CommitError, Committed, Dedupe, LogName, Outcome, Record, Stored, TermsJudge};
use prom_types::{EventId, TopicName};
use tokio::time::Instant;

use super::append::{begins, check_keys, chunks, has_ended, not_stored, ready};
use super::insert::{end_batch, head_is_settled, new_batches, take_in};
use super::place::{LogEnd, Placer};
use super::terms::{StandingBefore, is_about_terms, newest_keys, reaches_head};
use crate::boot_clock::boot_time;
use crate::codec::BatchPlan;
use crate::exact;
use crate::fault::{self, FailedWrite};
use crate::latest::fill_soon;
use crate::limits::COMMIT_STATEMENTS;
use crate::log::{LogHandle, reload};
use crate::shared::{MongoShared, RetryPause, commit_error};
use crate::{command, cursor, document, queries};

/// The records for one log.
struct Part {
    log: Arc<LogHandle>,
    end: LogEnd,
    records: Vec<Record>,
}

/// Why one attempt did not commit.
enum Stop {
    /// Read everything again and retry.
    Again(Error),
    Never(CommitError),
}

/// Why the writes inside the transaction stopped.
pub enum TransactionError {
    Driver(Error),
    Refused(CommitError),
}

impl From<Error> for TransactionError {
    fn from(error: Error) -> Self {
        Self::Driver(error)
    }
}

pub async fn in_transaction(shared: &Arc<MongoShared>, commit: &Commit) -> Result<Committed, CommitError> {
    let deadline = Instant::now() + shared.options.times.commit;
    let mut pause = RetryPause::default();
    let mut has_looked_again = false;
    for (name, options) in &commit.logs {
        // Whether they begin anew decides what becomes of the latest events of keys.
        if options.keeps_latest() {
            reload(shared, &shared.log(name)).await.map_err(commit_error)?;
        }
    }
    loop {
        let (parts, stored) = match decide(shared, commit).await {
            Ok(Some(decided)) => decided,
            Ok(None) => continue,
            Err(error) if is_about_terms(&error) && !std::mem::replace(&mut has_looked_again, true) => {
                look_at_all(shared, commit).await?;
                continue;
            }
            Err(error) => return Err(error),
        };
        let ending = ending(shared, commit).await?;
        match attempt(shared, commit, &parts, &ending, deadline).await {
            Ok(()) => {
                settle_options(shared, commit);
                return Ok(Committed { stored: stored.into_iter().collect() });
            }
            Err(Stop::Never(error)) => return Err(error),
            Err(Stop::Again(error)) if Instant::now() >= deadline => {
                return Err(fault::commit_failed(&error, Outcome::NotStored));
            }
            Err(Stop::Again(error)) => {
                pause.wait().await;
                look_again(shared, &parts, &error).await?;
                for log in &ending {
                    reload(shared, log).await.map_err(commit_error)?;
                }
            }
        }
    }
}

/// Where each event goes. `None` if a window was lost since it was filled.
async fn decide(shared: &Arc<MongoShared>, commit: &Commit) -> Result<Option<(Vec<Part>, Vec<Stored>)>, CommitError> {
    let mut by_log: BTreeMap<&LogName, Vec<usize>> = BTreeMap::new();
    for (index, append) in commit.appends.iter().enumerate() {
        by_log.entry(&append.log).or_default().push(index);
    }
    let mut stored = vec![Stored { offset: 0, stored_ts: 0, duplicate: false, elsewhere: None }; commit.appends.len()];
    // What other partitions answer to the exact ids of this commit.
    let mut exact_beside: HashMap<(TopicName, EventId), Stored> = HashMap::new();
    let mut parts = Vec::new();
    let mut before = StandingBefore::default();
    let has_terms = commit.has_terms();
    let now = shared.options.clock.now_ms();
    for (name, indexes) in by_log {
        let log = shared.log(name);
        let appends = indexes.iter().map(|&index| &commit.appends[index]);
        let exact = ready(shared, &log, appends.clone()).await?;
        if !begins(commit, name) && has_ended(shared, &log).await? {
            return Err(CommitError::Ended { log: name.clone() });
        }
        let newest = if has_terms { newest_keys(shared, &log, std::iter::once(commit)).await? } else { None };
        let known = log.lock();
        if !known.can_tell_duplicates(appends.clone()) || !reaches_head(newest.as_ref(), &known) {
            return Ok(None);
        }
        let options = commit.options_of(name).unwrap_or(known.options);
        check_keys(appends, options)?;
        before.add(name, known.bounds.next, options, newest);
        let place = commit.place_of(name);
        let mut placer = Placer::new(&known, now);
        for &index in &indexes {
            let append: &Append = &commit.appends[index];
            let id = (name.topic.clone(), append.event.id());
            if append.dedupe != Dedupe::Exact {
                stored[index] = placer.place(append, place, &known, &exact);
            } else if let Some(beside) = exact_beside.get(&id).filter(|beside| beside.elsewhere != Some(name.partition))
            {
                stored[index] = *beside;
            } else {
                stored[index] = placer.place(append, place, &known, &exact);
                let holder = stored[index].elsewhere.or(Some(name.partition));
                exact_beside.insert(id, Stored { duplicate: true, elsewhere: holder, ..stored[index] });
            }
        }
        drop(known);
        parts.push(Part { log, end: placer.end(), records: placer.into_records()? });
    }
    if has_terms {
        TermsJudge::judge(commit, |index| stored[index].duplicate, &mut before)?;
    }
    parts.retain(|part| !part.records.is_empty());
    Ok(Some((parts, stored)))
}

/// The logs that end, as they are now. One that never was has nothing to end.
async fn ending(shared: &Arc<MongoShared>, commit: &Commit) -> Result<Vec<Arc<LogHandle>>, CommitError> {
    let mut ending: Vec<Arc<LogHandle>> = Vec::new();
    for name in &commit.ends {
        let log = shared.log(name);
        ready(shared, &log, std::iter::empty()).await?;
        let is_made = log.lock().is_made;
        let ends = is_made && !has_ended(shared, &log).await?;
        if ends && !ending.iter().any(|known| known.name == *name) {
            ending.push(log);
        }
    }
    Ok(ending)
}

/// Reads the logs of the commit again: nothing that was stored before it came is missed.
async fn look_at_all(shared: &Arc<MongoShared>, commit: &Commit) -> Result<(), CommitError> {
    let names: BTreeSet<&LogName> = commit.appends.iter().map(|append| &append.log).collect();
    for name in names {
        reload(shared, &shared.log(name)).await.map_err(commit_error)?;
    }
    Ok(())
}

async fn attempt(
    shared: &Arc<MongoShared>,
    commit: &Commit,
    parts: &[Part],
    ending: &[Arc<LogHandle>],
    deadline: Instant,
) -> Result<(), Stop> {
    let started = async {
        let mut session = shared.client.start_session().await?;
        session.start_transaction().read_concern(ReadConcern::snapshot()).await?;
        Ok(session)
    };
    let mut session = shared.call(started).await.map_err(Stop::Again)?;
    let begun = Instant::now();
    let sent_at = boot_time();
    let slices: Vec<_> = parts.iter().map(|part| chunks(shared, &part.records)).collect();
    let batches: Vec<_> =
        parts.iter().zip(&slices).map(|(part, slices)| new_batches(shared, &part.log, part.end, slices)).collect();
    let mut documents = Vec::new();
    let ends: Vec<_> = ending.iter().map(|log| end_batch(shared, log)).collect();
    for plan in batches.iter().flatten().chain(&ends) {
        let document = plan.document();
        documents.push(document.map_err(|_| Stop::Never(not_stored("a batch cannot be written as BSON")))?);
    }
    let work = async { Ok(write(shared, &mut session, commit, (parts, &ends), &documents).await) };
    let written = match MongoShared::within(shared.options.times.commit, work).await {
        Ok(written) => written,
        Err(error) => Err(TransactionError::Driver(error)),
    };
    if let Err(trouble) = written {
        // An uncommitted transaction ends by itself; this only ends it sooner.
        drop(shared.call(async { session.abort_transaction().await }).await);
        return Err(match trouble {
            TransactionError::Refused(error) => Stop::Never(error),
            TransactionError::Driver(error) if fault::of_write(&error) == FailedWrite::Refused => {
                Stop::Never(fault::commit_failed(&error, Outcome::NotStored))
            }
            TransactionError::Driver(error) => Stop::Again(error),
        });
    }
    if let Err(stop) = make_durable(shared, &mut session, deadline).await {
        if let Stop::Never(CommitError::Failed { outcome: Outcome::Unknown, .. }) = &stop {
            parts.iter().for_each(|part| head_is_settled(shared, &part.log));
            ending.iter().for_each(|log| head_is_settled(shared, log));
        }
        return Err(stop);
    }
    shared.sync_ms.record(begun.elapsed());
    for (part, plans) in parts.iter().zip(&batches) {
        plans.iter().for_each(|plan| take_in(shared, &part.log, plan, sent_at));
        fill_soon(shared, &part.log);
    }
    for (log, end) in ending.iter().zip(&ends) {
        take_in(shared, log, end, sent_at);
    }
    Ok(())
}

async fn make_durable(shared: &MongoShared, session: &mut ClientSession, deadline: Instant) -> Result<(), Stop> {
    let mut pause = RetryPause::default();
    loop {
        let committing = async { session.commit_transaction().await };
        let error = match shared.call(committing).await {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        if error.contains_label(TRANSIENT_TRANSACTION_ERROR) {
            return Err(Stop::Again(error));
        }
        let is_unknown =
            error.contains_label(UNKNOWN_TRANSACTION_COMMIT_RESULT) || fault::of_write(&error) == FailedWrite::Unknown;
        if !is_unknown || Instant::now() >= deadline {
            let outcome = if is_unknown { Outcome::Unknown } else { Outcome::NotStored };
            return Err(Stop::Never(fault::commit_failed(&error, outcome)));
        }
        pause.wait().await;
    }
}

/// Everything the commit writes. Conditions are checked first.
async fn write(
    shared: &MongoShared,
    session: &mut ClientSession,
    commit: &Commit,
    (parts, ends): (&[Part], &[BatchPlan<'_>]),
    documents: &[RawDocumentBuf],
) -> Result<(), TransactionError> {
    document::write_within(shared, session, &commit.documents).await?;
    cursor::change_within(shared, session, &commit.cursors).await?;
    let made = log_statements(shared, commit, parts, ends);
    for statements in made.chunks(COMMIT_STATEMENTS) {
        let update = doc! { "update": shared.collections.logs.name(), "updates": statements };
        command::run(shared.collections.database.run_command(update).session(&mut *session)).await?;
    }
    if !documents.is_empty() {
        shared.collections.batches.insert_many(documents).session(&mut *session).await?;
    }
    Ok(())
}

/// Logs that are created, begin anew or end, or whose options change.
fn log_statements(shared: &MongoShared, commit: &Commit, parts: &[Part], ends: &[BatchPlan<'_>]) -> Vec<Bson> {
    let mut changes: BTreeMap<&LogName, Document> = BTreeMap::new();
    for part in parts.iter().filter(|part| !part.log.lock().is_made) {
        changes.insert(&part.log.name, doc! {});
    }
    for (name, options) in &commit.logs {
        let mut set = doc! { "compacted": options.compacted, "versions": options.versions, "ended": false };
        let log = shared.log(name);
        let known = log.lock();
        if known.begins_latest(*options) {
            set.insert("latest_upto", 0i64);
            if !known.options.keeps_latest() {
                set.insert("latest_from", known.bounds.start as i64);
            }
        }
        changes.insert(name, set);
    }
    for BatchPlan { log, next, total, .. } in ends {
        let over = doc! { "start": *next as i64, "removed": *total as i64, "begun": *next as i64, "ended": true };
        changes.insert(log, over);
    }
    let statement = |(name, set): (&LogName, Document)| {
        let mut update = doc! { "$setOnInsert": crate::trim::new_log(&set) };
        if !set.is_empty() {
            update.insert("$set", set);
        }
        Bson::from(doc! { "q": { "_id": queries::log_key(name) }, "u": update, "upsert": true })
    };
    changes.into_iter().map(statement).collect()
}

fn settle_options(shared: &Arc<MongoShared>, commit: &Commit) {
    for (name, options) in &commit.logs {
        let log = shared.log(name);
        let mut known = log.lock();
        known.set_options(*options);
        known.is_made = true;
        if !commit.ends.contains(name) {
            known.ended = false;
        }
        drop(known);
        fill_soon(shared, &log);
    }
}

/// Another hub may have been first.
async fn look_again(shared: &Arc<MongoShared>, parts: &[Part], error: &Error) -> Result<(), CommitError> {
    for part in parts {
        if fault::is_about_exact_ids(error) {
            exact::forget_trimmed(shared, &part.log, &part.records).await.map_err(commit_error)?;
        } else {
            reload(shared, &part.log).await.map_err(commit_error)?;
        }
    }
    Ok(())
}
