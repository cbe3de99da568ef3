//! `GET /latest-by-key`: the latest event of a key of a topic that is compacted or keeps versions.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use prom_auth::Action;
use prom_engine::StoredEvent;
use prom_protocol::http::latest_by_key::LatestByKeyQuery;
use prom_types::Event;

use super::api::Api;
use super::caller::Caller;
use super::extract::Params;
use super::problem::{Problem, Problems};

#[utoipa::path(
    get,
    path = "/latest-by-key",
    operation_id = "latestByKey",
    tag = "events",
    summary = "Get the latest event of a key",
    description = "`null` where there is none, it was deleted, or retention removed it. Only for topics that are compacted \
                   or keep `versions`.",
    params(LatestByKeyQuery),
    responses((status = 200, description = "The event, or `null`", body = Option<Event>), Problems),
)]
pub(super) async fn get(
    State(api): State<Arc<Api>>,
    caller: Caller,
    Params(LatestByKeyQuery { topic, key }): Params<LatestByKeyQuery>,
) -> Result<Response, Problem> {
    caller.may(Action::Subscribe, &topic)?;
    let found = api.hub.bus.latest_by_key(&topic, &[&key]).await?;
    let mask = caller.mask(&api.hub, &topic).await?;
    let mut json = Vec::new();
    let seen =
        |event: &StoredEvent| mask.as_ref().map_or_else(|| StoredEvent::clone(event), |mask| mask.seen(event.clone()));
    match found.first().and_then(Option::as_ref).map(seen) {
        Some(event) => event.write_json(&mut json),
        None => json.extend_from_slice(b"null"),
    }
    Ok(([(CONTENT_TYPE, "application/json")], json).into_response())
}
