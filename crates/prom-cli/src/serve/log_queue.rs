//! The log's way out: lines wait in a bounded queue for a thread that writes them to standard error.
//!
//! Promises: logging fails nothing and waits for nothing. Where standard error is closed, full or read too slowly, lines
//! are lost; how many were is logged once it takes lines again.

use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use tracing_subscriber::fmt::MakeWriter;

/// Lines that wait. At the level of a working hub that is minutes; when all is traced it is a moment.
const LINES: usize = 4096;
/// How long the end waits for lines that standard error does not take.
const PATIENCE: Duration = Duration::from_secs(1);

/// Takes lines without waiting. Clones are the same queue.
#[derive(Clone)]
pub struct LogQueue {
    lines: SyncSender<Entry>,
    lost: Arc<AtomicU64>,
}

enum Entry {
    Line(Vec<u8>),
    /// Answered when all before it is written.
    Flush(SyncSender<()>),
}

impl LogQueue {
    /// Starts the thread that writes. It ends with the process.
    pub fn start() -> io::Result<Self> {
        let (lines, waiting) = sync_channel(LINES);
        let lost = Arc::new(AtomicU64::new(0));
        let counted = lost.clone();
        std::thread::Builder::new().name("prom-log".to_owned()).spawn(move || write_all(&waiting, &counted))?;
        Ok(Self { lines, lost })
    }

    /// A line for people, whatever the level and the form of the log.
    pub fn say(&self, line: &str) {
        self.put(format!("{line}\n").into_bytes());
    }

    fn put(&self, line: Vec<u8>) {
        if self.lines.try_send(Entry::Line(line)).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until what was logged so far is written, but not for long.
    pub fn flush(&self) {
        let (done, written) = sync_channel(1);
        if self.lines.try_send(Entry::Flush(done)).is_ok() {
            // Standard error is stuck, or all is written: either way this is the end.
            let _stuck = written.recv_timeout(PATIENCE);
        }
    }
}

fn write_all(waiting: &Receiver<Entry>, lost: &AtomicU64) {
    for entry in waiting {
        match entry {
            Entry::Line(line) => match io::stderr().write_all(&line) {
                Ok(()) => match lost.swap(0, Ordering::Relaxed) {
                    0 => {}
                    lines => tracing::warn!(lines, "lines of the log were lost: standard error did not take them"),
                },
                Err(_) => {
                    lost.fetch_add(1, Ordering::Relaxed);
                }
            },
            // The one who asked may have lost patience.
            Entry::Flush(done) => drop(done.try_send(())),
        }
    }
}

/// One call is one line, as the formatter makes them.
impl io::Write for LogQueue {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.put(line.to_vec());
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for LogQueue {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}
