//! `GET, HEAD /snap/{collection}/{key}`: one document.

use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::Response;
use http::HeaderMap;
use prom_types::Event;

use crate::http::api::Api;
use crate::http::caller::Caller;
use crate::http::problem::{Code, Problem, Problems};

#[utoipa::path(
    get,
    path = "/snap/{collection}/{key}",
    operation_id = "snap",
    tag = "state",
    summary = "Get the document of a key",
    description = "What a cutover filled has, for each key, the newest event; what a projector filled has what it made of them. \
                   The ETag is strong: it changes exactly when the document does.",
    params(
        ("collection" = String, Path),
        ("key" = String, Path),
        ("if-none-match" = Option<String>, Header, description = "ETags that are known: 304 if one is the document's"),
    ),
    responses(
        (status = 200, description = "The document", body = Event),
        (status = 304, description = "Nothing has changed"),
        Problems,
    ),
)]
pub(in crate::http) async fn get(
    State(api): State<Arc<Api>>,
    caller: Caller,
    headers: HeaderMap,
    path: Result<Path<(String, String)>, PathRejection>,
) -> Result<Response, Problem> {
    let Path((name, key)) = path?;
    let collection = super::readable(&api, &caller, &name).await?;
    let Some(document) = collection.document(&api.hub.bus, &key).await? else {
        return Err(Problem::new(Code::UnknownId, format!("collection {name} has no document with the key {key:?}")));
    };
    let mask = super::mask(&api, &caller, &collection).await?;
    let share = api.budget.take(caller.holder(), document.len())?;
    let seen = mask.and_then(|mask| mask.seen_text(&document));
    Ok(super::answer(&headers, seen.unwrap_or_else(|| document.into()), share))
}
