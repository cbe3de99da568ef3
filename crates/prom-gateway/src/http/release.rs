//! `POST /groups/{group}/release`: takes leases back from their holders. Audited with the caller.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use prom_auth::Action;
use prom_engine::{Bus, EventPlace, LeasesOf, ReleasedLease};
use prom_protocol::http::release::{ReleaseLeases, ReleasedLeaseView, ReleasedLeasesView};

use super::api::Api;
use super::caller::Caller;
use super::extract::{GroupInPath, JsonBody};
use super::problem::{Problem, Problems};

#[utoipa::path(
    post,
    path = "/groups/{group}/release",
    operation_id = "releaseLeases",
    tag = "groups",
    summary = "Take leases back from their holders",
    description = "One event by its offset or its id, the leases of a member, or all leases of the group in the topic. Each \
                   counts as returned, not as a failed attempt; the event is handed out again at once, and what its old \
                   holder says of it does not count.",
    params(("group" = String, Path)),
    request_body = ReleaseLeases,
    responses((status = 200, description = "What was taken back", body = ReleasedLeasesView), Problems),
)]
pub(super) async fn post(
    State(api): State<Arc<Api>>,
    caller: Caller,
    GroupInPath(group): GroupInPath,
    body: JsonBody<ReleaseLeases>,
) -> Result<Json<ReleasedLeasesView>, Problem> {
    caller.may_somewhere(Action::Admin)?;
    let body = body.read(&api).await?;
    caller.may_in_group(Action::Admin, &body.topic, &group)?;
    let bus = caller.bus(&api.hub);
    let topic = body.topic.clone();
    let leases = leases_of(&bus, body).await?;
    let released = bus.release(&topic, &group, leases).await?;
    let view = |ReleasedLease { partition, offset, member }| ReleasedLeaseView { partition, offset, member };
    Ok(Json(ReleasedLeasesView { topic, group, released: released.into_iter().map(view).collect() }))
}

async fn leases_of(bus: &Bus, body: ReleaseLeases) -> Result<LeasesOf, Problem> {
    let ReleaseLeases { topic, partition, offset, id, member } = body;
    if partition.is_some() && offset.is_none() {
        return Err(Problem::field("partition", "needs an offset"));
    }
    match (offset, id, member) {
        (None, None, None) => Ok(LeasesOf::Everybody),
        (None, None, Some(member)) => Ok(LeasesOf::Member(member)),
        (None, Some(id), None) => Ok(LeasesOf::Event(EventPlace::Id(id))),
        (Some(offset), None, None) => {
            if partition.is_none() && bus.topic_settings(&topic).await?.partitions > 1 {
                let reason = "is missing; the topic has several partitions, so name the partition of the offset";
                return Err(Problem::field("partition", reason));
            }
            Ok(LeasesOf::Event(EventPlace::Offset { partition: partition.unwrap_or_default(), offset }))
        }
        (_, Some(_), Some(_)) | (Some(_), _, Some(_)) => {
            Err(Problem::field("member", "and an event exclude each other; give one of them"))
        }
        (Some(_), Some(_), None) => Err(Problem::field("id", "and an offset exclude each other; give one of them")),
    }
}
