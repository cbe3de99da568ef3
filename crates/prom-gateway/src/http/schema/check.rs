//! `POST /topics/{topic}/schema/check`: what registering a schema would answer. Stores nothing.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use prom_protocol::http::schema::{RegisterSchema, SchemaVerdict};

use super::{candidate, may_read, view};
use crate::http::api::Api;
use crate::http::caller::Caller;
use crate::http::extract::{JsonBody, TopicInPath};
use crate::http::problem::{Problem, Problems};

#[utoipa::path(
    post,
    path = "/topics/{topic}/schema/check",
    operation_id = "checkSchema",
    tag = "schemas",
    summary = "Check whether a schema could be registered",
    params(("topic" = String, Path)),
    request_body = RegisterSchema,
    responses((status = 200, description = "The verdict", body = SchemaVerdict), Problems),
)]
pub(in crate::http) async fn post(
    State(api): State<Arc<Api>>,
    caller: Caller,
    TopicInPath(topic): TopicInPath,
    body: JsonBody<RegisterSchema>,
) -> Result<Json<SchemaVerdict>, Problem> {
    may_read(&caller, &topic)?;
    let (body, _held) = body.read_held(&api).await?;
    let candidate = candidate(&caller, body)?;
    let verdict = api.hub.bus.check_schema(&topic, &candidate).await?;
    Ok(Json(SchemaVerdict {
        compatible: verdict.violations.is_empty(),
        existing: verdict.existing,
        violations: view::violations(verdict.violations),
        notes: verdict.notes,
    }))
}
