//! `GET /topics/{topic}/snapshots` lists snapshots, `POST /topics/{topic}/snapshot` makes one now.
//!
//! Listing needs the right to read the topic, making one the right to administer it. A client that leaves stops nothing: the hub
//! finishes what was begun.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use prom_auth::Action;
use prom_engine::{TaskName, TopicOffsets};
use prom_jobs::{Snapshot, SnapshotBuild, SnapshotStep, snapshot_topic, snapshots};
use prom_protocol::http::problem::ProblemDocument;
use prom_protocol::http::snapshot::{SnapshotList, SnapshotPartitionView, SnapshotReport, SnapshotView};
use prom_types::TopicName;

use super::api::Api;
use super::caller::Caller;
use super::extract::TopicInPath;
use super::job::{self, JobStep, SteppedJob};
use super::limits::SNAPSHOT_ELSEWHERE_AFTER;
use super::problem::{Problem, Problems};

#[utoipa::path(
    get,
    path = "/topics/{topic}/snapshots",
    operation_id = "listSnapshots",
    tag = "topics",
    summary = "List the complete snapshots of a topic",
    description = "A cold start replays `snapshot_topic` from `snapshot_next` to the markers of the newest one, then the topic from `events_next`.",
    params(("topic" = String, Path)),
    responses((status = 200, description = "Oldest first", body = SnapshotList), Problems),
)]
pub(super) async fn list(
    State(api): State<Arc<Api>>,
    caller: Caller,
    TopicInPath(topic): TopicInPath,
) -> Result<Json<SnapshotList>, Problem> {
    caller.may(Action::Subscribe, &topic)?;
    // There is none of an unknown topic, and that is told.
    api.hub.bus.topic_settings(&topic).await?;
    let (found, place) = (snapshots(&api.hub.bus, &topic).await?, snapshot_topic(&topic)?);
    let snapshots = found.iter().map(|snapshot| view(&place, snapshot)).collect();
    Ok(Json(SnapshotList { topic, snapshots }))
}

#[utoipa::path(
    post,
    path = "/topics/{topic}/snapshot",
    operation_id = "takeSnapshot",
    tag = "topics",
    summary = "Take a snapshot of a topic's state",
    description = "One event for each live key goes to `<topic>.snapshot`, then a marker. The answer comes in lines: `{progress}` now \
                   and then, and `{done}` at the end. Where nothing was published since the last snapshot, that one is the answer.",
    params(("topic" = String, Path)),
    responses(
        (status = 200, description = "Progress and result, one per line", content((SnapshotReport = "application/x-ndjson"))),
        Problems,
    ),
)]
pub(super) async fn post(
    State(api): State<Arc<Api>>,
    caller: Caller,
    TopicInPath(topic): TopicInPath,
) -> Result<Response, Problem> {
    caller.may(Action::Admin, &topic)?;
    caller.may(Action::Admin, &snapshot_topic(&topic)?)?;
    let place = api.snapshots.take(&api, &caller)?;
    let build = SnapshotBuild::start(&caller.bus(&api.hub), &topic).await?;
    let task = TaskName::one("snapshot", &topic);
    Ok(job::answer(api.hub.clone(), caller, task, place, SnapshotJob { build, topic }))
}

struct SnapshotJob {
    build: SnapshotBuild,
    topic: TopicName,
}

impl SteppedJob for SnapshotJob {
    type Report = SnapshotReport;

    async fn step(&mut self) -> Result<JobStep<SnapshotReport>, Problem> {
        match self.build.step().await? {
            SnapshotStep::Written(keys) => Ok(JobStep::Progress(SnapshotReport::Progress(keys))),
            SnapshotStep::Elsewhere(keys) => {
                tokio::time::sleep(SNAPSHOT_ELSEWHERE_AFTER).await;
                Ok(JobStep::Progress(SnapshotReport::Progress(keys)))
            }
            SnapshotStep::Done(snapshot) => {
                self.build.give_back().await;
                Ok(JobStep::Done(SnapshotReport::Done(view(&snapshot_topic(&self.topic)?, &snapshot))))
            }
        }
    }

    fn broken_off(problem: ProblemDocument) -> SnapshotReport {
        SnapshotReport::Error(Box::new(problem))
    }
}

/// A snapshot in the topic that holds it.
pub(super) fn view(place: &TopicName, snapshot: &Snapshot) -> SnapshotView {
    let parts = &snapshot.partitions;
    let offsets =
        |of: fn(&prom_jobs::SnapshotPartition) -> u64| TopicOffsets(parts.iter().map(of).collect()).to_string();
    let partition = |(partition, part): (u32, &prom_jobs::SnapshotPartition)| SnapshotPartitionView {
        partition,
        covered_offset: part.covered,
        covered_ts: part.covered_ts,
        first: part.first,
        marker: part.marker,
    };
    SnapshotView {
        id: snapshot.id.to_string(),
        began_ts: snapshot.began_ts,
        ended_ts: snapshot.ended_ts,
        count: snapshot.count,
        whole: snapshot.whole,
        snapshot_topic: place.clone(),
        snapshot_next: offsets(|part| part.first),
        events_next: offsets(|part| part.covered),
        partitions: (0..).zip(parts).map(partition).collect(),
    }
}
