//! `prom-instructions SCENARIO`: one walk of many events, for `cargo xtask instructions` to count.
//!
//! Without an argument it lists the scenarios, one a line: the name and how many events are counted.
//! What a walk does depends on nothing outside: no socket, a clock that only moves when it is read,
//! one commit at a time. See `docs/performance/instructions.md`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a tool speaks by printing")]

mod scenario;

mod client;
mod connection;
mod counting;
mod scene;
mod step_clock;

mod deliver;
mod publish;

use std::process::ExitCode;

use scenario::SCENARIOS;

/// As in the hub: what memory costs is part of what an event costs.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let Some(name) = std::env::args().nth(1) else {
        SCENARIOS.iter().for_each(|scenario| println!("{} {}", scenario.name, scenario.events));
        return ExitCode::SUCCESS;
    };
    let Some(scenario) = SCENARIOS.iter().find(|scenario| scenario.name == name) else {
        eprintln!("no scenario is called {name:?}; without an argument they are listed");
        return ExitCode::from(2);
    };
    match scenario.run(scenario.events) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{name}: {error:#}");
            ExitCode::FAILURE
        }
    }
}
