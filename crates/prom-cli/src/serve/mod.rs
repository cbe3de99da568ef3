//! Running a hub: logging, wiring, the greeting, signals, the end.

mod greeting;
mod log_queue;
mod logging;
mod schemas;
mod settings;
mod telemetry;
mod wire;

pub use wire::check;

use self::log_queue::LogQueue;
use crate::config::Loaded;
use crate::exit::CommandResult;
use crate::output::{Output, OutputFormat};
use crate::signals::Signals;

/// Serves until a signal comes, then lets handlers finish.
pub async fn run(loaded: Loaded) -> CommandResult {
    let log = logging::start(&loaded.config.log)?;
    let ended = serve(loaded, &log).await;
    log.flush();
    ended
}

async fn serve(Loaded { config, file }: Loaded, log: &LogQueue) -> CommandResult {
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
    log.say("ending: handlers may finish; a second signal ends at once");
    running.shut_down().await
}
