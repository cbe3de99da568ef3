//! `GET /topics/{topic}/schema/{version}`: one version with its schema.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use prom_protocol::http::schema::SchemaVersionView;

use super::{VersionInPath, may_read, view};
use crate::http::api::Api;
use crate::http::caller::Caller;
use crate::http::problem::{Problem, Problems};

#[utoipa::path(
    get,
    path = "/topics/{topic}/schema/{version}",
    operation_id = "getSchemaVersion",
    tag = "schemas",
    summary = "Get one version of a topic's schema",
    params(("topic" = String, Path), ("version" = String, Path, description = "A number, or `latest`")),
    responses((status = 200, description = "The version", body = SchemaVersionView), Problems),
)]
pub(in crate::http) async fn get(
    State(api): State<Arc<Api>>,
    caller: Caller,
    path: VersionInPath,
) -> Result<Json<SchemaVersionView>, Problem> {
    may_read(&caller, &path.topic)?;
    let version = api.hub.bus.schema_version(&path.topic, path.choice).await?;
    Ok(Json(view::version(version)))
}
