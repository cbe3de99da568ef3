//! The OpenAPI document: what cannot be read off the routes, and `GET /openapi.json`.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use utoipa::OpenApi;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};

use super::answer_share::AnswerCounted;
use super::api::Api;
use super::problem::{Code, Problem};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Promethean",
        description = "A durable event bus over HTTP. Refusals are problem documents (RFC 9457) whose `code` is the \
                       same as over WebSocket.",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    servers((url = "/")),
    security(("bearer" = []), ()),
    tags(
        (name = "events", description = "Publishing and reading events"),
        (name = "state", description = "Collections of documents that are filled from topics"),
        (name = "topics", description = "Topics and their settings"),
        (name = "schemas", description = "The schema registry: versions, compatibility, upcasters"),
        (name = "groups", description = "Consumer groups, cursors, lag"),
        (name = "dead letters", description = "Events that groups gave up on: finding, replaying and purging them"),
        (name = "flows", description = "Outboxes, change feeds and projections: watching and controlling them"),
        (name = "hub", description = "The hub itself"),
    ),
    modifiers(&Bearer),
)]
pub(super) struct OpenApiDocument;

struct Bearer;

impl utoipa::Modify for Bearer {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .bearer_format("JWT")
            .description(Some(
                "Needed if the hub has authentication configured; otherwise every caller has every right.",
            ))
            .build();
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("bearer", SecurityScheme::Http(scheme));
    }
}

#[utoipa::path(
    get,
    path = "/openapi.json",
    operation_id = "openapi",
    tag = "hub",
    summary = "This document",
    security(()),
    responses((status = 200, description = "The document", body = serde_json::Value)),
)]
pub(super) async fn get(State(api): State<Arc<Api>>) -> Result<Response, Problem> {
    let text = match api.openapi.get() {
        Some(text) => text.clone(),
        None => {
            let written =
                super::openapi().to_json().map_err(|error| Problem::new(Code::Internal, error.to_string()))?;
            api.openapi.get_or_init(|| written.into()).clone()
        }
    };
    Ok((Extension(AnswerCounted), [(CONTENT_TYPE, "application/json")], text).into_response())
}
