//! The `prom` command: the hub, and everything to talk to it. What is typed is in `cli`, what it does in `command`,
//! how it ends in `exit`.

mod cli;
mod command;
mod config;
mod exit;
mod hub;
mod moment;
mod output;
mod position;
mod schema_folder;
mod secret_file;
mod serve;
mod signals;
mod units;
mod violations;

#[cfg(test)]
mod guide;

use std::process::ExitCode;

use clap::Parser;

use cli::Cli;
use exit::{CommandResult, Failure};

/// The hub allocates and frees from many threads all the time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Ends by itself with exit code 2 where the command line makes no sense.
    let cli = Cli::parse();
    let outcome = run(cli);
    if let Err(failure) = &outcome {
        output::complain(failure);
    }
    exit::exit_code(&outcome)
}

fn run(cli: Cli) -> CommandResult {
    let runtime = tokio::runtime::Runtime::new().map_err(|error| Failure::no(format!("no threads: {error}")))?;
    let outcome = runtime.block_on(cli.run());
    // A thread that waits for standard input must not keep the process.
    runtime.shutdown_background();
    outcome
}
