//! What became of an import, told line by line.
//!
//! The queue has room for everything that can be told, so telling never waits: a client that reads
//! nothing before it has sent everything is still served.

use bytes::Bytes;
use futures::Stream;
use prom_protocol::http::import::ImportReport;
use tokio::sync::mpsc;

use crate::http::limits::{IMPORT_ERRORS, IMPORT_REPORT_EVERY};
use crate::http::problem::Problem;

/// Besides the errors: the end, and some progress.
const ROOM_FOR_MORE: usize = 64;

pub(super) struct Report {
    lines: mpsc::Sender<Bytes>,
    imported: u64,
    duplicates: u64,
    failed: u64,
    moved: u64,
    reported: u64,
}

pub(super) fn start() -> (Report, impl Stream<Item = Result<Bytes, std::convert::Infallible>>) {
    let (lines, waiting) = mpsc::channel(IMPORT_ERRORS + ROOM_FOR_MORE);
    let report = Report { lines, imported: 0, duplicates: 0, failed: 0, moved: 0, reported: 0 };
    let answer =
        futures::stream::unfold(waiting, |mut waiting| async move { Some((Ok(waiting.recv().await?), waiting)) });
    (report, answer)
}

impl Report {
    pub fn stored(&mut self) {
        self.imported += 1;
        self.progress();
    }

    /// As [`Report::stored`], at another offset or in another partition than where it was.
    pub fn stored_elsewhere(&mut self) {
        self.moved += 1;
        self.stored();
    }

    pub fn duplicate(&mut self) {
        self.duplicates += 1;
        self.progress();
    }

    pub fn bad(&mut self, line: u64, problem: &Problem) {
        self.failed += 1;
        if self.failed <= IMPORT_ERRORS as u64 {
            self.tell(&ImportReport::Failed { line, error: Box::new(problem.document().clone()) });
        }
    }

    /// Only where there is room left beside the errors and the end.
    fn progress(&mut self) {
        let done = self.imported + self.duplicates;
        if done - self.reported >= IMPORT_REPORT_EVERY {
            self.reported = done;
            let to_come = IMPORT_ERRORS.saturating_sub(usize::try_from(self.failed).unwrap_or(IMPORT_ERRORS));
            if self.lines.capacity() > to_come + 2 {
                self.tell(&ImportReport::Progress { progress: done });
            }
        }
    }

    pub fn end(self) {
        let Self { imported, duplicates, failed, moved, .. } = self;
        self.tell(&ImportReport::Done { imported, duplicates, failed, moved });
    }

    /// These lines were good and came too late.
    pub fn not_imported(&mut self, lines: usize) {
        self.failed += lines as u64;
    }

    /// The import ended in the middle: what came before is imported.
    pub fn broken_off(self, line: u64, problem: &Problem) {
        self.tell(&ImportReport::Failed { line, error: Box::new(problem.document().clone()) });
        self.end();
    }

    /// A client that has gone is told nothing.
    fn tell(&self, report: &ImportReport) {
        if let Ok(mut line) = serde_json::to_vec(report) {
            line.push(b'\n');
            let _client_left = self.lines.try_send(Bytes::from(line));
        }
    }
}
