//! Programs of other people that tests need, from Debian's packages.
//!
//! Promises: installs what it can install without asking. What it cannot install it names, with how to get it; that fails
//! in CI (`CI` is set), and elsewhere the tests say what they skip.

use std::process::Command;

use anyhow::{Result, bail};

use crate::run::succeed;
use crate::sdk::{is_ci, is_root, on_path};

/// Installs the package that brings a program, if we may. `missing` says how to get it otherwise.
pub fn install(program: &str, package: &str, missing: &str) -> Result<()> {
    if on_path("apt-get") && is_root() {
        println!("no {program} found: installing Debian's");
        let (mut update, mut install) = (Command::new("apt-get"), Command::new("apt-get"));
        let installed = succeed(update.args(["update", "-qq"]))
            .and_then(|()| succeed(install.args(["install", "-y", "-qq", "--no-install-recommends", package])));
        match installed {
            Err(error) if is_ci() => return Err(error.context(format!("CI needs {program}"))),
            Err(error) => println!("without {program}: {error:#}"),
            Ok(()) => {}
        }
    } else if is_ci() {
        bail!("no {program} found, and CI needs it: {missing}");
    } else {
        println!("no {program} found, and its tests are skipped: {missing}");
    }
    Ok(())
}

/// Prometheus' checker of rules and metrics, which is in its package.
pub fn get_promtool() -> Result<()> {
    if on_path("promtool") {
        return Ok(());
    }
    install("promtool", "prometheus", "install the package `prometheus`, which brings it")
}
