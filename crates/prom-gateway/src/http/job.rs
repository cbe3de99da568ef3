//! Long work inside a request: a place among few, steps, and a line of JSON about each.
//!
//! ```text
//!   request ─▶ rights ─▶ a place ─▶ step ─▶ line ─▶ step ─▶ line … ─▶ the last line
//! ```
//!
//! Promises: the work stops between two steps when its client leaves, its token expires or the hub shuts down, and its place
//! is free then. It never runs ahead of a client that does not read. The last line says how it ended; without one it was cut off.

use std::sync::Arc;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use prom_engine::TaskName;
use prom_protocol::http::problem::ProblemDocument;
use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::api::Api;
use super::budget::BodyShare;
use super::caller::Caller;
use super::limits::{JOB_HELD_BYTES, JOB_LINES_WAITING, JOB_LOOKS_AFTER, JOB_RETRY_AFTER};
use super::problem::{Code, Problem};
use crate::Hub;

/// How many jobs of a kind run at once.
pub(crate) struct JobPlaces {
    what: &'static str,
    at_once: usize,
    free: Arc<Semaphore>,
}

/// A job that may run. Dropping it makes room for another.
pub(super) struct JobPlace {
    _place: OwnedSemaphorePermit,
    _memory: BodyShare,
}

/// Work that goes step by step and tells about each.
pub(super) trait SteppedJob: Send + 'static {
    type Report: Serialize + Send;

    fn step(&mut self) -> impl Future<Output = Result<JobStep<Self::Report>, Problem>> + Send;

    /// The last line where it cannot go on.
    fn broken_off(problem: ProblemDocument) -> Self::Report;
}

pub(super) enum JobStep<Report> {
    Progress(Report),
    Done(Report),
}

impl JobPlaces {
    pub fn new(what: &'static str, at_once: usize) -> Self {
        Self { what, at_once, free: Arc::new(Semaphore::new(at_once)) }
    }

    pub fn take(&self, api: &Api, caller: &Caller) -> Result<JobPlace, Problem> {
        let taken = || {
            let Self { what, at_once, .. } = self;
            let detail = format!("this hub runs at most {at_once} {what} at once, and is busy; try again later");
            let millis = u64::try_from(JOB_RETRY_AFTER.as_millis()).unwrap_or(u64::MAX);
            Problem::new(Code::Overloaded, detail).retry_after(millis)
        };
        let place = self.free.clone().try_acquire_owned().map_err(|_| taken())?;
        Ok(JobPlace { _place: place, _memory: api.budget.take(caller.holder(), JOB_HELD_BYTES)? })
    }
}

/// Runs the job beside its answer.
pub(super) fn answer<J: SteppedJob>(
    hub: Arc<Hub>,
    caller: Caller,
    task: TaskName,
    place: JobPlace,
    mut job: J,
) -> Response {
    let (lines, waiting) = mpsc::channel(JOB_LINES_WAITING);
    tokio::spawn(async move {
        let _held_to_the_end = place;
        let failures = hub.failures().clone();
        let ran = failures.watch(&task, run(&hub, &caller, &mut job, &lines)).await;
        let ended = ran.unwrap_or_else(|panicked| Err(Problem::new(Code::Internal, panicked.reason)));
        if let Err(problem) = ended {
            let _client_left = lines.send(line(&J::broken_off(problem.into_document()))).await;
        }
    });
    let lines = futures::stream::unfold(waiting, |mut waiting| async move {
        let line: Bytes = waiting.recv().await?;
        Some((Ok::<_, std::convert::Infallible>(line), waiting))
    });
    ([(CONTENT_TYPE, "application/x-ndjson")], Body::from_stream(lines)).into_response()
}

async fn run<J: SteppedJob>(
    hub: &Hub,
    caller: &Caller,
    job: &mut J,
    lines: &mpsc::Sender<Bytes>,
) -> Result<(), Problem> {
    loop {
        // Room first: the work stays within reach of its reader, and ends with it.
        let Ok(room) = lines.reserve().await else {
            return Ok(());
        };
        caller.is_still_let_in(hub)?;
        if *hub.stopping.borrow() || !hub.bus.is_open() {
            return Err(prom_engine::Error::Closed.into());
        }
        match step(hub, caller, job, lines).await? {
            None => return Ok(()),
            Some(JobStep::Progress(report)) => room.send(line(&report)),
            Some(JobStep::Done(report)) => {
                room.send(line(&report));
                return Ok(());
            }
        }
    }
}

/// One step; `None` when the client left. A step may take long, so its end is not waited for: what it has handed to the store is
/// stored, and what it left half done is told by the progress that is stored with it.
async fn step<J: SteppedJob>(
    hub: &Hub,
    caller: &Caller,
    job: &mut J,
    lines: &mpsc::Sender<Bytes>,
) -> Result<Option<JobStep<J::Report>>, Problem> {
    let step = job.step();
    tokio::pin!(step);
    loop {
        tokio::select! {
            biased;
            stepped = &mut step => return stepped.map(Some),
            () = lines.closed() => return Ok(None),
            () = tokio::time::sleep(JOB_LOOKS_AFTER) => {
                caller.is_still_let_in(hub)?;
                if *hub.stopping.borrow() || !hub.bus.is_open() {
                    return Err(prom_engine::Error::Closed.into());
                }
            }
        }
    }
}

fn line(report: &impl Serialize) -> Bytes {
    // Reports are plain structures, which JSON can always hold.
    let mut line = serde_json::to_vec(report).unwrap_or_default();
    line.push(b'\n');
    line.into()
}
