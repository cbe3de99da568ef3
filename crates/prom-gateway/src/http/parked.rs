//! `GET /groups/{group}/parked`: which keys of a group are parked, and behind what.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use prom_auth::Action;
use prom_engine::{ParkedAfter, ParkedKeyInfo};
use prom_protocol::http::parked::{ParkedKeyView, ParkedList, ParkedQuery};
use prom_types::TopicName;

use super::api::Api;
use super::caller::Caller;
use super::extract::{GroupInPath, Params};
use super::problem::{Code, Problem, Problems};

/// Keys of a page, unless the caller says.
const PAGE: usize = 100;

#[utoipa::path(
    get,
    path = "/groups/{group}/parked",
    operation_id = "listParkedKeys",
    tag = "groups",
    summary = "List parked keys",
    description = "Keys that stopped because an event of theirs failed for good, in a group with `park`. Giving their letters back \
                   to the group, or dropping them, lets them go on.",
    params(("group" = String, Path), ParkedQuery),
    responses((status = 200, description = "A page of parked keys", body = ParkedList), Problems),
)]
pub(super) async fn get(
    State(api): State<Arc<Api>>,
    caller: Caller,
    GroupInPath(group): GroupInPath,
    Params(ParkedQuery { topic, limit, next }): Params<ParkedQuery>,
) -> Result<Json<ParkedList>, Problem> {
    caller.may_in_group(Action::Ops, &topic, &group)?;
    let after = next.as_deref().map(read_next).transpose()?;
    let page = api.hub.bus.parked_keys(&topic, &group, after, limit.unwrap_or(PAGE)).await?;
    let keys = page.keys.into_iter().map(|key| view(topic.clone(), key)).collect();
    let next = page.next.map(|ParkedAfter { partition, hash }| format!("{partition}-{hash:016x}"));
    Ok(Json(ParkedList { keys, next }))
}

pub(super) fn view(topic: TopicName, info: ParkedKeyInfo) -> ParkedKeyView {
    let ParkedKeyInfo { partition, key, since, behind, first, waiting, letters } = info;
    ParkedKeyView { topic, partition, key, since_ts: since, behind, first, waiting, letters }
}

fn read_next(next: &str) -> Result<ParkedAfter, Problem> {
    let (partition, hash) = next.split_once('-').unwrap_or_default();
    match (partition.parse(), u64::from_str_radix(hash, 16)) {
        (Ok(partition), Ok(hash)) => Ok(ParkedAfter { partition, hash }),
        _ => Err(Problem::new(Code::BadRequest, "next: it is not from an earlier page; leave it out to start over")),
    }
}
