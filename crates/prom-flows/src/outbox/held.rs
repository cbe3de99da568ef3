//! Which keys wait because an earlier row of theirs failed.

use std::collections::{BTreeSet, HashMap};

use prom_types::EpochMs;

use super::limits::FAILING_ROWS;
use super::options::OnError;
use super::source::FailingRow;

/// What is known about failing rows.
#[derive(Debug, Default)]
pub struct HeldKeys {
    /// Until when a key waits; `None`: until an operator acts.
    keys: HashMap<String, Option<EpochMs>>,
    /// Failing rows, to notice that one is gone.
    rows: BTreeSet<String>,
    /// When rows are to be tried again, also those without a key.
    retries: Vec<EpochMs>,
}

/// There are more failing rows than a drainer follows.
#[derive(Debug, PartialEq, Eq)]
pub struct TooManyFailing;

impl HeldKeys {
    pub fn of(failing: &[FailingRow], on_error: OnError) -> Result<Self, TooManyFailing> {
        if failing.len() > FAILING_ROWS {
            return Err(TooManyFailing);
        }
        let mut held = Self::default();
        for row in failing {
            held.rows.insert(row.id.text.clone());
            held.retries.extend(row.retry_at);
            let Some(key) = &row.lane else { continue };
            if row.retry_at.is_none() && on_error == OnError::Skip {
                continue;
            }
            let until = held.keys.entry(key.clone()).or_insert(row.retry_at);
            *until = until.zip(row.retry_at).map(|(one, other)| one.max(other));
        }
        Ok(held)
    }

    /// Keys whose rows are not claimed now.
    pub fn at(&self, now: EpochMs) -> Vec<String> {
        let waiting = self.keys.iter().filter(|(_, until)| until.is_none_or(|until| until > now));
        waiting.map(|(key, _)| key.clone()).collect()
    }

    /// When the next waiting row may go, of those that may not go at this time yet.
    pub fn next_retry(&self, after: EpochMs) -> Option<EpochMs> {
        self.retries.iter().filter(|at| **at > after).min().copied()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether something that failed before waits no more: rows behind it were passed over.
    pub fn let_go_of(&self, before: &Self) -> bool {
        !before.rows.is_subset(&self.rows) || before.keys.keys().any(|key| !self.keys.contains_key(key))
    }
}

#[cfg(test)]
mod tests {
    use super::super::row::RowId;
    use super::*;

    fn failing(id: &str, key: &str, retry_at: Option<EpochMs>) -> FailingRow {
        FailingRow { id: RowId::text(id.to_owned()), lane: Some(key.to_owned()), retry_at }
    }

    #[test]
    fn a_row_in_error_holds_its_key_or_not_as_configured() {
        let rows = [failing("1", "a", None), failing("2", "b", Some(50))];
        let hold = HeldKeys::of(&rows, OnError::Hold).unwrap();
        let mut held = hold.at(10);
        held.sort();
        assert_eq!(held, ["a", "b"]);
        assert_eq!(hold.at(50), ["a"]);
        let skip = HeldKeys::of(&rows, OnError::Skip).unwrap();
        assert_eq!((skip.at(10), skip.at(50).len()), (vec!["b".to_owned()], 0));
        assert_eq!((hold.next_retry(49), hold.next_retry(50)), (Some(50), None));
    }

    #[test]
    fn a_key_waits_for_the_last_of_its_failing_rows() {
        let rows = [failing("1", "a", Some(20)), failing("2", "a", Some(50))];
        assert_eq!(HeldKeys::of(&rows, OnError::Hold).unwrap().at(30), ["a"]);
        let rows = [failing("1", "a", None), failing("2", "a", Some(50))];
        assert_eq!(HeldKeys::of(&rows, OnError::Hold).unwrap().at(90), ["a"]);
    }

    #[test]
    fn a_failing_row_that_is_gone_is_noticed() {
        let before = HeldKeys::of(&[failing("1", "a", None), failing("2", "b", None)], OnError::Hold).unwrap();
        let after = HeldKeys::of(&[failing("2", "b", None)], OnError::Hold).unwrap();
        assert!(after.let_go_of(&before) && !before.let_go_of(&after));
    }

    #[test]
    fn more_failing_rows_than_can_be_followed_are_told() {
        let rows = vec![failing("1", "a", None); FAILING_ROWS + 1];
        assert_eq!(HeldKeys::of(&rows, OnError::Hold).err(), Some(TooManyFailing));
    }
}
