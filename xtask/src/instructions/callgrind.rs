//! Running the program under callgrind.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

/// Entered where counting begins and ends: see `bench/instructions/src/counting.rs`.
const BEGINS: &str = "*counting_begins_here*";
const ENDS: &str = "*counting_ends_here*";

/// Above some length the C library copies with one instruction, which callgrind counts once per byte. That length differs
/// between processors, so it is set out of reach.
const TUNABLES: &str = "glibc.cpu.x86_rep_movsb_threshold=1073741824:glibc.cpu.x86_rep_stosb_threshold=1073741824";

pub fn is_there() -> bool {
    let quiet = Command::new("valgrind").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    quiet.is_ok_and(|status| status.success())
}

/// Each scenario with its number of counted events.
pub fn scenarios(program: &Path) -> Result<Vec<(String, u64)>> {
    let output = Command::new(program).output().with_context(|| format!("cannot start {}", program.display()))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let scenario = |line: &str| {
        let (name, events) = line.split_once(' ')?;
        Some((name.to_owned(), events.parse().ok().filter(|events| *events > 0)?))
    };
    let scenarios: Option<Vec<_>> = said.lines().map(scenario).collect();
    scenarios.filter(|scenarios| !scenarios.is_empty()).with_context(|| format!("not a list of scenarios: {said:?}"))
}

/// Runs one scenario and returns the file with what was counted between the two marks.
pub fn run(program: &Path, scenario: &str, folder: &Path) -> Result<PathBuf> {
    let whole = folder.join(scenario);
    // Each mark writes what was counted since the mark before it.
    let between = folder.join(format!("{scenario}.2"));
    if between.exists() {
        std::fs::remove_file(&between).with_context(|| format!("removing {}", between.display()))?;
    }
    let mut valgrind = Command::new("valgrind");
    valgrind.arg("--tool=callgrind").arg(format!("--callgrind-out-file={}", whole.display()));
    valgrind.arg(format!("--dump-before={BEGINS}")).arg(format!("--dump-before={ENDS}"));
    valgrind.arg(program).arg(scenario).env("GLIBC_TUNABLES", TUNABLES).stdin(Stdio::null());
    let output = valgrind.output().with_context(|| format!("cannot start {valgrind:?}"))?;
    if !output.status.success() {
        bail!("{valgrind:?} ended with {}:\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    ensure!(between.exists(), "callgrind did not see counting begin and end in {scenario}: no {}", between.display());
    Ok(between)
}
