//! `POST /topics/{topic}/cutover`: a topic's history as its latest version has it, in another topic, as documents or as a
//! snapshot.
//!
//! Needs the right to administer the topic and the target; a collection concerns the hub as a whole. Audited with the caller.
//! Progress is stored with each step, so asking again goes on where it ended.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use prom_auth::Action;
use prom_engine::TaskName;
use prom_jobs::{
    CollectionName, Cutover, CutoverPlace, CutoverPlan, CutoverProgress, CutoverTarget, UnfitEvent, snapshot_topic,
};
use prom_protocol::http::cutover::{CutoverCounts, CutoverReport, CutoverRequest, CutoverResult};
use prom_protocol::http::problem::ProblemDocument;

use super::api::Api;
use super::caller::Caller;
use super::extract::{JsonBody, TopicInPath};
use super::job::{self, JobStep, SteppedJob};
use super::problem::{Problem, Problems};
use super::snapshot;

#[utoipa::path(
    post,
    path = "/topics/{topic}/cutover",
    operation_id = "cutover",
    tag = "schemas",
    summary = "Copy a topic's history in its latest schema version",
    description = "Every stored event goes through the upcasters into `<topic>.v<N>`, another topic, a collection with the \
                   latest event of each key, or a snapshot of the same, `<topic>.snapshot.v<N>`. The answer comes in lines: `{progress}` now and then, and `{done}` at the end. \
                   A client that leaves stops it; asking again goes on, and doubles nothing.",
    params(("topic" = String, Path)),
    request_body = CutoverRequest,
    responses(
        (status = 200, description = "Progress and result, one per line", content((CutoverReport = "application/x-ndjson"))),
        Problems,
    ),
)]
pub(super) async fn post(
    State(api): State<Arc<Api>>,
    caller: Caller,
    TopicInPath(topic): TopicInPath,
    body: JsonBody<CutoverRequest>,
) -> Result<Response, Problem> {
    caller.may(Action::Admin, &topic)?;
    // Where events go can be chosen, and reasons quote them: what is read here must be readable.
    caller.may(Action::Subscribe, &topic)?;
    let CutoverRequest { to, to_collection, to_snapshot, fields, skip_unfit } = body.read(&api).await?;
    if to_collection.is_none() && !fields.is_empty() {
        return Err(Problem::field("fields", "only a collection has declared fields; name one in to_collection"));
    }
    let target = match (to, to_collection, to_snapshot) {
        (None, None, false) => CutoverTarget::OfItsVersion,
        (Some(target), None, false) => CutoverTarget::Topic(target),
        (None, Some(name), false) => CutoverTarget::Collection(CollectionName::parse(&name)?),
        (None, None, true) => CutoverTarget::Snapshot,
        (_, None, true) => return Err(Problem::field("to_snapshot", "give one target, not two")),
        (_, Some(_), _) => return Err(Problem::field("to_collection", "give one target, not two")),
    };
    let bus = caller.bus(&api.hub);
    let plan = CutoverPlan::make(&bus, &topic, target).await?.fields(fields);
    match &plan.place {
        CutoverPlace::Topic(target) => caller.may(Action::Admin, target)?,
        CutoverPlace::Collection(_) => caller.may_everywhere(Action::Admin)?,
        CutoverPlace::Snapshot(target) => {
            caller.may(Action::Admin, target)?;
            // It is made of a snapshot of what is stored, which may have to be taken.
            caller.may(Action::Admin, &snapshot_topic(&topic)?)?;
        }
    }
    let place = match &plan.place {
        CutoverPlace::Topic(_) | CutoverPlace::Collection(_) => api.cutovers.take(&api, &caller)?,
        CutoverPlace::Snapshot(_) => api.snapshots.take(&api, &caller)?,
    };
    let unfit = if skip_unfit { UnfitEvent::Skip } else { UnfitEvent::Stop };
    let cutover = Cutover::start(&bus, plan, unfit).await?;
    Ok(job::answer(api.hub.clone(), caller, TaskName::one("cutover", topic), place, CutoverJob { cutover }))
}

struct CutoverJob {
    cutover: Cutover,
}

impl SteppedJob for CutoverJob {
    type Report = CutoverReport;

    async fn step(&mut self) -> Result<JobStep<CutoverReport>, Problem> {
        let progress = self.cutover.step().await?;
        let (counts, is_done, adds_up) = (counts(progress), progress.done, progress.adds_up());
        if !is_done {
            return Ok(JobStep::Progress(CutoverReport::Progress(counts)));
        }
        let CutoverPlan { topic, version, place, .. } = self.cutover.plan().clone();
        let snapshot = match (&place, self.cutover.progress().snapshot()) {
            (CutoverPlace::Snapshot(target), Some(made)) => Some(snapshot::view(target, made)),
            _ => None,
        };
        let (to, read_before) = (place.to_string(), self.cutover.read_before());
        let result = CutoverResult { topic, to, version, counts, read_before, adds_up, snapshot };
        Ok(JobStep::Done(CutoverReport::Done(result)))
    }

    fn broken_off(problem: ProblemDocument) -> CutoverReport {
        CutoverReport::Error(Box::new(problem))
    }
}

fn counts(progress: &CutoverProgress) -> CutoverCounts {
    CutoverCounts {
        read: progress.read,
        written: progress.written,
        already: progress.already,
        skipped: progress.skipped,
        without_key: progress.without_key,
        unreadable: progress.unreadable,
        left: progress.left,
    }
}
