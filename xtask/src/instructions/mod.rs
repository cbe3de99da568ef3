//! How many instructions an event takes, against what it took when the baseline was stored.
//!
//! `bench/instructions` walks events along their path, callgrind counts, and this compares. Time varies with the
//! machine and with what else it does; instructions do not, so a few per cent more are seen and mean something.
//! See `docs/performance/instructions.md`.

mod baseline;
mod callgrind;
mod profile;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use self::baseline::{Baseline, Comparison, Verdict};
use self::profile::Profile;
use crate::run::{Skipped, cargo};

/// Functions that are named when a scenario is above its baseline.
const NAMED_FUNCTIONS: usize = 12;

/// One scenario, counted.
struct Counted {
    events: u64,
    profile: Profile,
    /// For tools that show more of it.
    file: PathBuf,
}

impl Counted {
    fn per_event(&self) -> u64 {
        (self.profile.total + self.events / 2) / self.events
    }
}

/// Fails if a scenario takes more than the baseline and its tolerance allow.
pub fn check() -> Result<Skipped> {
    if !callgrind::is_there() {
        return Ok(Some("valgrind is not installed, so nothing was counted"));
    }
    let baseline = Baseline::read()?;
    if baseline.architecture != std::env::consts::ARCH {
        return Ok(Some("the baseline was counted on another kind of processor"));
    }
    let counted = count()?;
    let comparisons = baseline.compare(&per_event(&counted));
    println!("{}", baseline::table(&comparisons));
    for comparison in comparisons.iter().filter(|comparison| comparison.verdict() == Verdict::Above) {
        tell_functions(comparison, &counted);
    }
    conclude(&comparisons)?;
    Ok(None)
}

/// Counts, and stores the counts as the baseline.
pub fn store() -> Result<()> {
    if !callgrind::is_there() {
        bail!("valgrind is not installed: install it to count instructions");
    }
    let before = Baseline::read().ok();
    let per_event = per_event(&count()?);
    let comparisons = before.unwrap_or_default().compare(&per_event);
    println!("{}", baseline::table(&comparisons));
    Baseline::new(per_event).write()?;
    println!("wrote {}", baseline::PATH);
    Ok(())
}

fn conclude(comparisons: &[Comparison]) -> Result<()> {
    let of = |verdict: Verdict| -> Vec<&str> {
        let matching = comparisons.iter().filter(|comparison| comparison.verdict() == verdict);
        matching.map(|comparison| comparison.scenario.as_str()).collect()
    };
    let (above, below) = (of(Verdict::Above), of(Verdict::FarBelow));
    let unknown = [of(Verdict::New), of(Verdict::Gone)].concat();
    if !above.is_empty() {
        bail!(
            "more instructions per event than the baseline allows: {}. Bring them down; or, if they are worth it, \
             run `cargo xtask instructions --store` and say in the commit what they buy",
            above.join(", ")
        );
    }
    if !unknown.is_empty() {
        bail!("scenarios and baseline differ, run `cargo xtask instructions --store`: {}", unknown.join(", "));
    }
    if !below.is_empty() {
        println!(
            "far below the baseline: {}. Well done: run `cargo xtask instructions --store`, so that it stays so",
            below.join(", ")
        );
    }
    Ok(())
}

fn per_event(counted: &BTreeMap<String, Counted>) -> BTreeMap<String, u64> {
    counted.iter().map(|(name, counted)| (name.clone(), counted.per_event())).collect()
}

fn tell_functions(comparison: &Comparison, counted: &BTreeMap<String, Counted>) {
    let Some(counted) = counted.get(&comparison.scenario) else {
        return;
    };
    println!("{}: where its instructions are, per event, without those of functions called", comparison.scenario);
    for (function, instructions) in counted.profile.functions.iter().take(NAMED_FUNCTIONS) {
        let per_event = *instructions as f64 / counted.events as f64;
        let share = *instructions as f64 / counted.profile.total.max(1) as f64 * 100.0;
        println!("  {per_event:>8.0}  {share:>4.1} %  {function}");
    }
    println!("  more with: callgrind_annotate --inclusive=yes {}\n", counted.file.display());
}

/// Counts every scenario of the program.
fn count() -> Result<BTreeMap<String, Counted>> {
    let program = build()?;
    let folder = program.with_file_name("callgrind");
    std::fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    let mut counted = BTreeMap::new();
    for (scenario, events) in callgrind::scenarios(&program)? {
        println!("counting {scenario} …");
        let file = callgrind::run(&program, &scenario, &folder)?;
        let text = std::fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
        let profile = Profile::read(&text).with_context(|| format!("in {}", file.display()))?;
        counted.insert(scenario, Counted { events, profile, file });
    }
    Ok(counted)
}

/// Builds the program and returns the path that cargo reports.
fn build() -> Result<PathBuf> {
    let mut build = cargo();
    build.args(["build", "--locked", "--package", "prom-instructions", "--profile", "instructions"]);
    build.arg("--message-format=json-render-diagnostics").stderr(Stdio::inherit());
    let output = build.output().with_context(|| format!("cannot start {build:?}"))?;
    if !output.status.success() {
        bail!("{build:?} ended with {}", output.status);
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    let executable = |line: &str| {
        let message: Value = serde_json::from_str(line).ok()?;
        message["executable"].as_str().map(PathBuf::from)
    };
    messages.lines().filter_map(executable).next_back().context("cargo named no executable")
}
