//! `GET /search`: the newest events of a topic that match, page by page.
//!
//! Promise: what one page reads, holds and takes is bounded, whatever the topic's size and whatever is asked.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use prom_auth::Action;
use prom_engine::{FoundEvents, HeaderMatch, Search, SearchCriteria};
use prom_jobs::IndexedPage;
use prom_protocol::http::search::{SearchPage, SearchQuery};

use super::answer_share::HeldText;
use super::api::Api;
use super::caller::Caller;
use super::extract::Params;
use super::limits::{SEARCH_ANSWER_BYTES, SEARCH_ITEMS, SEARCH_MOST_ITEMS, SEARCH_READ_BYTES};
use super::problem::{Problem, Problems};
use super::replay::read_next;

/// Before the place in an index where a page ended.
const OF_INDEX: &str = "index:";

#[utoipa::path(
    get,
    path = "/search",
    operation_id = "search",
    tag = "events",
    summary = "Find events, newest first",
    description = "Reads backwards from the head. A page looks at a bounded number of events, so it may be empty although there \
                   is a `next` one.",
    params(SearchQuery),
    responses((status = 200, description = "A page", body = SearchPage), Problems),
)]
pub(super) async fn get(
    State(api): State<Arc<Api>>,
    caller: Caller,
    Params(query): Params<SearchQuery>,
) -> Result<Response, Problem> {
    let SearchQuery { topic, text, jq, key, header, from_ts, to_ts, limit, next } = query;
    caller.may(Action::Subscribe, &topic)?;
    let limit = limit.unwrap_or(SEARCH_ITEMS);
    if !(1..=SEARCH_MOST_ITEMS).contains(&limit) {
        return Err(Problem::field("limit", format_args!("must be between 1 and {SEARCH_MOST_ITEMS}")));
    }
    let bus = &api.hub.bus;
    let partitions = bus.topic_settings(&topic).await?.partitions;
    let mask = caller.mask(&api.hub, &topic).await?;
    let _place = api.searches.acquire(caller.holder()).await;
    let share = api.budget.take(caller.holder(), SEARCH_READ_BYTES)?;
    let program = match &jq {
        Some(text) => Some(bus.compile_program(text).await.map_err(|error| Problem::field("jq", error))?),
        None => None,
    };
    let header = header.as_deref().map(HeaderMatch::parse);
    let criteria = SearchCriteria { text, program, key, header };
    let mut search = Search { topic, criteria, from_ts, to_ts, limit, before: None, mask };
    let in_index = next.as_deref().map(|next| next.strip_prefix(OF_INDEX));
    // A page of an index goes on in it, and one of a scan with the scan.
    let found = match (&jq, in_index) {
        (Some(jq), None | Some(Some(_))) => api.hub.indexes.search(bus, &search, jq, in_index.flatten()).await?,
        _ => None,
    };
    let (found, next, index) = match found {
        Some(IndexedPage { page, next, expression }) => {
            (page, next.map(|next| format!("{OF_INDEX}{next}")), Some(expression))
        }
        None if in_index.is_some_and(|in_index| in_index.is_some()) => {
            return Err(Problem::field("next", "the index that answered no longer exists; start the search over"));
        }
        None => {
            search.before = next.as_deref().map(|next| read_next(next, partitions)).transpose()?;
            let found = bus.search(search).await?;
            let next = found.next.as_ref().map(ToString::to_string);
            (found, next, None)
        }
    };
    drop(share);
    let bytes = found.events.iter().map(|event| 2 * event.record().len()).sum::<usize>();
    let share = api.budget.take(caller.holder(), SEARCH_ANSWER_BYTES + bytes)?;
    let text = text_of(&found, next.as_deref(), index.as_deref());
    Ok(([(CONTENT_TYPE, "application/json")], HeldText::new(text, share)).into_response())
}

/// As [`SearchPage`], with the events as they are stored: their numbers may not fit any type of ours.
fn text_of(found: &FoundEvents, next: Option<&str>, index: Option<&str>) -> Vec<u8> {
    let mut json =
        format!("{{\"scanned\":{},\"matched\":{},\"items\":[", found.scanned, found.events.len()).into_bytes();
    for (at, event) in found.events.iter().enumerate() {
        if at > 0 {
            json.push(b',');
        }
        event.write_json(&mut json);
    }
    let mut rest = serde_json::json!({ "next": next });
    if let Some(index) = index {
        rest["index"] = index.into();
    }
    if found.failed > 0 {
        rest["failed"] = found.failed.into();
        rest["failure"] = found.failure.as_deref().unwrap_or_default().into();
    }
    if found.unreadable > 0 {
        rest["unreadable"] = found.unreadable.into();
    }
    json.extend_from_slice(b"],");
    json.extend_from_slice(rest.to_string().trim_start_matches('{').as_bytes());
    json
}
