//! `PUT` and `DELETE /topics/{topic}/schema/upcasters/{from}`: the step from a version to the next.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use prom_auth::Action;
use prom_protocol::http::schema::{SetUpcaster, UpcasterView};

use super::VersionInPath;
use crate::http::api::Api;
use crate::http::caller::Caller;
use crate::http::extract::JsonBody;
use crate::http::problem::{Problem, Problems};

#[utoipa::path(
    put,
    path = "/topics/{topic}/schema/upcasters/{from}",
    operation_id = "putUpcaster",
    tag = "schemas",
    summary = "Set the upcaster from a version to the next",
    params(("topic" = String, Path), ("from" = u32, Path)),
    request_body = SetUpcaster,
    responses((status = 200, description = "The step", body = UpcasterView), Problems),
)]
pub(in crate::http) async fn put(
    State(api): State<Arc<Api>>,
    caller: Caller,
    path: VersionInPath,
    body: JsonBody<SetUpcaster>,
) -> Result<Json<UpcasterView>, Problem> {
    caller.may(Action::Admin, &path.topic)?;
    let (from, SetUpcaster { jq }) = (path.number()?, body.read(&api).await?);
    caller.bus(&api.hub).set_upcaster(&path.topic, from, Some(jq.clone())).await?;
    Ok(Json(UpcasterView { from, to: from.saturating_add(1), jq }))
}

#[utoipa::path(
    delete,
    path = "/topics/{topic}/schema/upcasters/{from}",
    operation_id = "deleteUpcaster",
    tag = "schemas",
    summary = "Remove the upcaster from a version to the next",
    params(("topic" = String, Path), ("from" = u32, Path)),
    responses((status = 204, description = "It is gone"), Problems),
)]
pub(in crate::http) async fn delete(
    State(api): State<Arc<Api>>,
    caller: Caller,
    path: VersionInPath,
) -> Result<StatusCode, Problem> {
    caller.may(Action::Admin, &path.topic)?;
    caller.bus(&api.hub).set_upcaster(&path.topic, path.number()?, None).await?;
    Ok(StatusCode::NO_CONTENT)
}
