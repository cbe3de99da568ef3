//! Runs other programs from the root, shows their output and passes their failure on.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::repository;

/// Why something was not done, although nothing failed.
pub type Skipped = Option<&'static str>;

/// The cargo that runs us.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(repository::root()).stdin(Stdio::null());
    command
}

/// Runs a command to its end. Anything but success is an error that names the command.
pub fn succeed(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
    if !status.success() {
        bail!("{command:?} ended with {status}");
    }
    Ok(())
}

/// Whether `cargo <name>` is installed. Other failures show when it is used.
pub fn has_cargo_command(name: &str) -> bool {
    let quiet = cargo().arg(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    quiet.is_ok_and(|status| status.success())
}
