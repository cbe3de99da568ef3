//! Measures the bus and the disk under it, side by side in one run.
//!
//! ```text
//!   prom-bench journal   the storage design: one journal against a file per partition
//!   prom-bench core      the bus as a library: publish, dispatch, ack, replay, open
//!   prom-bench hub       the server: publish, consume, idle and busy connections, export
//! ```
//!
//! Figures go to standard output, progress to standard error. A ratio is always between two
//! figures of the same run on the same directory.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod args;
mod bare;
mod core;
mod figure;
mod hub;
mod journal;
mod percentile;
mod place;
mod table;

use std::process::ExitCode;

use args::{Args, Command};

/// Events are allocated by whoever publishes and freed by the journal's thread. In profiles the system's
/// allocator waited for its lock there; a server will use this one.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let args = match Args::parse(std::env::args().skip(1)) {
        Ok(args) => args,
        Err(wrong) => {
            eprintln!("{wrong}\n\n{}", args::USAGE);
            return ExitCode::from(2);
        }
    };
    let done = match args.command {
        Command::Journal => journal::run(&args),
        Command::Core => core::run(&args),
        Command::Hub => hub::run(&args),
        Command::Fill => core::fill(&args.dir, args.fill_bytes()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("prom-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}
