//! Filters: the jq programs of groups, run where no one waits for anything else.
//!
//! ```text
//!   dispatcher ── events ──▶ the group's turn ──▶ a place in the hub ──▶ a thread of its own ──▶ verdicts
//! ```
//!
//! Promises: no program runs on a thread that serves others. A group has one turn at a time, and a hub has places for half of
//! its processors, first come, first served. A turn ends after [`FILTER_TURN`], so whatever the filter of one group costs,
//! others get their turn, and what does not filter keeps its processors. Verdicts are in the order of the events.

use std::num::NonZero;
use std::time::Instant;

use parking_lot::Mutex;
use prom_store::{LogName, Record};
use prom_transform::{CompileError, Program, ProgramLimits};
use tokio::sync::Semaphore;

use crate::limits::FILTER_TURN;

/// How many programs run at once.
pub(crate) struct FilterPlaces(Semaphore);

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

impl Default for FilterPlaces {
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        Self(Semaphore::new((processors / 2).max(1)))
    }
}

impl Default for GroupFilters {
    fn default() -> Self {
        Self { turn: Semaphore::new(1), compiled: Mutex::default() }
    }
}

impl FilterPlaces {
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

    /// On a thread that may be kept busy. `None` if it was stopped with the runtime, or panicked.
    pub async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let _place = self.0.acquire().await;
        tokio::task::spawn_blocking(work).await.ok()
    }
}

fn judge(program: &Program, unjudged: Unjudged) -> Judged {
    let Unjudged { log, records, mut failures } = unjudged;
    let began = Instant::now();
    let mut text = Vec::new();
    let mut verdicts = Vec::with_capacity(records.len());
    for record in &records {
        text.clear();
        record.write_json(&log, &mut text);
        let verdict = program.test(&text).map_err(|error| error.to_string());
        failures -= u32::from(verdict.is_err()).min(failures);
        verdicts.push(verdict);
        if failures == 0 || began.elapsed() >= FILTER_TURN {
            break;
        }
    }
    Judged { records, verdicts }
}
