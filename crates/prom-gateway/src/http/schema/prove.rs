//! `POST /topics/{topic}/schema/prove`: what a candidate would do to the stored events. Stores nothing.
//!
//! Needs the right to subscribe: what fails is told with pieces of payloads.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use prom_auth::Action;
use prom_engine::{Bus, RegistrationVerdict, TaskName};
use prom_jobs::{Prove, ProveFailure, ProveProgress};
use prom_protocol::http::problem::ProblemDocument;
use prom_protocol::http::prove::{ProveCounts, ProveFailureView, ProveReport, ProveResult};
use prom_protocol::http::schema::RegisterSchema;
use prom_types::{GroupName, TopicName};

use super::{candidate, view};
use crate::http::api::Api;
use crate::http::caller::Caller;
use crate::http::cursors::reads;
use crate::http::extract::{JsonBody, TopicInPath};
use crate::http::job::{self, JobStep, SteppedJob};
use crate::http::problem::{Problem, Problems};

#[utoipa::path(
    post,
    path = "/topics/{topic}/schema/prove",
    operation_id = "proveSchema",
    tag = "schemas",
    summary = "Prove a schema on the stored events",
    description = "Runs every stored event through the upcasters and the candidate, which is not registered. The answer comes \
                   in lines: `{progress}` now and then, and at the end `{done}` with the number of events that would fail, \
                   the first of them, and the groups that read the topic. A client that leaves stops it.",
    params(("topic" = String, Path)),
    request_body = RegisterSchema,
    responses(
        (status = 200, description = "Progress and result, one per line", content((ProveReport = "application/x-ndjson"))),
        Problems,
    ),
)]
pub(in crate::http) async fn post(
    State(api): State<Arc<Api>>,
    caller: Caller,
    TopicInPath(topic): TopicInPath,
    body: JsonBody<RegisterSchema>,
) -> Result<Response, Problem> {
    caller.may(Action::Subscribe, &topic)?;
    if caller.mask(&api.hub, &topic).await?.is_some() {
        // What a schema accepts tells what is there.
        return Err(caller.forbidden(Action::Admin, &format!("{topic}, parts of which are hidden by its mask")));
    }
    let (body, _held) = body.read_held(&api).await?;
    let candidate = candidate(&caller, body)?;
    let place = api.proofs.take(&api, &caller)?;
    let (prove, verdict) = Prove::start(&api.hub.bus, &topic, &candidate).await?;
    let (groups, hidden) = readers(&api.hub.bus, &caller, &topic).await?;
    let task = TaskName::one("proof", topic);
    Ok(job::answer(api.hub.clone(), caller, task, place, Proof { prove, verdict, groups, hidden }))
}

/// The groups that read a topic, and how many more there are that the caller may not see.
async fn readers(bus: &Bus, caller: &Caller, topic: &TopicName) -> Result<(Vec<GroupName>, u64), Problem> {
    let groups = bus.groups().await?;
    let mut readers: Vec<GroupName> =
        groups.into_iter().filter(|group| reads(group, topic)).map(|group| group.name).collect();
    let all = readers.len();
    readers.retain(|group| caller.may_in_group(Action::Ops, topic, group).is_ok());
    let hidden = all - readers.len();
    Ok((readers, hidden as u64))
}

struct Proof {
    prove: Prove,
    verdict: RegistrationVerdict,
    groups: Vec<GroupName>,
    hidden: u64,
}

impl SteppedJob for Proof {
    type Report = ProveReport;

    async fn step(&mut self) -> Result<JobStep<ProveReport>, Problem> {
        let ProveProgress { scanned, left, failed, done, .. } = *self.prove.step().await?;
        if done {
            return Ok(JobStep::Done(ProveReport::Done(Box::new(self.result()))));
        }
        Ok(JobStep::Progress(ProveReport::Progress(ProveCounts { scanned, left, failed })))
    }

    fn broken_off(problem: ProblemDocument) -> ProveReport {
        ProveReport::Error(Box::new(problem))
    }
}

impl Proof {
    fn result(&self) -> ProveResult {
        let ProveProgress { scanned, failed, failures, unreadable, .. } = self.prove.progress();
        ProveResult {
            version: self.prove.version(),
            scanned: *scanned,
            failed: *failed,
            failures: failures.iter().map(failure).collect(),
            unreadable: *unreadable,
            groups: self.groups.clone(),
            hidden: self.hidden,
            violations: view::violations(self.verdict.violations.clone()),
            notes: self.verdict.notes.clone(),
        }
    }
}

fn failure(failure: &ProveFailure) -> ProveFailureView {
    ProveFailureView {
        id: failure.id.to_string(),
        partition: failure.partition,
        offset: failure.offset,
        reason: failure.reason.clone(),
    }
}
