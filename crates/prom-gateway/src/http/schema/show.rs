//! `GET /topics/{topic}/schema`: the versions of a topic, its settings and its upcasters.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use prom_protocol::http::schema::TopicSchemaView;
use prom_types::TopicName;

use super::{may_read, view};
use crate::http::api::Api;
use crate::http::caller::Caller;
use crate::http::extract::TopicInPath;
use crate::http::problem::{Code, Problem, Problems};

#[utoipa::path(
    get,
    path = "/topics/{topic}/schema",
    operation_id = "getTopicSchema",
    tag = "schemas",
    summary = "Get the schemas of a topic",
    params(("topic" = String, Path)),
    responses((status = 200, description = "The versions", body = TopicSchemaView), Problems),
)]
pub(in crate::http) async fn get(
    State(api): State<Arc<Api>>,
    caller: Caller,
    TopicInPath(topic): TopicInPath,
) -> Result<Json<TopicSchemaView>, Problem> {
    may_read(&caller, &topic)?;
    let bus = &api.hub.bus;
    let schemas = bus.schema(&topic).await?.ok_or_else(|| no_schema(&topic))?;
    let settings = bus.schema_settings(Some(&topic)).await?;
    Ok(Json(view::topic(schemas, settings)))
}

fn no_schema(topic: &TopicName) -> Problem {
    Problem::new(
        Code::UnknownTopic,
        format!("topic {topic} has no schema; register one by POST /topics/{topic}/schema"),
    )
}
