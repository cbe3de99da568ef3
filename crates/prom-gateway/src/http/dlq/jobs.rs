//! `/dlq/jobs`: how replays and purges are doing; pausing, resuming and cancelling them.
//!
//! Looking needs the right to operate the job's topic, changing the one to administer it.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use prom_auth::Action;
use prom_jobs::{JobError, LetterJob, LetterWork};
use prom_protocol::http::dlq::{LetterJobKind, LetterJobList, LetterJobView, LetterJobsQuery, LetterOutcomes};
use prom_types::{EventId, TopicName};

use super::{readable, state_view};
use crate::http::api::Api;
use crate::http::caller::Caller;
use crate::http::extract::Params;
use crate::http::limits::{LETTERS, LETTERS_MOST};
use crate::http::problem::{Problem, Problems};

#[utoipa::path(
    get,
    path = "/dlq/jobs",
    operation_id = "listLetterJobs",
    tag = "dead letters",
    summary = "List replays and purges, the newest first",
    params(LetterJobsQuery),
    responses((status = 200, description = "The jobs", body = LetterJobList), Problems),
)]
pub(in crate::http) async fn list(
    State(api): State<Arc<Api>>,
    caller: Caller,
    Params(LetterJobsQuery { limit, next }): Params<LetterJobsQuery>,
) -> Result<Json<LetterJobList>, Problem> {
    caller.may_somewhere(Action::Ops)?;
    let limit = limit.unwrap_or(LETTERS);
    if !(1..=LETTERS_MOST).contains(&limit) {
        return Err(Problem::field("limit", format_args!("must be between 1 and {LETTERS_MOST}")));
    }
    let mut jobs = api.letters.jobs(next, limit).await?;
    let next = jobs.last().filter(|_| jobs.len() == limit).map(|last| last.id);
    let all = jobs.len();
    jobs.retain(|job| caller.may(Action::Ops, &job.order.topic).is_ok());
    let hidden = jobs.len() < all;
    Ok(Json(LetterJobList { jobs: jobs.into_iter().map(|job| view(&caller, job)).collect(), next, hidden }))
}

#[utoipa::path(
    get,
    path = "/dlq/jobs/{job}",
    operation_id = "getLetterJob",
    tag = "dead letters",
    summary = "Get the progress of a replay or a purge",
    params(("job" = String, Path)),
    responses((status = 200, description = "The job", body = LetterJobView), Problems),
)]
pub(in crate::http) async fn get(
    State(api): State<Arc<Api>>,
    caller: Caller,
    Path(job): Path<String>,
) -> Result<Json<LetterJobView>, Problem> {
    let id = known(&api, &caller, Action::Ops, &job).await?;
    Ok(Json(view(&caller, api.letters.look_at(id).await?)))
}

#[utoipa::path(
    post,
    path = "/dlq/jobs/{job}/pause",
    operation_id = "pauseLetterJob",
    tag = "dead letters",
    summary = "Pause a replay or a purge",
    params(("job" = String, Path)),
    responses((status = 200, description = "The job", body = LetterJobView), Problems),
)]
pub(in crate::http) async fn pause(
    State(api): State<Arc<Api>>,
    caller: Caller,
    Path(job): Path<String>,
) -> Result<Json<LetterJobView>, Problem> {
    let id = known(&api, &caller, Action::Admin, &job).await?;
    Ok(Json(view(&caller, api.letters.pause(id, caller.subject()).await?)))
}

#[utoipa::path(
    post,
    path = "/dlq/jobs/{job}/resume",
    operation_id = "resumeLetterJob",
    tag = "dead letters",
    summary = "Resume a replay or a purge that was paused or has stopped",
    description = "After a stop because of failures, the rest is sent regardless of failures.",
    params(("job" = String, Path)),
    responses((status = 200, description = "The job", body = LetterJobView), Problems),
)]
pub(in crate::http) async fn resume(
    State(api): State<Arc<Api>>,
    caller: Caller,
    Path(job): Path<String>,
) -> Result<Json<LetterJobView>, Problem> {
    let id = known(&api, &caller, Action::Admin, &job).await?;
    Ok(Json(view(&caller, api.letters.resume(id, caller.subject()).await?)))
}

#[utoipa::path(
    post,
    path = "/dlq/jobs/{job}/cancel",
    operation_id = "cancelLetterJob",
    tag = "dead letters",
    summary = "Cancel a replay or a purge",
    description = "What was sent stays sent, what was purged stays purged.",
    params(("job" = String, Path)),
    responses((status = 200, description = "The job", body = LetterJobView), Problems),
)]
pub(in crate::http) async fn cancel(
    State(api): State<Arc<Api>>,
    caller: Caller,
    Path(job): Path<String>,
) -> Result<Json<LetterJobView>, Problem> {
    let id = known(&api, &caller, Action::Admin, &job).await?;
    Ok(Json(view(&caller, api.letters.cancel(id, caller.subject()).await?)))
}

/// A job that the caller has this right to. Others are not told whether there is one.
async fn known(api: &Api, caller: &Caller, action: Action, job: &str) -> Result<EventId, Problem> {
    caller.may_somewhere(action)?;
    let id = EventId::parse(job).map_err(|_| JobError::UnknownLetterJob { id: job.chars().take(64).collect() })?;
    let found = api.letters.job(id).await?;
    if caller.may(action, &found.order.topic).is_err() {
        let is_seen = caller.may(Action::Ops, &found.order.topic).is_ok();
        return Err(match is_seen {
            true => caller.forbidden(action, &found.order.topic),
            false => JobError::UnknownLetterJob { id: id.to_string() }.into(),
        });
    }
    Ok(id)
}

fn view(caller: &Caller, job: LetterJob) -> LetterJobView {
    let kind = match job.order.work {
        LetterWork::ToTopic => LetterJobKind::Replay,
        LetterWork::ToGroup => LetterJobKind::GiveBack,
        LetterWork::Purge => LetterJobKind::Purge,
    };
    let outcome = LetterOutcomes { acked: job.acked, waiting: job.waiting(), dead_again: job.dead };
    LetterJobView {
        job: job.id,
        kind,
        left: job.left(),
        state: state_view(job.state),
        reason: job.reason.map(|reason| told(caller, &job.order.topic, reason)),
        created_ts: job.created_ts,
        updated_ts: job.updated_ts,
        matched: job.matched,
        replayed: job.replayed,
        skipped: job.skipped,
        outcome,
        topic: job.order.topic,
        by: job.order.by,
    }
}

/// The reason that a job stopped for. One about a letter may quote it.
fn told(caller: &Caller, topic: &TopicName, reason: String) -> String {
    let is_about_a_letter = reason.starts_with("letter ");
    if is_about_a_letter && (readable(caller, topic).is_err() || !caller.sees_whole(topic)) {
        return "the event of a letter does not fit; callers who may administer the topic and read its letters see why"
            .to_owned();
    }
    reason
}
