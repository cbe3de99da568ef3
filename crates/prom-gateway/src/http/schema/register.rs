//! `POST /topics/{topic}/schema`: registers a schema as the topic's next version.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use prom_auth::Action;
use prom_engine::Registered;
use prom_protocol::http::problem::ProblemDocument;
use prom_protocol::http::schema::{RegisterSchema, RegisteredVersion};

use super::candidate;
use crate::http::api::Api;
use crate::http::caller::Caller;
use crate::http::extract::{JsonBody, TopicInPath};
use crate::http::problem::{Problem, Problems};

#[utoipa::path(
    post,
    path = "/topics/{topic}/schema",
    operation_id = "registerSchema",
    tag = "schemas",
    summary = "Register a schema",
    description = "A schema that the topic already has, whatever its formatting, is not registered again.",
    params(("topic" = String, Path)),
    request_body = RegisterSchema,
    responses(
        (status = 200, description = "The version that has this schema", body = RegisteredVersion),
        (status = 409, description = "It is not compatible; `violations` says where and why", body = ProblemDocument,
            content_type = "application/problem+json"),
        Problems,
    ),
)]
pub(in crate::http) async fn post(
    State(api): State<Arc<Api>>,
    caller: Caller,
    TopicInPath(topic): TopicInPath,
    body: JsonBody<RegisterSchema>,
) -> Result<Json<RegisteredVersion>, Problem> {
    caller.may(Action::Admin, &topic)?;
    let (body, _held) = body.read_held(&api).await?;
    let candidate = candidate(&caller, body)?;
    let registered = caller.bus(&api.hub).register_schema(&topic, candidate).await?;
    let Registered { version, id, existed, notes } = registered;
    Ok(Json(RegisteredVersion { version, id, existed, notes }))
}
