//! `POST /import`: whole events, one per line, as an export wrote them.
//!
//! Promises: ids are kept and stored once, however often a file is imported, and not again where the topic still has the
//! event that was exported; for administrators of the topic they keep their places too, where these are free; memory
//! stays flat whatever the file's size; a bad line stops nothing and is described in the answer; where rates
//! are limited the import is slowed down to them instead of refused; nothing is stored for a token
//! that has expired meanwhile.

mod batch;
mod line;
mod lines;
mod origin;
mod report;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use prom_auth::Action;
use prom_engine::{TaskName, TaskPanicked};
use prom_protocol::http::import::{ImportQuery, ImportReport};
use prom_types::TopicName;

use self::batch::ImportBatch;
use self::lines::{Line, Lines};
use self::report::Report;
use super::api::Api;
use super::caller::Caller;
use super::extract::Params;
use super::limits::IMPORT_BATCH_BYTES;
use super::problem::{Code, Problem, Problems, PublishProblems};
use crate::Hub;

#[utoipa::path(
    post,
    path = "/import",
    operation_id = "import",
    tag = "events",
    summary = "Store whole events, one per line",
    description = "Id, time, key, headers, session, tags and causes are kept; the partition too where the topic has it, \
                   and with the right `admin` also offset and `stored_ts`, unless the place is taken: then the event \
                   comes behind the others. The answer comes in lines: `{line, error}` for bad lines, `{progress}` now \
                   and then, and at the end `{imported, duplicates, failed, moved}`, where `moved` counts imported \
                   events that are not at the place they had.",
    params(ImportQuery),
    request_body(content((String = "application/x-ndjson")), description = "One event per line"),
    responses(
        (status = 200, description = "Bad lines, progress and counts, one per line", content((ImportReport = "application/x-ndjson"))),
        Problems,
        PublishProblems,
    ),
)]
pub(super) async fn import(
    State(api): State<Arc<Api>>,
    caller: Caller,
    Params(ImportQuery { topic }): Params<ImportQuery>,
    body: Body,
) -> Result<Response, Problem> {
    match &topic {
        Some(topic) => caller.may(Action::Publish, topic)?,
        None => caller.may_somewhere(Action::Publish)?,
    }
    let lines = Lines::begin(body, api.budget.take(caller.holder(), IMPORT_BATCH_BYTES)?).await?;
    let (report, answer) = report::start();
    tokio::spawn(run(api, caller, topic, lines, report));
    Ok(([(CONTENT_TYPE, "application/x-ndjson")], Body::from_stream(answer)).into_response())
}

/// The import cannot go on from this line.
struct BrokenOff {
    line: u64,
    problem: Problem,
}

/// Runs beside the answer, so that errors and progress are told while lines still come.
async fn run(api: Arc<Api>, caller: Caller, topic: Option<TopicName>, mut lines: Lines, mut report: Report) {
    let work = store_all(&api.hub, &caller, topic.as_ref(), &mut lines, &mut report);
    let stored = api.hub.failures().watch(&TaskName::only("import"), work).await;
    let failed = |panicked: TaskPanicked| {
        Err(BrokenOff { line: lines.number(), problem: Problem::new(Code::Internal, panicked.reason) })
    };
    match stored.unwrap_or_else(failed) {
        Ok(()) => report.end(),
        Err(BrokenOff { line, problem }) => {
            report.broken_off(line, &problem);
            lines.linger().await;
        }
    }
}

async fn store_all(
    hub: &Hub,
    caller: &Caller,
    topic: Option<&TopicName>,
    lines: &mut Lines,
    report: &mut Report,
) -> Result<(), BrokenOff> {
    let mut batch = ImportBatch::default();
    loop {
        match lines.next().await {
            Ok(Some(Line::Whole { number, text })) => match line::read(&text, topic) {
                Ok(line) => batch.add(number, line, text.len()),
                Err(problem) => report.bad(number, &problem),
            },
            Ok(Some(Line::TooLong { number, problem })) => report.bad(number, &problem),
            Ok(None) => return batch.publish(hub, caller, report).await,
            Err(problem) => {
                // What came before the body broke off is still imported.
                batch.publish(hub, caller, report).await?;
                return Err(BrokenOff { line: lines.number(), problem });
            }
        }
        if batch.is_full() {
            batch.publish(hub, caller, report).await?;
        }
    }
}
