//! `GET /whoami`: what the caller's token allows. It tells nothing about topics that exist.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use prom_auth::{Action, Policy};
use prom_protocol::http::whoami::{ReachOfRights, RightReach, RightsToTopic, WhoAmI, WhoAmIQuery};

use super::api::Api;
use super::asyncapi::CameOver;
use super::caller::Caller;
use super::extract::Params;
use super::problem::{Problem, Problems};

#[utoipa::path(
    get,
    path = "/whoami",
    operation_id = "whoami",
    tag = "hub",
    summary = "What the caller's token allows",
    params(WhoAmIQuery),
    responses((status = 200, description = "The caller", body = WhoAmI), Problems),
)]
pub(super) async fn get(
    State(api): State<Arc<Api>>,
    caller: Caller,
    came_over: Option<Extension<CameOver>>,
    Params(WhoAmIQuery { topic }): Params<WhoAmIQuery>,
) -> Result<Json<WhoAmI>, Problem> {
    let came_over = came_over.map(|Extension(came_over)| came_over).unwrap_or_default();
    let topic = topic.map(|topic| {
        let may = |action| caller.may(action, &topic).is_ok();
        RightsToTopic {
            publish: may(Action::Publish) && !topic.is_reserved(),
            subscribe: may(Action::Subscribe),
            ops: may(Action::Ops),
            admin: may(Action::Admin),
        }
    });
    Ok(Json(WhoAmI {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        open: api.hub.auth.is_open(),
        subject: caller.subject().map(str::to_owned),
        expires_at_ms: caller.expires_at_ms(),
        rights: reach_of(caller.policy()),
        topic,
        websocket_port: came_over.websocket_port,
    }))
}

/// How far each right of a policy goes.
pub(super) fn reach_of(policy: &Policy) -> ReachOfRights {
    let reach = |action| match (policy.allows_everywhere(action), policy.allows_somewhere(action)) {
        (true, _) => RightReach::Everywhere,
        (false, true) => RightReach::Somewhere,
        (false, false) => RightReach::Nowhere,
    };
    ReachOfRights {
        publish: reach(Action::Publish),
        subscribe: reach(Action::Subscribe),
        ops: reach(Action::Ops),
        admin: reach(Action::Admin),
    }
}
