//! Records observations from any thread, in time order.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;
use std::time::Instant;

use parking_lot::Mutex;

use super::{HistoryLine, Observation};

/// Shared by all observers of a run.
pub struct Recorder {
    begin: Instant,
    state: Mutex<State>,
}

struct State {
    file: BufWriter<File>,
    next_delivery: u64,
    failure: Option<io::Error>,
}

impl Recorder {
    /// Creates or truncates the file.
    pub fn create(path: &Path) -> io::Result<Self> {
        let file = BufWriter::new(File::create(path)?);
        Ok(Self { begin: Instant::now(), state: Mutex::new(State { file, next_delivery: 0, failure: None }) })
    }

    /// Since the run began.
    pub fn now_us(&self) -> u64 {
        u64::try_from(self.begin.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    pub fn note(&self, seen: Observation) {
        self.note_with(|_| seen);
    }

    /// For deliveries: numbers each one.
    pub fn note_delivery(&self, seen: impl FnOnce(u64) -> Observation) -> u64 {
        self.note_with(|state| {
            state.next_delivery += 1;
            seen(state.next_delivery)
        })
    }

    /// Ready when everything is in the file; returns the first write error.
    pub fn finish(&self) -> io::Result<()> {
        let mut state = self.state.lock();
        match state.failure.take() {
            Some(failure) => Err(failure),
            None => state.file.flush(),
        }
    }

    /// The time is taken under the file's lock, so that lines and times have the same order.
    fn note_with(&self, seen: impl FnOnce(&mut State) -> Observation) -> u64 {
        let mut state = self.state.lock();
        let seen = seen(&mut state);
        let line = HistoryLine { at_us: self.now_us(), seen };
        let written = serde_json::to_writer(&mut state.file, &line).map_err(io::Error::from);
        if let Err(error) = written.and_then(|()| state.file.write_all(b"\n")) {
            state.failure.get_or_insert(error);
        }
        state.next_delivery
    }
}
