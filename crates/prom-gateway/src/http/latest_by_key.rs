//! `GET /latest-by-key`: the latest event of a key of a compacted topic.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use prom_auth::Action;
use serde::Deserialize;
use utoipa::IntoParams;

use super::api::Api;
use super::caller::Caller;
use super::extract::{Params, required, topic_name};
use super::problem::{Problem, Problems};
use super::schema::Event;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct LatestParams {
    #[param(required = true)]
    topic: Option<String>,
    #[param(required = true)]
    key: Option<String>,
}

#[utoipa::path(
    get,
    path = "/latest-by-key",
    operation_id = "latestByKey",
    tag = "events",
    summary = "The latest event of a key",
    description = "`null` where there is none or it was deleted. Only for compacted topics.",
    params(LatestParams),
    responses((status = 200, description = "The event, or `null`", body = Option<Event>), Problems),
)]
pub(super) async fn get(
    State(api): State<Arc<Api>>,
    caller: Caller,
    Params(params): Params<LatestParams>,
) -> Result<Response, Problem> {
    let topic = topic_name(&required("topic", params.topic)?)?;
    caller.may(Action::Subscribe, &topic)?;
    let key = required("key", params.key)?;
    let found = api.hub.bus.latest_by_key(&topic, &[&key]).await?;
    let mut json = Vec::new();
    match found.first().and_then(Option::as_ref) {
        Some(event) => event.write_json(&mut json),
        None => json.extend_from_slice(b"null"),
    }
    Ok(([(CONTENT_TYPE, "application/json")], json).into_response())
}
