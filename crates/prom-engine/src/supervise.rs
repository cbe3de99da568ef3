//! No task of a hub ends unnoticed: one that panics is logged, counted, shown to people, and started again.
//!
//! A task works under [`TaskFailures::watch`], which turns a panic into an error. Most tasks are then simply started
//! again ([`TaskFailures::keep_running`]); a dispatcher also ends its leases.
//!
//! Promises: the wait before a start doubles with every failure in a row, so nothing fails in a hot loop; what failed in
//! the last minute is known by name. The supervisor asks neither the store nor the bus's clock: those may be what panics.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use parking_lot::Mutex;
use prom_store::CursorName;
use tokio::time::{Instant, sleep};

use crate::limits::{FAILURES_NAMED, FIRST_RETRY, LONGEST_RETRY, STEADY_AFTER};

/// A task, as people are told of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TaskName {
    /// One of a few: a label of the metric.
    kind: &'static str,
    /// Which one, where there are many.
    of: Option<String>,
}

/// A task that failed within the last minute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskTrouble {
    /// Which task.
    pub task: TaskName,
    /// What it panicked with.
    pub reason: String,
    /// Failures with less than a minute between them.
    pub failures: u32,
    /// How long until it is started again; zero once it was.
    pub starts_in: Duration,
}

/// The work panicked. It was logged and counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskPanicked {
    /// How long to wait before starting again.
    pub wait: Duration,
    /// What it panicked with.
    pub reason: String,
}

/// What is known about failed tasks.
#[derive(Debug, Default)]
pub struct TaskFailures(Mutex<FailureCounts>);

#[derive(Debug, Default)]
struct FailureCounts {
    /// Since the process started, by kind.
    totals: BTreeMap<&'static str, u64>,
    recent: BTreeMap<TaskName, Recent>,
}

#[derive(Debug)]
struct Recent {
    failures: u32,
    reason: String,
    starts_at: Instant,
}

impl TaskName {
    /// A task of which a hub has one.
    pub const fn only(kind: &'static str) -> Self {
        Self { kind, of: None }
    }

    /// One of many.
    pub fn one(kind: &'static str, of: impl fmt::Display) -> Self {
        Self { kind, of: Some(of.to_string()) }
    }

    /// What tasks of its sort are called.
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    pub(crate) fn dispatcher(cursor: &CursorName) -> Self {
        Self::one("dispatcher", cursor)
    }
}

impl fmt::Display for TaskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.of {
            Some(of) => write!(f, "{} {of}", self.kind),
            None => f.write_str(self.kind),
        }
    }
}

impl TaskFailures {
    /// Does the work; a panic ends it and nothing else.
    pub async fn watch<T>(&self, task: &TaskName, work: impl Future<Output = T>) -> Result<T, TaskPanicked> {
        match AssertUnwindSafe(work).catch_unwind().await {
            Ok(done) => Ok(done),
            Err(panic) => Err(self.note(task, message(&*panic))),
        }
    }

    /// As [`TaskFailures::watch`], for work that waits for nothing.
    pub(crate) fn watch_here<T>(&self, task: &TaskName, work: impl FnOnce() -> T) -> Result<T, TaskPanicked> {
        let done = std::panic::catch_unwind(AssertUnwindSafe(work));
        done.map_err(|panic| self.note(task, message(&*panic)))
    }

    /// Does the work until it ends by itself; after a panic it is started again.
    pub async fn keep_running(self: Arc<Self>, task: TaskName, mut work: impl AsyncFnMut()) {
        while let Err(panicked) = self.watch(&task, work()).await {
            sleep(panicked.wait).await;
        }
    }

    /// What is left of the wait before this task may start again.
    pub(crate) fn hold_back(&self, task: &TaskName) -> Duration {
        self.trouble_of(task).map_or(Duration::ZERO, |trouble| trouble.starts_in)
    }

    pub(crate) fn trouble_of(&self, task: &TaskName) -> Option<TaskTrouble> {
        let known = self.0.lock();
        known.recent.get_key_value(task).and_then(|(task, recent)| recent.trouble(task))
    }

    /// Tasks that failed within the last minute, by name.
    pub fn troubles(&self) -> Vec<TaskTrouble> {
        self.0.lock().recent.iter().filter_map(|(task, recent)| recent.trouble(task)).collect()
    }

    /// Failures since the process started, by kind of task.
    pub fn totals(&self) -> Vec<(&'static str, u64)> {
        self.0.lock().totals.iter().map(|(kind, total)| (*kind, *total)).collect()
    }

    fn note(&self, task: &TaskName, reason: String) -> TaskPanicked {
        let now = Instant::now();
        let mut known = self.0.lock();
        *known.totals.entry(task.kind).or_default() += 1;
        let before = known.recent.get(task).filter(|recent| recent.is_recent(now)).map_or(0, |recent| recent.failures);
        let wait = FIRST_RETRY.saturating_mul(1 << before.min(16)).min(LONGEST_RETRY);
        if known.recent.len() >= FAILURES_NAMED {
            known.recent.retain(|_, recent| recent.is_recent(now));
        }
        if known.recent.len() < FAILURES_NAMED {
            let failed = Recent { failures: before + 1, reason: reason.clone(), starts_at: now + wait };
            known.recent.insert(task.clone(), failed);
        }
        drop(known);
        tracing::error!(%task, reason, failures = before + 1, ?wait, "a task of the hub panicked; it is started again");
        TaskPanicked { wait, reason }
    }
}

impl Recent {
    fn is_recent(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.starts_at) < STEADY_AFTER
    }

    fn trouble(&self, task: &TaskName) -> Option<TaskTrouble> {
        let now = Instant::now();
        self.is_recent(now).then(|| TaskTrouble {
            task: task.clone(),
            reason: self.reason.clone(),
            failures: self.failures,
            starts_in: self.starts_at.saturating_duration_since(now),
        })
    }
}

impl fmt::Display for TaskTrouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { task, reason, failures, starts_in } = self;
        write!(f, "{task} failed ({reason}), {failures} in a row")?;
        if starts_in.is_zero() {
            f.write_str("; it was started again")
        } else {
            write!(f, "; it is started again in {:.1} s", starts_in.as_secs_f32())
        }
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a text").to_owned()
}
