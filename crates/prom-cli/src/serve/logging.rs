//! What the hub says while it runs: on standard error, for people or for machines.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::{self, IsTerminal};
use std::panic::PanicHookInfo;

use tracing_subscriber::EnvFilter;

use super::log_queue::LogQueue;
use crate::config::{LogConfig, LogFormat};
use crate::exit::Failure;

/// From now on everything is logged, panics included.
pub fn start(log: &LogConfig) -> Result<LogQueue, Failure> {
    let filter = EnvFilter::try_new(&log.level)
        .map_err(|error| Failure::usage(format!("`{}` is not a log level: {error}", log.level)))?;
    let refuse = |error: &dyn std::fmt::Display| Failure::no(format!("logging cannot be started: {error}"));
    let queue = LogQueue::start().map_err(|error| refuse(&error))?;
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(queue.clone());
    // What goes wrong in formatting a line would be printed to standard error, and a failure of that is a panic.
    let lines = lines.log_internal_errors(false);
    let started = match log.format {
        LogFormat::Text => lines.with_ansi(wants_colour()).try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    };
    started.map_err(|error| refuse(&error))?;
    std::panic::set_hook(Box::new(log_panic));
    Ok(queue)
}

/// The usual hook writes to standard error, and waits where that is full.
fn log_panic(panic: &PanicHookInfo<'_>) {
    let backtrace = Backtrace::capture();
    let backtrace = (backtrace.status() == BacktraceStatus::Captured).then_some(backtrace);
    let backtrace = backtrace.as_ref().map(tracing::field::display);
    tracing::error!(thread = std::thread::current().name(), backtrace, "{panic}");
}

fn wants_colour() -> bool {
    io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
