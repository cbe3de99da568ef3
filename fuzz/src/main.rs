//! `prom-fuzz frames --seconds 60`: runs a target, prints how far it came, and exits 1 with the input that broke it.

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use prom_fuzz::TARGETS;
use prom_fuzz::drive::{Broken, Target, Until, drive};

/// Gives a target one spoiled input after the other
#[derive(Parser)]
struct Cli {
    /// frames, records or directory
    #[arg(value_parser = target)]
    target: Target,
    /// How long
    #[arg(long, value_name = "N", default_value_t = 60)]
    seconds: u64,
    /// How many inputs instead
    #[arg(long, value_name = "N")]
    inputs: Option<u64>,
    /// The number of the first input: with --inputs 1 it repeats one
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
}

fn target(name: &str) -> Result<Target, &'static str> {
    TARGETS.into_iter().find(|target| target.name == name).ok_or("no target has this name")
}

#[allow(clippy::print_stdout, reason = "a tool speaks by printing")]
fn main() -> ExitCode {
    let Cli { target, seconds, inputs, seed } = Cli::parse();
    let until = inputs.map_or(Until::Elapsed(Duration::from_secs(seconds)), Until::Inputs);
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
