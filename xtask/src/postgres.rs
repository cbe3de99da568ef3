//! PostgreSQL for tests: Debian's package, installed if we may.
//!
//! The tests start clusters of their own; the package's is not used.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::run::succeed;
use crate::sdk::{is_ci, is_root, on_path};

/// Where Debian puts the server.
const DEBIAN: &str = "/usr/lib/postgresql";

/// Installs it where it is missing. Outside of CI its tests are skipped, with a word, if that is not possible.
pub fn get() -> Result<()> {
    if on_path("initdb") || has_server(Path::new(DEBIAN)) {
        return Ok(());
    }
    if on_path("apt-get") && is_root() {
        println!("no PostgreSQL found: installing Debian's");
        let (mut update, mut install) = (Command::new("apt-get"), Command::new("apt-get"));
        let installed = succeed(update.args(["update", "-qq"]))
            .and_then(|()| succeed(install.args(["install", "-y", "-qq", "--no-install-recommends", "postgresql"])));
        match installed {
            Err(error) if is_ci() => return Err(error.context("CI needs PostgreSQL")),
            Err(error) => println!("without PostgreSQL: {error:#}"),
            Ok(()) => {}
        }
    } else if is_ci() {
        bail!("no PostgreSQL found, and CI needs it: `apt-get install -y postgresql`");
    } else {
        println!("no PostgreSQL found: its tests are skipped; install the package `postgresql`");
    }
    Ok(())
}

/// The client alone has a folder there too.
fn has_server(folder: &Path) -> bool {
    let mut versions = std::fs::read_dir(folder).into_iter().flatten().flatten();
    versions.any(|version| version.path().join("bin/initdb").is_file())
}
