//! PostgreSQL for tests: Debian's package, installed if we may.
//!
//! The tests start clusters of their own; the package's is not used.

use std::path::Path;

use anyhow::Result;

use crate::debian;
use crate::sdk::on_path;

/// Where Debian puts the server.
const DEBIAN: &str = "/usr/lib/postgresql";

/// Installs it where it is missing. Outside of CI its tests are skipped, with a word, if that is not possible.
pub fn get() -> Result<()> {
    if on_path("initdb") || has_server(Path::new(DEBIAN)) {
        return Ok(());
    }
    debian::install("PostgreSQL", "postgresql", "install the package `postgresql`")
}

/// The client alone has a folder there too.
fn has_server(folder: &Path) -> bool {
    let mut versions = std::fs::read_dir(folder).into_iter().flatten().flatten();
    versions.any(|version| version.path().join("bin/initdb").is_file())
}
