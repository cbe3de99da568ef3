//! Everything CI runs, in order, stopping at the first failure.
//!
//! Steps share what they compile. Clippy and documentation read the same metadata of dependencies, and tests, their
//! examples and the SDKs use the same build: all of them select the whole workspace with what its tests depend on, so that
//! every dependency has one set of features.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::run::{Skipped, cargo, has_cargo_command, succeed};
use crate::{debian, generate, instructions, postgres, sdk, tidy};

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    Full,
    /// For the minutes between two edits.
    Quick,
}

struct Step {
    name: &'static str,
    extent: Extent,
    /// About how long it takes on two processors with an empty target folder, and once more without a change.
    seconds: (u64, u64),
    /// Gives the reason if it was skipped.
    run: fn() -> Result<Skipped>,
}

impl Step {
    const fn new(name: &'static str, extent: Extent, seconds: (u64, u64), run: fn() -> Result<Skipped>) -> Self {
        Self { name, extent, seconds, run }
    }
}

/// Quick steps always run.
const STEPS: [Step; 10] = [
    Step::new("format", Extent::Quick, (2, 2), format),
    Step::new("tidy", Extent::Quick, (1, 1), || done(tidy::run())),
    Step::new("generated files", Extent::Quick, (1, 1), || done(generate::check())),
    Step::new("clippy", Extent::Quick, (180, 1), clippy),
    Step::new("documentation", Extent::Full, (40, 2), documentation),
    Step::new("tests", Extent::Quick, (480, 250), tests),
    Step::new("documentation tests", Extent::Full, (30, 7), documentation_tests),
    Step::new("SDKs and dashboard", Extent::Full, (190, 130), sdk::test),
    Step::new("dependencies", Extent::Full, (2, 2), dependencies),
    Step::new("instructions per event", Extent::Full, (95, 15), instructions::check),
];

/// The servers we compare ourselves with need their clients. These are compiled here, by clippy, and nowhere else.
const WITH_PEERS: [&str; 2] = ["--features", "prom-bench/peers"];

pub fn run(extent: Extent) -> Result<()> {
    let begin = Instant::now();
    let steps: Vec<&Step> =
        STEPS.iter().filter(|step| step.extent == Extent::Quick || extent == Extent::Full).collect();
    print!("{}", plan(&steps));
    let mut took = Vec::new();
    for (index, Step { name, run, .. }) in steps.iter().enumerate() {
        let title = format!("[{}/{}] {name}", index + 1, steps.len());
        println!("{title} …");
        let begin = Instant::now();
        match run().with_context(|| format!("{title} failed after {}", shown(begin.elapsed())))? {
            None => println!("{title}: ok, {}", shown(begin.elapsed())),
            Some(reason) => println!("{title}: skipped: {reason}"),
        }
        took.push(format!("{name} {}", shown(begin.elapsed())));
    }
    println!("all {} steps passed in {}: {}", steps.len(), shown(begin.elapsed()), took.join(", "));
    Ok(())
}

/// What will be done, and about how long it takes.
fn plan(steps: &[&Step]) -> String {
    let line = |name: &str, (first, again): (u64, u64)| {
        format!("  {name:<24}{:>12}{:>12}\n", shown(Duration::from_secs(first)), shown(Duration::from_secs(again)))
    };
    let sum = |of: fn(&Step) -> u64| steps.iter().map(|step| of(step)).sum();
    let mut plan = format!("{:<26}{:>12}{:>12}\n", "about, on two processors:", "first", "again");
    plan.extend(steps.iter().map(|step| line(step.name, step.seconds)));
    plan + &line("all", (sum(|step| step.seconds.0), sum(|step| step.seconds.1)))
}

/// `3 s`, or `4 min 20 s`.
fn shown(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

fn done(result: Result<()>) -> Result<Skipped> {
    result.map(|()| None)
}

fn format() -> Result<Skipped> {
    done(succeed(cargo().args(["fmt", "--all", "--check"])))
}

fn clippy() -> Result<Skipped> {
    let mut clippy = cargo();
    clippy.args(["clippy", "--workspace", "--all-targets", "--locked"]).args(WITH_PEERS).args(["--", "-D", "warnings"]);
    done(succeed(&mut clippy))
}

/// With the examples, because these bring in what tests depend on: else dependencies would have other features than before.
fn documentation() -> Result<Skipped> {
    let mut doc = cargo();
    doc.args(["doc", "--workspace", "--no-deps", "--lib", "--bins", "--examples", "--locked"]).args(WITH_PEERS);
    done(succeed(doc.env("RUSTDOCFLAGS", "-D warnings")))
}

fn tests() -> Result<Skipped> {
    postgres::get()?;
    debian::get_promtool()?;
    if has_cargo_command("nextest") {
        let profile = if std::env::var_os("CI").is_some() { "ci" } else { "default" };
        done(succeed(cargo().args(["nextest", "run", "--workspace", "--locked", "--profile", profile])))
    } else {
        println!("cargo-nextest is not installed: running with cargo test, without its time limits");
        done(succeed(cargo().args(["test", "--workspace", "--locked", "--lib", "--bins", "--tests", "--no-fail-fast"])))
    }
}

fn documentation_tests() -> Result<Skipped> {
    done(succeed(cargo().args(["test", "--workspace", "--locked", "--doc"])))
}

fn dependencies() -> Result<Skipped> {
    if !has_cargo_command("deny") {
        return Ok(Some("cargo-deny is not installed"));
    }
    done(succeed(cargo().args(["deny", "check", "bans", "licenses", "sources"])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_has_every_step_and_their_sum() {
        let steps =
            [Step::new("format", Extent::Quick, (2, 2), format), Step::new("clippy", Extent::Quick, (178, 1), clippy)];
        let plan = plan(&steps.each_ref());
        let lines: Vec<&str> = plan.lines().skip(1).collect();
        assert_eq!(
            lines,
            [
                "  format                           2 s         2 s",
                "  clippy                    2 min 58 s         1 s",
                "  all                        3 min 0 s         3 s"
            ]
        );
    }
}
