//! Turning what the operating system says into errors that name the file and what was being done.

use std::path::{Path, PathBuf};

use prom_store::StoreError;

/// For `map_err`: `file.sync_data().map_err(io("syncing", path))`.
pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> StoreError {
    let path = PathBuf::from(path);
    move |source| StoreError::Io { doing, path, source }
}

/// Whether a file was not there.
pub(crate) fn is_missing(error: &StoreError) -> bool {
    matches!(error, StoreError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound)
}

pub(crate) fn documents(error: impl std::fmt::Display) -> StoreError {
    StoreError::Documents { reason: error.to_string() }
}
