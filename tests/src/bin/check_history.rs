//! Judges a history that a run of several hubs left behind: `check_history FILE`. Prints what is broken, or how much was
//! judged and how long events took to flow again after each fault.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use prom_testkit::history::clients::{flowed_again, judge};
use prom_testkit::history::read_file;

fn main() -> anyhow::Result<ExitCode> {
    let file: PathBuf = std::env::args_os().nth(1).context("check_history FILE")?.into();
    let lines = read_file(&file)?;
    for flowed in flowed_again(&lines).map_err(|broken| anyhow::anyhow!("{broken}"))? {
        say(&flowed.to_string());
    }
    match judge(&lines) {
        Ok(summary) => {
            say(&format!("{} lines: {summary:?}", lines.len()));
            Ok(ExitCode::SUCCESS)
        }
        Err(broken) => {
            broken.iter().for_each(|one| say(&one.to_string()));
            say(&format!("{} promises are broken", broken.len()));
            Ok(ExitCode::FAILURE)
        }
    }
}

#[expect(clippy::print_stdout, reason = "printing is its purpose")]
fn say(line: &str) {
    println!("{line}");
}
