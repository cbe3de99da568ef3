//! The clients in TypeScript and Sibilant, and the dashboard: fetches their packages and runs their tests against the hub that
//! was built here. The dashboard's test begins by building it again: what is committed has to be the same, byte by byte.
//!
//! Promises: installs what it can install without asking. What it cannot install it names, with how to get it; that fails
//! in CI (`CI` is set) and is skipped elsewhere.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::run::{Skipped, cargo, succeed};
use crate::{debian, repository};

/// In this order: the others use what the first builds.
const PACKAGES: [&str; 3] = ["sdk/ts", "sdk/sibilant", "dashboard"];

const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// Gives the reason if nothing was run.
pub fn test() -> Result<Skipped> {
    if !on_path("node") || !on_path("npm") {
        if is_ci() {
            bail!("node and npm are not installed, and CI needs them: install Node 20 or later");
        }
        return Ok(Some("node and npm are not installed; Node 20 or later brings both"));
    }
    if !has_browser() {
        debian::install("Chromium", "chromium", "`apt-get install -y chromium`, or set CHROMIUM to its path")?;
    }
    let prom = build_hub()?;
    for package in PACKAGES {
        let npm = |arguments: &[&str]| {
            let mut command = Command::new("npm");
            command.args(arguments).current_dir(repository::root().join(package)).stdin(Stdio::null());
            command.env("PROM_BINARY", &prom);
            command
        };
        succeed(&mut npm(&["ci", "--no-audit", "--no-fund", "--loglevel=error"]))?;
        succeed(&mut npm(&["test"])).with_context(|| format!("the tests of {package}"))?;
    }
    Ok(None)
}

/// The binary that the Rust tests use, or the one that `PROM_BINARY` names. Built as `cargo xtask test` builds it, with what
/// examples depend on, so that no dependency is built twice.
fn build_hub() -> Result<PathBuf> {
    if let Some(named) = std::env::var_os("PROM_BINARY").filter(|named| !named.is_empty()) {
        return Ok(named.into());
    }
    succeed(cargo().args(["build", "--workspace", "--bins", "--examples", "--locked"]))?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let prom = repository::root().join(target).join("debug/prom");
    if !prom.is_file() {
        bail!("{} was not built", prom.display());
    }
    Ok(prom)
}

fn has_browser() -> bool {
    std::env::var_os("CHROMIUM").is_some() || BROWSERS.iter().any(|name| on_path(name))
}

pub fn is_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| !value.is_empty())
}

pub fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

pub fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder: PathBuf| folder.join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_can_be_installed_from_its_lock_without_the_address_of_a_registry() {
        for package in PACKAGES {
            let lock = repository::root().join(package).join("package-lock.json");
            let text = std::fs::read_to_string(&lock).unwrap_or_else(|error| panic!("{}: {error}", lock.display()));
            assert!(!text.contains("\"resolved\": \"http"), "{package}: set omit-lockfile-registry-resolved in .npmrc");
        }
    }

    #[test]
    fn programs_are_found_on_the_path() {
        assert!(on_path("sh"));
        assert!(!on_path("no-such-program-anywhere"));
    }
}
