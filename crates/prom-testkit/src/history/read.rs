//! Reading a history: one JSON value on each line.

use std::path::Path;

use serde::de::DeserializeOwned;

/// Why a file is not a history.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// Check the path.
    #[error("the history cannot be read: {0}")]
    Io(#[from] std::io::Error),
    /// The file was written by another version, or truncated.
    #[error("line {number} of the history cannot be read: {reason}")]
    Line { number: usize, reason: String },
}

pub fn read_file<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, HistoryError> {
    read(&std::fs::read_to_string(path)?)
}

/// In the order in which they were written.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<Vec<T>, HistoryError> {
    let parse = |(index, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| HistoryError::Line { number: index + 1, reason: error.to_string() })
    };
    text.lines().enumerate().map(parse).collect()
}
