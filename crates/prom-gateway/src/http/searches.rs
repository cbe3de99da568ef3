//! `GET /searches`: the searches that `prom.toml` keeps for people.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use prom_auth::Action;
use prom_protocol::http::search::SavedSearchList;

use super::api::Api;
use super::caller::Caller;
use super::problem::{Problem, Problems};

#[utoipa::path(
    get,
    path = "/searches",
    operation_id = "savedSearches",
    tag = "events",
    summary = "List the saved searches",
    description = "Pass the members of a saved search to `GET /search` to run it.",
    responses((status = 200, description = "The searches", body = SavedSearchList), Problems),
)]
pub(super) async fn list(State(api): State<Arc<Api>>, caller: Caller) -> Result<Json<SavedSearchList>, Problem> {
    caller.may_somewhere(Action::Subscribe)?;
    let saved = api.hub.options.searches.iter();
    let searches = saved.filter(|search| caller.may(Action::Subscribe, &search.topic).is_ok()).cloned().collect();
    Ok(Json(SavedSearchList { searches }))
}
