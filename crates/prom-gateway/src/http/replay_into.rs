//! `POST /replay`: the events of a topic once more, through a jq program, into another topic.
//!
//! Needs the rights to read the topic and to administer the target. Audited with the caller. Progress is stored with each step, so
//! asking again goes on where it ended.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use prom_auth::Action;
use prom_engine::TaskName;
use prom_jobs::{ReplayInto, ReplayPlan, ReplayProgress, UnfitEvent};
use prom_protocol::http::problem::ProblemDocument;
use prom_protocol::http::replay_into::{ReplayIntoCounts, ReplayIntoReport, ReplayIntoRequest};
use prom_types::Position;

use super::api::Api;
use super::caller::Caller;
use super::extract::JsonBody;
use super::job::{self, JobStep, SteppedJob};
use super::problem::{Problem, Problems};

#[utoipa::path(
    post,
    path = "/replay",
    operation_id = "replayInto",
    tag = "events",
    summary = "Replay a topic's events into another topic",
    description = "Each event goes under its own id, once, however often it is asked for. The answer comes in lines: `{progress}` now \
                   and then, and `{done}` at the end. A client that leaves stops it; asking again goes on.",
    request_body = ReplayIntoRequest,
    responses(
        (status = 200, description = "Progress and result, one per line", content((ReplayIntoReport = "application/x-ndjson"))),
        Problems,
    ),
)]
pub(super) async fn post(
    State(api): State<Arc<Api>>,
    caller: Caller,
    body: JsonBody<ReplayIntoRequest>,
) -> Result<Response, Problem> {
    caller.may_somewhere(Action::Admin)?;
    let ReplayIntoRequest { topic, to, transform, position, skip_unfit } = body.read(&api).await?;
    caller.may(Action::Subscribe, &topic)?;
    caller.may(Action::Admin, &to)?;
    if caller.mask(&api.hub, &topic).await?.is_some() {
        return Err(caller.forbidden(Action::Admin, &format!("{topic}, parts of which are hidden by its mask")));
    }
    let from = position.unwrap_or_default().position()?.unwrap_or(Position::Earliest);
    let place = api.replays.take(&api, &caller)?;
    let task = TaskName::one("replay", &topic);
    let unfit = if skip_unfit { UnfitEvent::Skip } else { UnfitEvent::Stop };
    let plan = ReplayPlan { topic, target: to, transform, from, unfit };
    let replay = ReplayInto::start(&caller.bus(&api.hub), plan).await?;
    Ok(job::answer(api.hub.clone(), caller, task, place, ReplayJob(replay)))
}

struct ReplayJob(ReplayInto);

impl SteppedJob for ReplayJob {
    type Report = ReplayIntoReport;

    async fn step(&mut self) -> Result<JobStep<ReplayIntoReport>, Problem> {
        let progress = self.0.step().await?;
        Ok(match progress.done {
            true => JobStep::Done(ReplayIntoReport::Done(counts(progress))),
            false => JobStep::Progress(ReplayIntoReport::Progress(counts(progress))),
        })
    }

    fn broken_off(problem: ProblemDocument) -> ReplayIntoReport {
        ReplayIntoReport::Error(Box::new(problem))
    }
}

fn counts(progress: &ReplayProgress) -> ReplayIntoCounts {
    ReplayIntoCounts {
        read: progress.read,
        sent: progress.sent,
        left_out: progress.left_out,
        skipped: progress.skipped,
        unreadable: progress.unreadable,
        left: progress.left,
    }
}
