//! `DELETE /topics/{topic}/schema` and `/topics/{topic}/schema/{version}`: soft, or with `hard=1` for good.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use prom_auth::Action;
use prom_engine::Deletion;
use prom_protocol::http::schema::{DeleteSchema, DeletedVersions};

use super::VersionInPath;
use crate::http::api::Api;
use crate::http::caller::Caller;
use crate::http::extract::{Params, TopicInPath};
use crate::http::problem::{Problem, Problems};

#[utoipa::path(
    delete,
    path = "/topics/{topic}/schema",
    operation_id = "deleteSchemas",
    tag = "schemas",
    summary = "Delete all versions of a topic's schema",
    description = "Stored events are kept. A deleted version accepts no new events; `hard=1` removes it for good.",
    params(("topic" = String, Path), DeleteSchema),
    responses((status = 200, description = "The versions that were deleted", body = DeletedVersions), Problems),
)]
pub(in crate::http) async fn all(
    State(api): State<Arc<Api>>,
    caller: Caller,
    TopicInPath(topic): TopicInPath,
    Params(query): Params<DeleteSchema>,
) -> Result<Json<DeletedVersions>, Problem> {
    caller.may(Action::Admin, &topic)?;
    let versions = caller.bus(&api.hub).delete_schemas(&topic, deletion(query)).await?;
    Ok(Json(DeletedVersions { topic, versions }))
}

#[utoipa::path(
    delete,
    path = "/topics/{topic}/schema/{version}",
    operation_id = "deleteSchemaVersion",
    tag = "schemas",
    summary = "Delete one version of a topic's schema",
    params(("topic" = String, Path), ("version" = u32, Path), DeleteSchema),
    responses((status = 200, description = "The version that was deleted", body = DeletedVersions), Problems),
)]
pub(in crate::http) async fn one(
    State(api): State<Arc<Api>>,
    caller: Caller,
    path: VersionInPath,
    Params(query): Params<DeleteSchema>,
) -> Result<Json<DeletedVersions>, Problem> {
    caller.may(Action::Admin, &path.topic)?;
    let version = path.number()?;
    caller.bus(&api.hub).delete_schema_version(&path.topic, version, deletion(query)).await?;
    Ok(Json(DeletedVersions { topic: path.topic, versions: vec![version] }))
}

fn deletion(query: DeleteSchema) -> Deletion {
    if query.hard { Deletion::Hard } else { Deletion::Soft }
}
