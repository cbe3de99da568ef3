//! Everything CI runs, in order, stopping at the first failure.

use std::time::Instant;

use anyhow::{Context, Result};

use crate::run::{cargo, has_cargo_command, succeed};
use crate::{generate, instructions, sdk, tidy};

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    Full,
    /// For the minutes between two edits.
    Quick,
}

/// How a step ended, if it did not fail.
enum Outcome {
    Done,
    Skipped(&'static str),
}

struct Step {
    name: &'static str,
    extent: Extent,
    run: fn() -> Result<Outcome>,
}

/// Quick steps run always.
const STEPS: [Step; 10] = [
    Step { name: "format", extent: Extent::Quick, run: format },
    Step { name: "tidy", extent: Extent::Quick, run: || tidy::run().map(|()| Outcome::Done) },
    Step { name: "clippy", extent: Extent::Quick, run: clippy },
    Step { name: "generated files", extent: Extent::Quick, run: || generate::check().map(|()| Outcome::Done) },
    Step { name: "tests", extent: Extent::Quick, run: tests },
    Step { name: "SDKs", extent: Extent::Full, run: sdks },
    Step { name: "documentation tests", extent: Extent::Full, run: documentation_tests },
    Step { name: "documentation", extent: Extent::Full, run: documentation },
    Step { name: "dependencies", extent: Extent::Full, run: dependencies },
    Step { name: "instructions per event", extent: Extent::Full, run: instructions_per_event },
];

pub fn run(extent: Extent) -> Result<()> {
    let begin = Instant::now();
    let steps: Vec<&Step> =
        STEPS.iter().filter(|step| step.extent == Extent::Quick || extent == Extent::Full).collect();
    for (index, Step { name, run, .. }) in steps.iter().enumerate() {
        let place = format!("[{}/{}] {name}", index + 1, steps.len());
        println!("{place} …");
        let begin = Instant::now();
        let outcome = run().with_context(|| format!("{place} failed after {:.1} s", begin.elapsed().as_secs_f64()))?;
        match outcome {
            Outcome::Done => println!("{place}: ok, {:.1} s", begin.elapsed().as_secs_f64()),
            Outcome::Skipped(reason) => println!("{place}: skipped: {reason}"),
        }
    }
    println!("all {} steps passed in {:.1} s", steps.len(), begin.elapsed().as_secs_f64());
    Ok(())
}

fn format() -> Result<Outcome> {
    succeed(cargo().args(["fmt", "--all", "--check"]))?;
    Ok(Outcome::Done)
}

fn clippy() -> Result<Outcome> {
    succeed(cargo().args(["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"]))?;
    Ok(Outcome::Done)
}

fn tests() -> Result<Outcome> {
    if has_cargo_command("nextest") {
        let profile = if std::env::var_os("CI").is_some() { "ci" } else { "default" };
        succeed(cargo().args(["nextest", "run", "--workspace", "--locked", "--profile", profile]))?;
    } else {
        println!("cargo-nextest is not installed: running with cargo test, without its time limits");
        succeed(cargo().args(["test", "--workspace", "--locked", "--lib", "--bins", "--tests", "--no-fail-fast"]))?;
    }
    Ok(Outcome::Done)
}

fn sdks() -> Result<Outcome> {
    Ok(sdk::test()?.map_or(Outcome::Done, Outcome::Skipped))
}

fn documentation_tests() -> Result<Outcome> {
    succeed(cargo().args(["test", "--workspace", "--locked", "--doc"]))?;
    Ok(Outcome::Done)
}

fn documentation() -> Result<Outcome> {
    let mut doc = cargo();
    doc.args(["doc", "--workspace", "--no-deps", "--locked"]).env("RUSTDOCFLAGS", "-D warnings");
    succeed(&mut doc)?;
    Ok(Outcome::Done)
}

fn dependencies() -> Result<Outcome> {
    if !has_cargo_command("deny") {
        return Ok(Outcome::Skipped("cargo-deny is not installed"));
    }
    succeed(cargo().args(["deny", "check", "bans", "licenses", "sources"]))?;
    Ok(Outcome::Done)
}

fn instructions_per_event() -> Result<Outcome> {
    Ok(match instructions::check()? {
        instructions::Outcome::Checked => Outcome::Done,
        instructions::Outcome::Skipped(reason) => Outcome::Skipped(reason),
    })
}
