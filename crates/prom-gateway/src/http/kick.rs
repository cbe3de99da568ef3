//! `POST /groups/{group}/kick`: ends the subscriptions of one member, so that its leases go back. Audited with the caller.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use prom_auth::Action;
use prom_protocol::http::kick::{KickMember, KickedMemberView};

use super::api::Api;
use super::caller::Caller;
use super::extract::{GroupInPath, JsonBody};
use super::groups;
use super::problem::{Problem, Problems};

#[utoipa::path(
    post,
    path = "/groups/{group}/kick",
    operation_id = "kickMember",
    tag = "groups",
    summary = "End the subscriptions of one member",
    description = "What it holds goes back at once, and what it still settles does not count. It hears why by an ERR with the \
                   code fenced; a client of ours then subscribes again.",
    params(("group" = String, Path)),
    request_body = KickMember,
    responses((status = 200, description = "The member, kicked", body = KickedMemberView), Problems),
)]
pub(super) async fn post(
    State(api): State<Arc<Api>>,
    caller: Caller,
    GroupInPath(group): GroupInPath,
    body: JsonBody<KickMember>,
) -> Result<Json<KickedMemberView>, Problem> {
    let bus = &caller.bus(&api.hub);
    groups::find(bus, &caller, Action::Admin, &group).await?;
    let KickMember { member } = body.read(&api).await?;
    let kicked = bus.kick(&group, &member).await?;
    let (subscriptions, returned) = (kicked.subscriptions as u64, kicked.returned as u64);
    Ok(Json(KickedMemberView { group, member, subscriptions, returned }))
}
