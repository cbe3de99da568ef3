//! `PUT /topics/{topic}/schema/settings` and `PUT /registry/settings`: how schemas are judged, for one topic and for all.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use prom_auth::Action;
use prom_protocol::http::schema::{SchemaSettingsChange, SchemaSettingsView};

use super::view;
use crate::http::api::Api;
use crate::http::caller::Caller;
use crate::http::extract::{JsonBody, TopicInPath};
use crate::http::problem::{Problem, Problems};

#[utoipa::path(
    put,
    path = "/topics/{topic}/schema/settings",
    operation_id = "putSchemaSettings",
    tag = "schemas",
    summary = "Change the schema settings of a topic",
    params(("topic" = String, Path)),
    request_body = SchemaSettingsChange,
    responses((status = 200, description = "The settings in force", body = SchemaSettingsView), Problems),
)]
pub(in crate::http) async fn put(
    State(api): State<Arc<Api>>,
    caller: Caller,
    TopicInPath(topic): TopicInPath,
    body: JsonBody<SchemaSettingsChange>,
) -> Result<Json<SchemaSettingsView>, Problem> {
    caller.may(Action::Admin, &topic)?;
    let change = view::change(body.read(&api).await?)?;
    let settings = caller.bus(&api.hub).set_schema_settings(Some(&topic), change).await?;
    Ok(Json(view::settings(settings)))
}

#[utoipa::path(
    delete,
    path = "/topics/{topic}/schema/settings",
    operation_id = "clearSchemaSettings",
    tag = "schemas",
    summary = "Remove the schema settings of a topic",
    params(("topic" = String, Path)),
    responses((status = 200, description = "The settings in force", body = SchemaSettingsView), Problems),
)]
pub(in crate::http) async fn clear(
    State(api): State<Arc<Api>>,
    caller: Caller,
    TopicInPath(topic): TopicInPath,
) -> Result<Json<SchemaSettingsView>, Problem> {
    caller.may(Action::Admin, &topic)?;
    Ok(Json(view::settings(caller.bus(&api.hub).clear_schema_settings(&topic).await?)))
}

#[utoipa::path(
    put,
    path = "/registry/settings",
    operation_id = "putRegistrySettings",
    tag = "schemas",
    summary = "Change the schema settings for topics without their own",
    description = "Overrides the hub's configuration, and survives a restart.",
    request_body = SchemaSettingsChange,
    responses((status = 200, description = "The settings in force", body = SchemaSettingsView), Problems),
)]
pub(in crate::http) async fn put_for_all(
    State(api): State<Arc<Api>>,
    caller: Caller,
    body: JsonBody<SchemaSettingsChange>,
) -> Result<Json<SchemaSettingsView>, Problem> {
    caller.may_everywhere(Action::Admin)?;
    let change = view::change(body.read(&api).await?)?;
    let settings = caller.bus(&api.hub).set_schema_settings(None, change).await?;
    Ok(Json(view::settings(settings)))
}
