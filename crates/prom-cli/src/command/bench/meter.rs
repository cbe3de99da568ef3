//! What a leg has done so far, for those who watch it, and what went wrong.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use prom_client::Error;
use serde::Serialize;

/// Counts that grow while a leg runs. Workers add to them now and then, not for every event.
pub struct Meter {
    begun: Instant,
    published: AtomicU64,
    consumed: AtomicU64,
    problems: Mutex<BTreeMap<String, Problem>>,
    problem_count: AtomicU64,
    hopeless: AtomicBool,
}

/// Events that failed for the same reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The hub's code, or what kind of failure it was.
    pub code: String,
    pub count: u64,
    /// The first of them in words.
    pub message: String,
}

/// Past so many failures more of them tell nothing new.
const ENOUGH_PROBLEMS: u64 = 1000;

/// How far a leg was at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    pub at: Duration,
    pub published: u64,
    pub consumed: u64,
}

impl Meter {
    pub fn begin() -> Self {
        Self {
            begun: Instant::now(),
            published: AtomicU64::new(0),
            consumed: AtomicU64::new(0),
            problems: Mutex::default(),
            problem_count: AtomicU64::new(0),
            hopeless: AtomicBool::new(false),
        }
    }

    /// Since the leg began; what payloads carry.
    pub fn nanos(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.begun).as_nanos()).unwrap_or(u64::MAX)
    }

    pub fn add_published(&self, events: u64) {
        self.published.fetch_add(events, Ordering::Relaxed);
    }

    /// Events seen for the first time; with many subscribers, by each of them.
    pub fn add_consumed(&self, events: u64) {
        self.consumed.fetch_add(events, Ordering::Relaxed);
    }

    pub fn consumed(&self) -> u64 {
        self.consumed.load(Ordering::Relaxed)
    }

    pub fn sample(&self) -> Sample {
        Sample {
            at: self.begun.elapsed(),
            published: self.published.load(Ordering::Relaxed),
            consumed: self.consumed.load(Ordering::Relaxed),
        }
    }

    pub fn note(&self, error: &Error, events: u64) {
        let code = match error {
            Error::Refused { code, .. } => code.as_str(),
            Error::LeaseLost { .. } => "lease_lost",
            Error::GaveUp { .. } => "no_answer",
            Error::Closed { .. } | Error::Unreachable { .. } => "disconnected",
            other => other.code().map_or("client", |code| code.as_str()),
        };
        self.note_as(code, &error.to_string(), events);
        // Nothing that is sent from here on can succeed.
        if matches!(error, Error::Closed { .. }) {
            self.hopeless.store(true, Ordering::Relaxed);
        }
    }

    pub fn note_as(&self, code: &str, message: &str, events: u64) {
        let mut problems = self.problems.lock();
        let problem = problems.entry(code.to_owned()).or_insert_with(|| Problem {
            code: code.to_owned(),
            count: 0,
            message: message.to_owned(),
        });
        problem.count += events;
        if self.problem_count.fetch_add(events, Ordering::Relaxed) + events >= ENOUGH_PROBLEMS {
            self.hopeless.store(true, Ordering::Relaxed);
        }
    }

    /// So much went wrong that there is no point in publishing more.
    pub fn is_hopeless(&self) -> bool {
        self.hopeless.load(Ordering::Relaxed)
    }

    pub fn problems(&self) -> Vec<Problem> {
        self.problems.lock().values().cloned().collect()
    }
}
