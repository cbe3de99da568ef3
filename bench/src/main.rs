//! Measures the bus, the disk under it and other servers, side by side in one run.
//!
//! ```text
//!   prom-bench journal   the storage design: one journal against a file per partition
//!   prom-bench core      the bus as a library: publish, dispatch, ack, replay, open
//!   prom-bench hub       the server: publish, consume, idle and busy connections, export
//!   prom-bench mongo     the bus on MongoDB beside what a program would do with its driver
//!   prom-bench compare   the server beside others (with the feature `peers`)
//!   prom-bench growth    the server with more and more events, topics, groups and connections
//!   prom-bench rest      the server when nothing happens, and when it starts
//! ```
//!
//! Figures go to standard output, progress to standard error. A ratio is always between two
//! figures of the same run on the same directory.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod args;
mod bare;
mod compare;
mod core;
mod figure;
mod growth;
mod hub;
mod interrupt;
mod journal;
mod load;
mod machine;
mod mongo;
mod ours;
mod page_cache;
#[cfg(feature = "peers")]
mod peers;
mod percentile;
mod place;
mod plot;
mod proc;
mod rest;
mod server_process;
mod summary;
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
        Command::Mongo => mongo::run(&args),
        Command::Compare => compare::run(&args),
        Command::Growth => growth::run(&args),
        Command::Rest => rest::run(&args),
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
