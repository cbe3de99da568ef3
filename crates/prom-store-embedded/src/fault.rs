//! Turning what the operating system says into errors that name the file and what was being done.

use std::path::{Path, PathBuf};

use prom_store::StoreError;

/// For `map_err`: `file.sync_data().map_err(io("syncing", path))`.
pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> StoreError {
    let path = PathBuf::from(path);
    move |source| StoreError::Io { doing, path, source }
}

pub(crate) fn documents(error: impl std::fmt::Display) -> StoreError {
    StoreError::Documents { reason: error.to_string() }
}
