//! `prom-fuzz frames --seconds 60`: runs a target, prints how far it came, and exits 1 with the input that broke it.

use std::process::ExitCode;
use std::time::Duration;

use prom_fuzz::TARGETS;
use prom_fuzz::drive::{Broken, Target, Until, drive};

const USAGE: &str = "\
usage: prom-fuzz TARGET [--seconds N | --inputs N] [--seed N]
  TARGET         frames, records, directory
  --seconds N    how long (default 60)
  --inputs N     how many inputs instead
  --seed N       the number of the first input (default 0): with --inputs 1 it repeats one";

#[allow(clippy::print_stdout, clippy::print_stderr, reason = "a tool speaks by printing")]
fn main() -> ExitCode {
    let (target, seed, until) = match parse(std::env::args().skip(1)) {
        Ok(parsed) => parsed,
        Err(problem) => {
            eprintln!("{problem}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match drive(&target, seed, until) {
        Ok(report) => {
            let rate = report.inputs as f64 / report.elapsed.as_secs_f64();
            println!("{}: {} inputs, {rate:.0}/s, nothing broke", target.name, report.inputs);
            ExitCode::SUCCESS
        }
        Err(Broken { seed, input }) => {
            println!("{} broke; repeat it with --seed {seed} --inputs 1\n{}", target.name, input.escape_ascii());
            ExitCode::FAILURE
        }
    }
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<(Target, u64, Until), String> {
    let name = words.next().ok_or("name a target")?;
    let target = TARGETS.into_iter().find(|target| target.name == name).ok_or(format!("unknown target {name:?}"))?;
    let (mut seed, mut until) = (0, Until::Elapsed(Duration::from_secs(60)));
    while let Some(word) = words.next() {
        let number = words.next().and_then(|number| number.parse().ok()).ok_or(format!("{word} needs a number"))?;
        match word.as_str() {
            "--seconds" => until = Until::Elapsed(Duration::from_secs(number)),
            "--inputs" => until = Until::Inputs(number),
            "--seed" => seed = number,
            _ => return Err(format!("unknown option {word}")),
        }
    }
    Ok((target, seed, until))
}
