//! Running a hub: logging, wiring, the greeting, signals, the end.

mod greeting;
mod logging;
mod settings;
mod telemetry;
mod wire;

pub use wire::check;

use crate::config::Loaded;
use crate::exit::CommandResult;
use crate::output::{Output, OutputFormat, note};
use crate::signals::Signals;

/// Serves until a signal comes, then lets handlers finish.
pub async fn run(Loaded { config, file }: Loaded) -> CommandResult {
    logging::start(&config.log)?;
    // Heard from the beginning: a signal during a long recovery is not lost.
    let mut signals = Signals::listen()?;
    let running = tokio::select! {
        running = wire::start(&config) => running?,
        () = signals.next() => return Ok(()),
    };
    let output = Output::new(OutputFormat::People);
    let greeting =
        greeting::greeting(&config, file.as_deref(), &running.at, &greeting::how_to_call_this(), output.style);
    // A hub whose output is closed still serves.
    drop(output.line(greeting));
    signals.next().await;
    signals.end_at_the_next();
    note("ending: handlers may finish; a second signal ends at once");
    running.shut_down().await
}
