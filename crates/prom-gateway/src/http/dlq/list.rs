//! `GET /dlq`: letters of a topic, newest first.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use prom_jobs::{LetterFilter, LetterStanding};
use prom_protocol::http::dlq::{LetterStandingView, LettersQuery, LettersView};

use super::indexed::indexed;
use super::{hidden_parts, letter_view, read_next, readable, seen};
use crate::http::api::Api;
use crate::http::caller::Caller;
use crate::http::extract::Params;
use crate::http::limits::{LETTERS, LETTERS_HELD_BYTES, LETTERS_INDEXED, LETTERS_MOST};
use crate::http::problem::{Problem, Problems};

#[utoipa::path(
    get,
    path = "/dlq",
    operation_id = "listLetters",
    tag = "dead letters",
    summary = "Dead letters, newest first",
    params(LettersQuery),
    responses((status = 200, description = "A page", body = LettersView), Problems),
)]
pub(in crate::http) async fn get(
    State(api): State<Arc<Api>>,
    caller: Caller,
    Params(query): Params<LettersQuery>,
) -> Result<Json<LettersView>, Problem> {
    let LettersQuery { topic, group, err, fingerprint, key, jq, id, from_ts, to_ts, standing, limit, next } = query;
    let topic = topic.ok_or_else(|| Problem::field("topic", "is missing"))?;
    readable(&caller, &topic)?;
    let limit = limit.unwrap_or(LETTERS);
    if !(1..=LETTERS_MOST).contains(&limit) {
        return Err(Problem::field("limit", format_args!("must be between 1 and {LETTERS_MOST}")));
    }
    let mask = caller.mask(&api.hub, &topic).await?;
    if mask.is_some() && (err.is_some() || jq.is_some()) {
        // What is found tells what is there.
        return Err(hidden_parts(&caller, &topic));
    }
    let before = next.as_deref().map(read_next).transpose()?;
    let _share = api.budget.take(caller.holder(), LETTERS_HELD_BYTES)?;
    let (places, index) = match (id, &jq) {
        (Some(id), _) => (Some(api.letters.places_of(&topic, &[id]).await?), None),
        (None, Some(jq)) => indexed(&api, &topic, jq, from_ts, LETTERS_INDEXED).await?,
        (None, None) => (None, None),
    };
    let standing = match standing {
        None => LetterStanding::All,
        Some(LetterStandingView::Open) => LetterStanding::Open,
        Some(LetterStandingView::Replayed) => LetterStanding::Replayed,
    };
    let filter = LetterFilter { group, fingerprint, err, key, jq, from_ts, to_ts, standing, places };
    let page = api.letters.page(&topic, &filter, before, limit).await?;
    let letters = page.letters.into_iter().map(|letter| seen(letter_view(letter), mask.as_deref()));
    let letters: Vec<_> = letters.collect();
    let next = page.next.map(|next| next.to_string());
    Ok(Json(LettersView { topic, count: letters.len(), letters, next, index }))
}
