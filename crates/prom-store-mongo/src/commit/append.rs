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
use super::place::{ExactPlaces, LogEnd, Placer};
use super::terms::{judge, newest_keys, reaches_head};
use super::transaction::in_transaction;
use crate::exact;
use crate::latest::{NewestKeys, fill_soon};
use crate::limits::VIEWS;
use crate::log::{LogHandle, ensure_loaded, fill_window, reload};
use crate::shared::{MongoShared, RetryPause, commit_error};

/// What was decided about the first waiting commits.
struct Decided {
    /// One per commit that goes now.
    answers: Vec<Result<Committed, CommitError>>,
    end: LogEnd,
    records: Vec<Record>,
}

impl Decided {
    fn refuses_some(&self) -> bool {
        self.answers.iter().any(Result::is_err)
    }
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
    let mut has_looked_again = false;
    let mut look = Looks::until(deadline);
    loop {
        if let Err(error) = look.another(shared, log).await {
            return refuse(shared, rest, &error);
        }
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
        let newest = match newest_keys(shared, log, rest.iter().map(|waiting| &waiting.commit)).await {
            Ok(newest) => newest,
            Err(error) => return refuse(shared, rest, &error),
        };
        let decided = match decide(shared, log, rest.iter().take(*most_commits), (&exact, newest.as_ref())) {
            Ok(Some(decided)) => decided,
            Ok(None) => continue,
            Err(error) => return refuse(shared, rest, &error),
        };
        if decided.records.is_empty() {
            // An insert would show whether the view of the head was the newest. Without one it is read again.
            if decided.refuses_some() && !std::mem::replace(&mut has_looked_again, true) {
                match reload(shared, log).await {
                    Ok(()) => continue,
                    Err(error) => return refuse(shared, rest, &commit_error(error)),
                }
            }
            return answer(rest, decided.answers);
        }
        match insert(shared, log, decided.end, &decided.records, deadline).await {
            Inserted::Stored => {
                answer(rest, decided.answers);
                return fill_soon(shared, log);
            }
            Inserted::OthersWereFirst => look.count = 0,
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

/// How often commits were judged by a view of the log that no longer held when they were to be inserted.
struct Looks {
    count: u32,
    pause: RetryPause,
    deadline: Instant,
}

impl Looks {
    fn until(deadline: Instant) -> Self {
        Self { count: 0, pause: RetryPause::default(), deadline }
    }

    /// Lets commits be judged once more. After many times the log is read anew, and at last it is said that nothing is stored.
    async fn another(&mut self, shared: &Arc<MongoShared>, log: &Arc<LogHandle>) -> Result<(), CommitError> {
        self.count += 1;
        if Instant::now() >= self.deadline {
            let said = format!("other hubs wrote to {} all the time, or its end was never where it was seen", log.name);
            tracing::warn!(log = %log.name, looks = self.count, "a commit was never judged by a view that held");
            return Err(not_stored(said));
        }
        if self.count <= VIEWS {
            return Ok(());
        }
        self.pause.wait().await;
        reload(shared, log).await.map_err(commit_error)
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
    (exact, newest): (&ExactPlaces, Option<&NewestKeys>),
) -> Result<Option<Decided>, CommitError> {
    let known = log.lock();
    if !reaches_head(newest, &known) {
        return Ok(None);
    }
    let sizes = &shared.options.sizes;
    if !known.can_tell_duplicates(rest.clone().flat_map(|waiting| &waiting.commit.appends)) {
        return Ok(None);
    }
    let now = shared.options.clock.now_ms();
    let mut placer = if newest.is_some() { Placer::with_keys(&known, now) } else { Placer::new(&known, now) };
    let mut answers = Vec::new();
    for waiting in rest {
        let appends = &waiting.commit.appends;
        let is_full =
            placer.events() + appends.len() > sizes.batch_events || placer.bytes() + waiting.bytes > sizes.batch_bytes;
        if !answers.is_empty() && (is_full || goes_alone(shared, &waiting.commit)) {
            break;
        }
        if waiting.commit.has_terms()
            && let Err(unmet) = judge(&waiting.commit, &known, &placer, newest, exact)
        {
            answers.push(Err(unmet));
            continue;
        }
        let place = waiting.commit.place_of(&log.name);
        let stored = appends.iter().map(|append| placer.place(append, place, &known, exact)).collect();
        answers.push(Ok(Committed { stored }));
    }
    drop(known);
    Ok(Some(Decided { answers, end: placer.end(), records: placer.into_records()? }))
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

fn answer(rest: &mut VecDeque<WaitingCommit>, answers: Vec<Result<Committed, CommitError>>) {
    let mut together = prom_store::CommitAnswers::default();
    for (mut waiting, committed) in rest.drain(..answers.len()).zip(answers) {
        if let Some(reply) = waiting.take_reply() {
            together.put(reply, committed);
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
