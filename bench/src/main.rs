//! Measures the bus, the disk under it and other servers, side by side in one run.
//!
//! Figures go to standard output, progress to standard error. A ratio is always between two
//! figures of the same run on the same directory.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod args;
mod bare;
mod bus_load;
mod compare;
mod core;
mod embedded_bus;
mod figure;
mod flows;
mod growth;
mod hub;
mod interrupt;
mod journal;
mod letters;
mod load;
mod machine;
mod mongo;
mod ours;
mod page_cache;
mod past;
mod peers;
mod plot;
mod proc;
mod rest;
mod schema;
mod server_process;
mod summary;
mod table;
mod work_dir;

use std::process::ExitCode;

use args::{Cli, Command};
use clap::Parser;

/// Events are allocated by publishers and freed by the journal's thread. In profiles the system's allocator waited for
/// its lock there; the hub uses this one.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Journal(args) => journal::run(&args),
        Command::Core(args) => core::run(&args),
        Command::Hub(args) => hub::run(&args),
        Command::Mongo(args) => mongo::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Growth(args) => growth::run(&args),
        Command::Rest(args) => rest::run(&args),
        Command::Schema(args) => schema::run(&args),
        Command::Letters(args) => letters::run(&args),
        Command::Past(args) => past::run(&args),
        Command::Flows(args) => flows::run(&args),
        Command::Fill(args) => core::fill(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("prom-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}
