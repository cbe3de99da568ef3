//! Reading a file of lines.

use std::path::Path;

use super::HistoryLine;

/// Why a file is not a history.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Check the path.
    #[error("the history cannot be read: {0}")]
    Io(#[from] std::io::Error),
    /// The file was written by another version, or truncated.
    #[error("line {number} of the history cannot be read: {reason}")]
    HistoryLine { number: usize, reason: String },
}

pub fn read_file(path: &Path) -> Result<Vec<HistoryLine>, ReadError> {
    read(&std::fs::read_to_string(path)?)
}

/// In the order in which they were written.
pub fn read(text: &str) -> Result<Vec<HistoryLine>, ReadError> {
    let parse = |(index, line): (usize, &str)| {
        serde_json::from_str(line)
            .map_err(|error| ReadError::HistoryLine { number: index + 1, reason: error.to_string() })
    };
    text.lines().enumerate().map(parse).collect()
}
