//! `POST /publish`: one event, a batch of them, or CloudEvents.
//!
//! The answer has the form of the question: one receipt for one event, an array for an array, lines
//! for lines. Items of a batch are independent unless `?atomic=1` makes it all or nothing.
//!
//! A caller that may publish nothing is refused before its body is read; the rights to each topic are checked when the
//! event that names it has been read.

mod answer;
mod body;
mod form;
mod send;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;
use prom_auth::Action;
use prom_protocol::http::publish::{PublishAnswer, PublishQuery};
use prom_types::{Invalid, NewEvent};

use self::body::PublishBody;
use self::form::Form;
pub(super) use self::send::send_each;
use super::api::Api;
use super::body::WholeBody;
use super::caller::Caller;
use super::cloud_events::{self, CloudEvent};
use super::extract::Params;
use super::problem::{Problem, Problems, PublishProblems};

#[utoipa::path(
    post,
    path = "/publish",
    operation_id = "publish",
    tag = "events",
    summary = "Publish one event or many",
    description = "Answers when what is stored is as durable as the receipt says. An id that was published in the \
                   last ten minutes stores nothing and gives the first receipt.",
    params(PublishQuery),
    request_body(
        content(
            (PublishBody = "application/json"),
            (String = "application/x-ndjson"),
            (CloudEvent = "application/cloudevents+json"),
            (Vec<CloudEvent> = "application/cloudevents-batch+json"),
        ),
        description = "One event, an array of events, or one event per line. CloudEvents in binary mode come with \
                       `ce-` headers and any body."
    ),
    responses(
        (status = 200, description = "A receipt, or one result per item", content(
            (PublishAnswer = "application/json"),
            (String = "application/x-ndjson"),
        )),
        Problems,
        PublishProblems,
    ),
)]
pub(super) async fn publish(
    State(api): State<Arc<Api>>,
    caller: Caller,
    Params(PublishQuery { atomic, topic }): Params<PublishQuery>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let hub = &*api.hub;
    match topic.as_ref().filter(|_| cloud_events::are_sent(&headers)) {
        Some(topic) => caller.may(Action::Publish, topic)?,
        None => caller.may_somewhere(Action::Publish)?,
    }
    let (one, many) = (hub.options.frame_bytes, hub.options.body_bytes);
    let limit = |beginning: &[u8]| if Form::is_surely_single(&headers, beginning) { one } else { many };
    let WholeBody { text, share } =
        super::body::whole(body, &api.budget, caller.holder(), many.max(one), limit).await?;
    let form = Form::of(&headers, &text);
    let mut items = form.read(&headers, &text, topic.as_ref(), one)?;
    carry_trace(&headers, &mut items)?;
    if form.is_single() {
        let event = items.pop().unwrap_or_else(|| Err(Problem::field("body", "is empty; send an event")))?;
        return answer::one(&send::send_one(hub, &caller, event).await?);
    }
    if atomic {
        return answer::all(form, send::send_all_or_none(hub, &caller, items).await?.into_iter().map(Ok), share);
    }
    answer::all(form, send_each(hub, &caller, items).await.into_iter(), share)
}

/// The trace that the request belongs to goes on with its events, unless they name their own.
fn carry_trace(headers: &HeaderMap, items: &mut [Result<NewEvent, Problem>]) -> Result<(), Invalid> {
    for name in ["traceparent", "tracestate"] {
        let Some(value) = headers.get(name).and_then(|value| value.to_str().ok()) else {
            return Ok(());
        };
        for event in items.iter_mut().flatten() {
            if event.headers.get(name).is_none() {
                event.headers.insert(name, value)?;
            }
        }
    }
    Ok(())
}
