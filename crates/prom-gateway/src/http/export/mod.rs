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
use prom_engine::{BeyondEnd, Bus, Position};
use prom_store::Bounds;
use prom_types::{Offset, TopicName};
use serde::Deserialize;
use utoipa::IntoParams;

use self::format::Format;
use super::api::Api;
use super::caller::Caller;
use super::extract::{Params, required, topic_name};
use super::flag;
use super::problem::{Problem, Problems};
use super::schema::{CloudEvent, Event};

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

/// Offsets of one partition that are exported.
pub(super) struct Part {
    partition: u32,
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
    let parts = parts(bus, &topic, &params).await?;
    let damage = if params.skip_damaged { stream::OnDamage::Skip } else { stream::OnDamage::BreakOff };
    let body = Body::from_stream(stream::start(api.hub.clone(), caller, topic, parts, format, damage));
    Ok(([(CONTENT_TYPE, format.content_type())], body).into_response())
}

/// The end is settled here: what comes later is not part of it.
async fn parts(bus: &Bus, topic: &TopicName, params: &ExportParams) -> Result<Vec<Part>, Problem> {
    let bounds = bus.bounds(topic).await?;
    let stored_at = async |ts| bus.offsets(topic, Position::StoredAt(ts), BeyondEnd::Allow).await;
    let from = match params.from_ts {
        Some(ts) => stored_at(ts).await?.0,
        None => bounds.iter().map(|bounds| bounds.start).collect(),
    };
    let end = match params.to_ts.and_then(|ts| ts.checked_add(1)) {
        Some(after) => stored_at(after).await?.0,
        None => bounds.iter().map(|bounds| bounds.next).collect(),
    };
    let ranges = from.into_iter().zip(end).zip(bounds);
    let part = |(partition, ((from, end), bounds)): (u32, ((Offset, Offset), Bounds))| Part {
        partition,
        from,
        end: end.min(bounds.next),
    };
    Ok((0..).zip(ranges).map(part).collect())
}
