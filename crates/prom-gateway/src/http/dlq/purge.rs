//! `POST /dlq/purge`: takes letters out of every list and count. Audited with the caller.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use prom_auth::Action;
use prom_jobs::{LetterFilter, LetterOrder, LetterStanding, LetterWork};
use prom_protocol::http::dlq::{LettersDone, PurgeLetters};

use super::may_look_into;
use super::replay::{answer, places, tried};
use crate::http::api::Api;
use crate::http::caller::Caller;
use crate::http::extract::JsonBody;
use crate::http::limits::{LETTER_JOB_WAIT, LETTERS_HELD_BYTES};
use crate::http::problem::{Problem, Problems};

#[utoipa::path(
    post,
    path = "/dlq/purge",
    operation_id = "purgeLetters",
    tag = "dead letters",
    summary = "Remove dead letters from every list and count",
    description = "They are not replayed any more. Their space goes with the retention of `dlq.<topic>`; until then, those who may \
                   read that topic can still read them there.",
    request_body = PurgeLetters,
    responses(
        (status = 200, description = "It is done, or what a dry run counted", body = LettersDone),
        (status = 202, description = "A job works on it", body = LettersDone),
        Problems,
    ),
)]
pub(in crate::http) async fn post(
    State(api): State<Arc<Api>>,
    caller: Caller,
    body: JsonBody<PurgeLetters>,
) -> Result<Response, Problem> {
    caller.may_somewhere(Action::Admin)?;
    let PurgeLetters { topic, group, key, err, fingerprint, jq, from_ts, to_ts, ids, limit, dry_run } =
        body.read(&api).await?;
    caller.may(Action::Admin, &topic)?;
    if err.is_some() || jq.is_some() {
        may_look_into(&api, &caller, &topic).await?;
    }
    let places = places(&api, &topic, &ids, jq.as_deref()).await?;
    let standing = LetterStanding::All;
    let order = LetterOrder {
        topic,
        work: LetterWork::Purge,
        filter: LetterFilter { group, fingerprint, err, key, jq, from_ts, to_ts, standing, places },
        limit: limit.unwrap_or(u64::MAX),
        transform: None,
        payload: None,
        skip_unfit: false,
        rate: None,
        canary: None,
        stop_on_failure: None,
        by: caller.subject().map(str::to_owned),
    };
    let _share = api.budget.take(caller.holder(), LETTERS_HELD_BYTES)?;
    if dry_run {
        return Ok(Json::<LettersDone>(tried(api.letters.try_out(&order).await?)).into_response());
    }
    let job = api.letters.order(order).await?;
    answer(&api, job, LETTER_JOB_WAIT).await
}
