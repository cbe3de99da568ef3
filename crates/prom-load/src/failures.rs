//! What went wrong with single events, counted by reason. A load goes on meanwhile, until there is no point in it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use prom_client::Error;
use serde::Serialize;

/// After this many failures more of them tell nothing new.
const ENOUGH: u64 = 1000;

/// Events that failed for the same reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LoadFailure {
    /// The hub's code, or what kind of failure it was.
    pub code: String,
    pub count: u64,
    /// The first of them in words.
    pub message: String,
}

/// Shared by all connections of a measurement.
#[derive(Debug, Default)]
pub struct LoadFailures {
    by_code: Mutex<BTreeMap<String, LoadFailure>>,
    count: AtomicU64,
    is_hopeless: AtomicBool,
}

impl LoadFailures {
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
            self.is_hopeless.store(true, Ordering::Relaxed);
        }
    }

    pub fn note_as(&self, code: &str, message: &str, events: u64) {
        let mut by_code = self.by_code.lock();
        let first = || LoadFailure { code: code.to_owned(), count: 0, message: message.to_owned() };
        by_code.entry(code.to_owned()).or_insert_with(first).count += events;
        if self.count.fetch_add(events, Ordering::Relaxed) + events >= ENOUGH {
            self.is_hopeless.store(true, Ordering::Relaxed);
        }
    }

    /// So much went wrong that there is no point in publishing more.
    pub fn is_hopeless(&self) -> bool {
        self.is_hopeless.load(Ordering::Relaxed)
    }

    pub fn list(&self) -> Vec<LoadFailure> {
        self.by_code.lock().values().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_counted_by_code_with_the_first_message() {
        let failures = LoadFailures::default();
        failures.note_as("forbidden", "one", 2);
        failures.note_as("forbidden", "two", 3);
        failures.note_as("client", "three", 1);
        let list = failures.list();
        assert_eq!(list.len(), 2);
        assert_eq!((list[1].code.as_str(), list[1].count, list[1].message.as_str()), ("forbidden", 5, "one"));
        assert!(!failures.is_hopeless());
        failures.note_as("client", "three", ENOUGH);
        assert!(failures.is_hopeless());
    }
}
