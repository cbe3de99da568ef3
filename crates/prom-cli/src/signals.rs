//! Signals: the first asks to end, the second does not ask.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit::Failure;
use crate::output::note;

/// As shells report a process that SIGINT ended.
const ENDED_AT_ONCE: i32 = 130;

pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// From here on no signal ends the process by itself.
    pub fn listen() -> Result<Self, Failure> {
        let failed = |error: std::io::Error| Failure::no(format!("cannot listen for signals: {error}"));
        Ok(Self {
            interrupt: signal(SignalKind::interrupt()).map_err(failed)?,
            terminate: signal(SignalKind::terminate()).map_err(failed)?,
        })
    }

    /// Waits for the next one.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }

    /// Ends the process when another one comes, whatever else is under way.
    pub fn end_at_the_next(mut self) {
        tokio::spawn(async move {
            self.next().await;
            note("ended at once; no acknowledged event is lost");
            std::process::exit(ENDED_AT_ONCE);
        });
    }
}
