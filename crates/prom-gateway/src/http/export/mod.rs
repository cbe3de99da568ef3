//! `GET /export`: every event of a topic, streamed.
//!
//! Promises: partition by partition in offset order; what was there when the export began, no more;
//! memory stays flat whatever the topic's size and however slowly the client reads. An export that
//! cannot go on breaks off without a proper end, so that nobody takes a part for the whole. So does
//! one whose token expires meanwhile.

mod format;
mod stream;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::HeaderMap;
use http::header::{ACCEPT, CONTENT_TYPE};
use prom_auth::Action;
use prom_engine::Bus;
use prom_store::LogName;
use prom_types::Offset;
use serde::Deserialize;
use utoipa::IntoParams;

use self::format::Format;
use super::api::Api;
use super::caller::Caller;
use super::extract::{Params, required, topic_name};
use super::problem::{Problem, Problems};
use super::schema::{CloudEvent, Event};
use super::{flag, position};

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExportParams {
    #[param(required = true)]
    topic: Option<String>,
    /// Only events stored at or after this, in epoch milliseconds.
    from_ts: Option<i64>,
    /// Only events stored at or before this, in epoch milliseconds.
    to_ts: Option<i64>,
    /// `0`: one JSON array instead of one event per line.
    #[serde(default = "yes", deserialize_with = "flag::read")]
    #[param(value_type = Option<u8>, minimum = 0, maximum = 1)]
    ndjson: bool,
    /// `cloudevents`: CloudEvents in structured mode.
    format: Option<String>,
    /// `1`: go on behind events that cannot be read any more, instead of breaking off.
    #[serde(default, deserialize_with = "flag::read")]
    #[param(value_type = Option<u8>, minimum = 0, maximum = 1)]
    skip_damaged: bool,
}

fn yes() -> bool {
    true
}

/// Offsets of one log that are exported.
pub(super) struct Part {
    log: LogName,
    from: Offset,
    end: Offset,
}

#[utoipa::path(
    get,
    path = "/export",
    operation_id = "export",
    tag = "events",
    summary = "Stream every event of a topic",
    description = "Whole events, partition by partition in offset order. `Accept: application/cloudevents-batch+json` \
                   gives a batch of CloudEvents.",
    params(ExportParams),
    responses(
        (status = 200, description = "The events", content(
            (String = "application/x-ndjson"),
            (Vec<Event> = "application/json"),
            (Vec<CloudEvent> = "application/cloudevents-batch+json"),
        )),
        Problems,
    ),
)]
pub(super) async fn export(
    State(api): State<Arc<Api>>,
    caller: Caller,
    Params(params): Params<ExportParams>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let topic = topic_name(&required("topic", params.topic.clone())?)?;
    caller.may(Action::Subscribe, &topic)?;
    let accepted = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let format = Format::choose(accepted, params.format.as_deref(), params.ndjson)?;
    let bus = &api.hub.bus;
    let mut parts = Vec::new();
    for log in position::logs_of(bus, &topic).await? {
        parts.push(part(bus, log, &params).await?);
    }
    let damage = match params.skip_damaged {
        true => stream::OnDamage::Skip,
        false => stream::OnDamage::BreakOff,
    };
    let body = Body::from_stream(stream::start(api.hub.clone(), caller, parts, format, damage));
    Ok(([(CONTENT_TYPE, format.content_type())], body).into_response())
}

/// The end is settled here: what comes later is not part of it.
async fn part(bus: &Bus, log: LogName, params: &ExportParams) -> Result<Part, Problem> {
    let bounds = bus.store().bounds(&log).await?;
    let from = match params.from_ts {
        Some(ts) => position::stored_at(bus, &log, ts).await?,
        None => bounds.start,
    };
    let end = match params.to_ts.and_then(|ts| ts.checked_add(1)) {
        Some(after) => position::stored_at(bus, &log, after).await?.min(bounds.next),
        None => bounds.next,
    };
    Ok(Part { log, from, end })
}
