//! Appending to one log: everything that waits goes into one insert after the head.
//!
//! An insert at the offset after the last batch succeeds only if its writer has seen everything before it, so its
//! decisions about duplicates hold. If another hub was first, its batch is read and everything is decided again.

use std::collections::VecDeque;
use std::sync::Arc;

use prom_store::{Append, Commit, CommitError, Committed, Dedupe, LogName, LogOptions, Outcome, Record};
use prom_types::EventId;
use tokio::time::Instant;

use super::insert::{Inserted, insert};
use super::lanes::WaitingCommit;
use super::place::{ExactPlaces, Placer};
use super::transaction::in_transaction;
use crate::exact;
use crate::latest::fill_soon;
use crate::log::{LogHandle, ensure_loaded, fill_window, reload};
use crate::shared::{MongoShared, RetryPause, commit_error};

/// What was decided about the first waiting commits.
struct Decided {
    /// One per commit that goes now.
    answers: Vec<Committed>,
    records: Vec<Record>,
}

pub async fn append(shared: &Arc<MongoShared>, log: &Arc<LogHandle>, waiting: Vec<WaitingCommit>) {
    let mut rest: VecDeque<WaitingCommit> = waiting.into();
    let mut most_commits = rest.len();
    while !rest.is_empty() {
        round(shared, log, &mut rest, &mut most_commits).await;
    }
}

/// Answers at least the first of `rest`. A refused batch is tried again commit by commit, so that only the commit that
/// is to blame fails.
async fn round(
    shared: &Arc<MongoShared>,
    log: &Arc<LogHandle>,
    rest: &mut VecDeque<WaitingCommit>,
    most_commits: &mut usize,
) {
    let deadline = Instant::now() + shared.options.times.commit;
    let mut pause = RetryPause::default();
    loop {
        let exact = match ready(shared, log, rest.iter().flat_map(|waiting| &waiting.commit.appends)).await {
            Ok(exact) => exact,
            Err(error) => return refuse(shared, rest, &error),
        };
        if let Err(error) = refuse_ended(shared, log, rest).await {
            return refuse(shared, rest, &error);
        }
        refuse_keyless(shared, log, rest);
        let Some(first) = rest.front() else { return };
        if goes_alone(shared, &first.commit) {
            let Some(alone) = rest.pop_front() else { return };
            let result = in_transaction(shared, &alone.commit).await;
            return shared.lanes.answer(alone, result);
        }
        let decided = match decide(shared, log, rest.iter().take(*most_commits), &exact) {
            Ok(Some(decided)) => decided,
            Ok(None) => continue,
            Err(error) => return refuse(shared, rest, &error),
        };
        if decided.records.is_empty() {
            return answer(rest, decided.answers);
        }
        match insert(shared, log, &decided.records, deadline).await {
            Inserted::Stored => {
                answer(rest, decided.answers);
                return fill_soon(shared, log);
            }
            Inserted::OthersWereFirst => {}
            Inserted::IdsAreTaken(_) if Instant::now() < deadline => pause.wait().await,
            Inserted::Refused(_) if decided.answers.len() > 1 => *most_commits = 1,
            Inserted::Failed(error) | Inserted::Refused(error) | Inserted::IdsAreTaken(error) => {
                let failed = decided.answers.len();
                let mut gone: VecDeque<WaitingCommit> = rest.drain(..failed).collect();
                return refuse(shared, &mut gone, &error);
            }
        }
    }
}

/// Brings the view of the log up to date, so that duplicates can be decided.
pub async fn ready(
    shared: &Arc<MongoShared>,
    log: &Arc<LogHandle>,
    appends: impl Iterator<Item = &Append> + Clone,
) -> Result<ExactPlaces, CommitError> {
    ensure_loaded(shared, log).await.map_err(commit_error)?;
    if !log.lock().is_view_younger_than(shared.options.times.head_age) {
        reload(shared, log).await.map_err(commit_error)?;
    }
    if appends.clone().any(|append| append.dedupe != Dedupe::Fresh) {
        fill_window(shared, log).await.map_err(commit_error)?;
    }
    let exact: Vec<EventId> =
        appends.filter(|append| append.dedupe == Dedupe::Exact).map(|append| append.event.id()).collect();
    exact::places(shared, log, exact).await.map_err(commit_error)
}

/// As many waiting commits as fit into one batch. `None` if the window was lost since it was filled.
fn decide<'a>(
    shared: &MongoShared,
    log: &LogHandle,
    rest: impl Iterator<Item = &'a WaitingCommit> + Clone,
    exact: &ExactPlaces,
) -> Result<Option<Decided>, CommitError> {
    let known = log.lock();
    let sizes = &shared.options.sizes;
    if !known.can_tell_duplicates(rest.clone().flat_map(|waiting| &waiting.commit.appends)) {
        return Ok(None);
    }
    let mut placer = Placer::new(&known, shared.options.clock.now_ms());
    let mut answers = Vec::new();
    for waiting in rest {
        let appends = &waiting.commit.appends;
        let is_full =
            placer.events() + appends.len() > sizes.batch_events || placer.bytes() + waiting.bytes > sizes.batch_bytes;
        if !answers.is_empty() && (is_full || goes_alone(shared, &waiting.commit)) {
            break;
        }
        let stored = appends.iter().map(|append| placer.place(append, &known, exact)).collect();
        answers.push(Committed { stored });
    }
    drop(known);
    Ok(Some(Decided { answers, records: placer.into_records()? }))
}

/// It changes more than one document.
fn goes_alone(shared: &MongoShared, commit: &Commit) -> bool {
    let sizes = &shared.options.sizes;
    !commit.logs.is_empty()
        || !commit.ends.is_empty()
        || commit.appends.len() > sizes.batch_events
        || commit.appends.iter().map(|append| append.event.len()).sum::<usize>() > sizes.batch_bytes
}

/// A log that has ended takes only what begins it anew.
async fn refuse_ended(
    shared: &Arc<MongoShared>,
    log: &Arc<LogHandle>,
    rest: &mut VecDeque<WaitingCommit>,
) -> Result<(), CommitError> {
    if !has_ended(shared, log).await? {
        return Ok(());
    }
    for waiting in std::mem::take(rest) {
        if waiting.commit.appends.is_empty() || begins(&waiting.commit, &log.name) {
            rest.push_back(waiting);
        } else {
            shared.lanes.answer(waiting, Err(CommitError::Ended { log: log.name.clone() }));
        }
    }
    Ok(())
}

/// Whether the log has ended, and has not begun anew on another hub since.
pub async fn has_ended(shared: &MongoShared, log: &Arc<LogHandle>) -> Result<bool, CommitError> {
    if log.lock().ended {
        reload(shared, log).await.map_err(commit_error)?;
    }
    Ok(log.lock().ended)
}

pub fn begins(commit: &Commit, log: &LogName) -> bool {
    commit.logs.iter().any(|(name, _)| name == log)
}

/// Each commit is independent: a refused one does not fail the others.
fn refuse_keyless(shared: &MongoShared, log: &LogHandle, rest: &mut VecDeque<WaitingCommit>) {
    let options = log.lock().options;
    if !options.compacted {
        return;
    }
    for waiting in std::mem::take(rest) {
        match check_keys(&waiting.commit.appends, options) {
            Ok(()) => rest.push_back(waiting),
            Err(error) => shared.lanes.answer(waiting, Err(error)),
        }
    }
}

pub fn check_keys<'a>(appends: impl IntoIterator<Item = &'a Append>, options: LogOptions) -> Result<(), CommitError> {
    let mut appends = appends.into_iter();
    match appends.find(|append| options.compacted && append.event.key().is_none()) {
        Some(append) => Err(CommitError::KeyRequired { log: append.log.clone() }),
        None => Ok(()),
    }
}

fn answer(rest: &mut VecDeque<WaitingCommit>, answers: Vec<Committed>) {
    let mut together = prom_store::CommitAnswers::default();
    for (mut waiting, committed) in rest.drain(..answers.len()).zip(answers) {
        if let Some(reply) = waiting.take_reply() {
            together.put(reply, Ok(committed));
        }
    }
    together.wake();
}

fn refuse(shared: &MongoShared, rest: &mut VecDeque<WaitingCommit>, error: &CommitError) {
    for waiting in rest.drain(..) {
        shared.lanes.answer(waiting, Err(error.clone()));
    }
}

/// Splits records that are too many for one batch.
pub fn chunks<'a>(shared: &MongoShared, mut records: &'a [Record]) -> Vec<&'a [Record]> {
    let sizes = &shared.options.sizes;
    let mut chunks = Vec::new();
    while !records.is_empty() {
        let mut bytes = 0;
        let fits = records.iter().take(sizes.batch_events).take_while(|record| {
            bytes += record.len();
            bytes <= sizes.batch_bytes
        });
        let (chunk, rest) = records.split_at(fits.count().max(1));
        chunks.push(chunk);
        records = rest;
    }
    chunks
}

/// Nothing was stored, for an internal reason.
pub fn not_stored(reason: impl ToString) -> CommitError {
    CommitError::Failed { reason: reason.to_string(), outcome: Outcome::NotStored }
}
