//! Filters: the jq programs of groups, run where no one waits for anything else.
//!
//! ```text
//!   dispatcher ── events ──▶ the group's turn ──▶ a place in the hub ──▶ a thread of its own ──▶ verdicts
//! ```
//!
//! Promises: no program runs on a thread that serves others. A group has one turn at a time, and a hub has places for half of
//! its processors, first come, first served. What somebody waits for has places of its own ([`Lane`]), so a publisher or a reader
//! never stands behind a proof. A turn ends after [`FILTER_TURN`], so whatever the filter of one group costs,
//! others get their turn, and what does not filter keeps its processors. Verdicts are in the order of the events.

use std::num::NonZero;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use prom_store::{LogName, Record};
use prom_transform::{CompileError, Program, ProgramLimits};
use tokio::sync::Semaphore;

use crate::limits::FILTER_TURN;
use crate::mask::TopicMask;
use crate::supervise::{TaskFailures, TaskName};

/// Filters, upcasters and schemas alike.
const PROGRAM: TaskName = TaskName::only("program");

/// How many programs run at once.
pub(crate) struct FilterPlaces {
    serving: Arc<Semaphore>,
    compiling: Arc<Semaphore>,
    background: Arc<Semaphore>,
    failures: Arc<TaskFailures>,
}

/// Who waits for a program, or for a schema. Each lane has places of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lane {
    /// Publishers and readers, event by event.
    Serving,
    /// Publishers and readers, for schemas that are not in memory.
    Compiling,
    /// A person: registrations, comparisons, proofs, cutovers.
    Background,
}

/// How long a program may run before it gives its place to another.
pub(crate) struct ProgramTurn(Instant);

impl ProgramTurn {
    pub fn begin() -> Self {
        Self(Instant::now())
    }

    pub fn is_over(&self) -> bool {
        self.0.elapsed() >= FILTER_TURN
    }
}

/// What the filters of one group share.
pub(crate) struct GroupFilters {
    /// One of its dispatchers at a time.
    turn: Semaphore,
    /// The program used last: usually the group has one, and its dispatchers are many.
    compiled: Mutex<Option<Program>>,
}

/// Events to be judged.
pub(crate) struct Unjudged {
    pub log: LogName,
    pub records: Vec<Record>,
    /// What is hidden in the topic is hidden from filters too: who makes a group chooses its filter.
    pub mask: Option<Arc<TopicMask>>,
    /// After so many failures there is no use in going on.
    pub failures: u32,
}

/// What a turn came to. There are fewer verdicts than records where the turn ended early.
pub(crate) struct Judged {
    pub records: Vec<Record>,
    pub verdicts: Vec<Verdict>,
}

/// Whether an event is wanted; or why the program could not say.
pub(crate) type Verdict = Result<bool, String>;

impl Default for GroupFilters {
    fn default() -> Self {
        Self { turn: Semaphore::new(1), compiled: Mutex::default() }
    }
}

impl FilterPlaces {
    /// Half of the processors for each lane. Work that panics is told to `failures`.
    pub fn new(failures: Arc<TaskFailures>) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        let places = || Arc::new(Semaphore::new((processors / 2).max(1)));
        Self { serving: places(), compiling: places(), background: places(), failures }
    }

    /// Checks and compiles a program, which takes as long as its author wants.
    pub async fn compile(&self, text: &str) -> Result<Program, CompileError> {
        let text = text.to_owned();
        let compile = move || Program::compile(&text, ProgramLimits::default());
        self.run(compile).await.unwrap_or_else(|| Err(CompileError::Internal("the compiler was stopped".to_owned())))
    }

    /// As [`FilterPlaces::compile`], once for all dispatchers of a group.
    pub async fn compile_for(&self, group: &GroupFilters, text: &str) -> Result<Program, CompileError> {
        let known = |program: &&Program| program.text() == text;
        if let Some(program) = group.compiled.lock().as_ref().filter(known) {
            return Ok(program.clone());
        }
        let program = self.compile(text).await?;
        *group.compiled.lock() = Some(program.clone());
        Ok(program)
    }

    /// Judges as many events as fit into a turn, at least one. `None` if the thread was stopped.
    pub async fn judge(&self, group: &GroupFilters, program: &Program, unjudged: Unjudged) -> Option<Judged> {
        let program = program.clone();
        let _turn = group.turn.acquire().await;
        self.run(move || judge(&program, unjudged)).await
    }

    /// For those who are served, on a thread that may be kept busy.
    pub async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        self.run_in(Lane::Serving, work).await
    }

    /// On a thread that may be kept busy. `None` if it was stopped with the runtime, or panicked. The work has its place
    /// until it ends: a caller that does not wait for it makes no room for more.
    pub async fn run_in<T: Send + 'static>(&self, lane: Lane, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let places = match lane {
            Lane::Serving => &self.serving,
            Lane::Compiling => &self.compiling,
            Lane::Background => &self.background,
        };
        let place = places.clone().acquire_owned().await.ok()?;
        let failures = self.failures.clone();
        let work = move || {
            let _place = place;
            failures.watch_here(&PROGRAM, work).ok()
        };
        tokio::task::spawn_blocking(work).await.ok().flatten()
    }
}

fn judge(program: &Program, unjudged: Unjudged) -> Judged {
    let Unjudged { log, records, mask, mut failures } = unjudged;
    let turn = ProgramTurn::begin();
    let mut text = Vec::new();
    let mut verdicts = Vec::with_capacity(records.len());
    for record in &records {
        text.clear();
        let seen = mask.as_ref().and_then(|mask| mask.seen_record(record));
        seen.as_ref().unwrap_or(record).write_json(&log, &mut text);
        let verdict = program.test(&text).map_err(|error| error.to_string());
        failures -= u32::from(verdict.is_err()).min(failures);
        verdicts.push(verdict);
        if failures == 0 || turn.is_over() {
            break;
        }
    }
    Judged { records, verdicts }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn work_that_nobody_waits_for_keeps_its_place_until_it_ends() {
        let places = FilterPlaces::new(Arc::default());
        let all = places.serving.available_permits();
        let (started, is_started) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let work = move || {
            started.send(()).unwrap();
            let _until_the_test_says_so = ended.recv();
        };
        let mut caller = Box::pin(places.run(work));
        assert!(futures::poll!(&mut caller).is_pending());
        is_started.recv().unwrap();
        drop(caller);
        assert_eq!(places.serving.available_permits(), all - 1);
        drop(end);
        let whole = u32::try_from(all).unwrap();
        drop(places.serving.acquire_many(whole).await.unwrap());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn who_is_served_does_not_wait_for_work_in_the_background() {
        let places = FilterPlaces::new(Arc::default());
        let (end, ended) = mpsc::channel::<()>();
        let mut all = Vec::new();
        let ended = Arc::new(Mutex::new(ended));
        for _ in 0..2 * places.background.available_permits() {
            let ended = ended.clone();
            let work = move || ended.lock().recv().is_err();
            all.push(Box::pin(places.run_in(Lane::Background, work)));
        }
        for work in &mut all {
            assert!(futures::poll!(work).is_pending());
        }
        assert_eq!(places.background.available_permits(), 0);
        assert_eq!(places.run(|| 7).await, Some(7));
        assert_eq!(places.run_in(Lane::Compiling, || 8).await, Some(8));
        drop(end);
        futures::future::join_all(all).await;
    }

    #[tokio::test]
    async fn work_that_panics_is_counted_and_gives_its_place_back() {
        let failures = Arc::<TaskFailures>::default();
        let places = FilterPlaces::new(failures.clone());
        for _ in 0..=places.serving.available_permits() {
            assert_eq!(places.run(|| -> u32 { panic!("a defect") }).await, None);
        }
        assert_eq!(places.run(|| 7).await, Some(7));
        assert!(failures.totals().iter().any(|(kind, total)| *kind == "program" && *total > 1));
    }
}
