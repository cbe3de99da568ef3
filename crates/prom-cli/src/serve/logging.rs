//! What the hub says while it runs: on standard error, for people or for machines.

use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;

use crate::config::{LogConfig, LogFormat};
use crate::exit::{CommandResult, Failure};

pub fn start(log: &LogConfig) -> CommandResult {
    let filter = EnvFilter::try_new(&log.level)
        .map_err(|error| Failure::usage(format!("`{}` is not a log level: {error}", log.level)))?;
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    let started = match log.format {
        LogFormat::Text => lines.with_ansi(wants_colour()).try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    };
    started.map_err(|error| Failure::no(format!("logging cannot be started: {error}")))
}

fn wants_colour() -> bool {
    io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
