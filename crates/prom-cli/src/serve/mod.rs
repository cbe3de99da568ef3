//! Running a hub: logging, wiring, the greeting, signals, the end.

mod feeds;
mod greeting;
mod log_queue;
mod logging;
mod outbox;
mod projectors;
mod schemas;
mod settings;
mod telemetry;
mod wire;

pub use wire::check;

use futures::future::BoxFuture;

use self::log_queue::LogQueue;
use crate::config::Loaded;
use crate::exit::CommandResult;
use crate::output::{Output, OutputFormat};
use crate::signals::Signals;

/// What goes on beside the hub for as long as it serves.
pub struct Beside {
    /// Paths that are worth a look.
    pub pages: Vec<String>,
    /// Given the address of the hub.
    pub work: Box<dyn FnOnce(String) -> BoxFuture<'static, ()> + Send>,
}

/// Serves until a signal comes, then lets handlers finish.
pub async fn run(loaded: Loaded) -> CommandResult {
    run_with(loaded, None).await
}

/// As [`run`], with something beside it.
pub async fn run_beside(loaded: Loaded, beside: Beside) -> CommandResult {
    run_with(loaded, Some(beside)).await
}

async fn run_with(loaded: Loaded, beside: Option<Beside>) -> CommandResult {
    let log = logging::start(&loaded.config.log)?;
    let ended = serve(loaded, beside, &log).await;
    log.flush();
    ended
}

async fn serve(Loaded { config, file }: Loaded, beside: Option<Beside>, log: &LogQueue) -> CommandResult {
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
    let beside = beside.map(|Beside { pages, work }| {
        let url = greeting::address(&config, &running.at);
        let lines: Vec<String> = pages.iter().map(|page| format!("  {url}/{page}")).collect();
        drop(output.line(format!("{}\n{}", output.style.bold("what to look at"), lines.join("\n"))));
        tokio::spawn(work(url))
    });
    signals.next().await;
    if let Some(beside) = beside {
        beside.abort();
    }
    signals.end_at_the_next();
    log.say("ending: handlers may finish; a second signal ends at once");
    running.shut_down().await
}
