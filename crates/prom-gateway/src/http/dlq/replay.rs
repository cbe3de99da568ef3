//! `POST /dlq/replay`: hands the events of letters out again. Audited with the caller.
//!
//! Needs the right to administer the topic; who decides what is sent also needs those to publish to it and to read its letters.
//! The first thousand letters are tried out before anything is sent.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use prom_auth::Action;
use prom_jobs::{JobError, LetterFilter, LetterJob, LetterOrder, LetterStanding, LetterTrial, LetterWork, TriedLetter};
use prom_protocol::http::dlq::{LettersDone, ReplayLetters, ReplayTo, TriedLetterView};
use prom_types::{EventId, TopicName};

use super::indexed::indexed;
use super::{hidden_parts, readable, state_view};
use crate::http::api::Api;
use crate::http::caller::Caller;
use crate::http::extract::JsonBody;
use crate::http::limits::{LETTER_IDS, LETTER_JOB_WAIT, LETTERS_ANSWERED, LETTERS_HELD_BYTES};
use crate::http::problem::{Problem, Problems};

#[utoipa::path(
    post,
    path = "/dlq/replay",
    operation_id = "replayLetters",
    tag = "dead letters",
    summary = "Replay the events of dead letters",
    description = "A replay of up to 1000 letters is answered when it is done. One with a canary, more letters, or a rate that makes it slow runs as a job.",
    request_body = ReplayLetters,
    responses(
        (status = 200, description = "It is done, or what a dry run found", body = LettersDone),
        (status = 202, description = "A job works on it", body = LettersDone),
        Problems,
    ),
)]
pub(in crate::http) async fn post(
    State(api): State<Arc<Api>>,
    caller: Caller,
    body: JsonBody<ReplayLetters>,
) -> Result<Response, Problem> {
    caller.may_somewhere(Action::Admin)?;
    let (body, _held) = body.read_held(&api).await?;
    let may_read = readable(&caller, &body.topic);
    caller.may(Action::Admin, &body.topic)?;
    if body.transform.is_some() || body.payload.is_some() {
        caller.may(Action::Publish, &body.topic)?;
    }
    // How many have a text in their error tells the error.
    let chooses = body.err.is_some() || body.jq.is_some();
    if body.transform.is_some() || body.payload.is_some() || chooses || body.dry_run {
        may_read?;
    }
    if caller.mask(&api.hub, &body.topic).await?.is_some() {
        // What is sent is shown by a dry run, and quoted by refusals.
        return Err(hidden_parts(&caller, &body.topic));
    }
    check(&body)?;
    let dry_run = body.dry_run;
    let order = order(&api, &caller, body).await?;
    let _share = api.budget.take(caller.holder(), LETTERS_HELD_BYTES)?;
    if dry_run {
        let trial = api.letters.try_out(&order).await.map_err(of_order)?;
        return Ok(Json(tried(trial)).into_response());
    }
    // A canary waits for consumers: nobody knows how long.
    let is_short = order.limit <= LETTERS_ANSWERED && order.canary.is_none();
    let wait = if is_short { LETTER_JOB_WAIT } else { Duration::ZERO };
    let job = api.letters.order(order).await.map_err(of_order)?;
    answer(&api, job, wait).await
}

/// A program that is none is a field that is wrong.
fn of_order(error: JobError) -> Problem {
    match error {
        JobError::Bus(prom_engine::Error::Filter(reason)) => Problem::field("transform", reason),
        error => error.into(),
    }
}

/// When it is done, or after a while as a job.
pub(super) async fn answer(api: &Api, job: LetterJob, wait: Duration) -> Result<Response, Problem> {
    let job = api.letters.wait_for(job.id, wait).await?;
    let status = if job.is_at_rest() { StatusCode::OK } else { StatusCode::ACCEPTED };
    Ok((status, Json(done(job))).into_response())
}

fn check(body: &ReplayLetters) -> Result<(), Problem> {
    if body.to == ReplayTo::Group {
        if body.group.is_none() {
            return Err(Problem::field("group", "must be given: events are given back to one group"));
        }
        if body.transform.is_some() || body.payload.is_some() {
            return Err(Problem::field(
                "to",
                "must be topic if the event is changed: giving back redelivers the original event",
            ));
        }
    }
    if body.payload.is_some() && body.ids.len() != 1 {
        return Err(Problem::field("payload", "needs the id of exactly one letter, in ids"));
    }
    if body.payload.is_some() && body.transform.is_some() {
        return Err(Problem::field("payload", "and transform exclude each other; give one of them"));
    }
    if body.rate == Some(0) {
        return Err(Problem::field("rate", "must be at least 1"));
    }
    if body.canary == Some(0) {
        return Err(Problem::field("canary", "must be at least 1"));
    }
    if body.stop_on_failure.is_some_and(|percent| percent > 100) {
        return Err(Problem::field("stopOnFailure", "is a percentage, at most 100"));
    }
    if body.limit == Some(0) {
        return Err(Problem::field("limit", "must be at least 1"));
    }
    Ok(())
}

async fn order(api: &Api, caller: &Caller, body: ReplayLetters) -> Result<LetterOrder, Problem> {
    let ReplayLetters { topic, group, key, err, fingerprint, jq, from_ts, to_ts, ids, .. } = body;
    let places = places(api, &topic, &ids, jq.as_deref()).await?;
    let standing = LetterStanding::Open;
    let filter = LetterFilter { group, fingerprint, err, key, jq, from_ts, to_ts, standing, places };
    Ok(LetterOrder {
        topic,
        work: match body.to {
            ReplayTo::Topic => LetterWork::ToTopic,
            ReplayTo::Group => LetterWork::ToGroup,
        },
        filter,
        limit: body.limit.unwrap_or(LETTERS_ANSWERED),
        transform: body.transform,
        payload: body.payload,
        skip_unfit: body.skip_unfit,
        rate: body.rate,
        canary: body.canary,
        stop_on_failure: body.stop_on_failure,
        by: caller.subject().map(str::to_owned),
    })
}

/// Where the letters lie that are named, or that an index finds for a program. One that is named and not there is an error, as
/// its name may be misspelt.
pub(super) async fn places(
    api: &Api,
    topic: &TopicName,
    ids: &[EventId],
    jq: Option<&str>,
) -> Result<Option<Vec<(u32, u64)>>, Problem> {
    let found = match jq {
        Some(jq) => indexed(api, topic, jq, None, LETTER_IDS).await?.0,
        None => None,
    };
    if ids.is_empty() {
        return Ok(found);
    }
    if ids.len() > LETTER_IDS {
        return Err(Problem::field("ids", format_args!("are {}, and {LETTER_IDS} may be named at once", ids.len())));
    }
    let mut places = Vec::with_capacity(ids.len());
    for id in ids {
        let found = api.letters.places_of(topic, &[*id]).await?;
        if found.is_empty() {
            let reason = format!(
                "names {id}, and there is no such letter of {topic} (any more); `prom dlq ls {topic}` lists them"
            );
            return Err(Problem::field("ids", reason));
        }
        places.extend(found);
    }
    places.sort_unstable();
    places.dedup();
    Ok(Some(places))
}

fn done(job: LetterJob) -> LettersDone {
    LettersDone {
        job: Some(job.id),
        matched: job.matched,
        replayed: job.replayed,
        skipped: job.skipped,
        state: Some(state_view(job.state)),
        reason: job.reason,
        more: false,
        would_send: Vec::new(),
    }
}

/// What a dry run found.
pub(super) fn tried(trial: LetterTrial) -> LettersDone {
    let reason = trial.unfit.map(|(letter, reason)| format!("letter {letter}: {reason}"));
    LettersDone {
        job: None,
        matched: trial.matched,
        replayed: trial.replayed,
        skipped: trial.skipped,
        state: None,
        reason,
        more: trial.is_cut,
        would_send: trial.shown.into_iter().filter_map(tried_view).collect(),
    }
}

fn tried_view(tried: TriedLetter) -> Option<TriedLetterView> {
    let original = tried.original_payload()?;
    let TriedLetter { letter, event, edited, unfit } = tried;
    Some(TriedLetterView { letter: letter.id, original, payload: event.map(|event| event.payload), edited, unfit })
}
