//! Secrets that come from a file: they stand in no list of processes and in no shell history.

use std::path::Path;

use crate::exit::Failure;

/// The text of a file without the line break at its end.
pub fn read(file: &Path, what: &str) -> Result<String, Failure> {
    let refuse = |reason: String| Failure::usage(format!("{what} cannot be read from {}: {reason}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| refuse(error.to_string()))?;
    match text.trim() {
        "" => Err(refuse("the file is empty".to_owned())),
        secret => Ok(secret.to_owned()),
    }
}
