//! `GET /export`: every event of a topic, or every one that a program takes, streamed.
//!
//! Promises: partition by partition in offset order; what was there when the export began, no more;
//! where a declared index answers the program, nothing else is read; memory stays flat whatever the topic's size and however
//! slowly the client reads. An export that cannot continue breaks off without a proper end, so that a part is not taken for the
//! whole. So does one whose token expires meanwhile.

mod choice;
mod format;
mod stream;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::HeaderMap;
use http::header::{ACCEPT, CONTENT_TYPE};
use prom_auth::Action;
use prom_engine::{BeyondEnd, Bus};
use prom_protocol::http::export::ExportQuery;
use prom_store::Bounds;
use prom_types::{Event, Offset, Position};

use self::choice::ExportChoice;
use self::format::ExportFormat;
use super::api::Api;
use super::caller::Caller;
use super::cloud_events::CloudEvent;
use super::extract::Params;
use super::limits::EXPORT_HELD_BYTES;
use super::problem::{Problem, Problems};

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
    description = "Whole events, partition by partition in offset order, all or those that a program takes. `Accept: application/cloudevents-batch+json` \
                   gives a batch of CloudEvents.",
    params(ExportQuery),
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
    Params(query): Params<ExportQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    caller.may(Action::Subscribe, &query.topic)?;
    let accepted = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let format = ExportFormat::choose(accepted, query.format.as_deref(), query.ndjson)?;
    let share = api.budget.take(caller.holder(), EXPORT_HELD_BYTES)?;
    let bus = &api.hub.bus;
    // The end first: what an index knows reaches at least there.
    let parts = parts(bus, &query).await?;
    let mask = caller.mask(&api.hub, &query.topic).await?;
    let damage = if query.skip_damaged { stream::OnDamage::Skip } else { stream::OnDamage::BreakOff };
    let choice = ExportChoice::of(&api.hub, &query, mask).await?;
    let body =
        Body::from_stream(stream::start(api.hub.clone(), caller, query.topic, choice, parts, (format, damage), share));
    Ok(([(CONTENT_TYPE, format.content_type())], body).into_response())
}

/// The end is settled here: what comes later is not part of it.
async fn parts(bus: &Bus, ExportQuery { topic, from_ts, to_ts, .. }: &ExportQuery) -> Result<Vec<Part>, Problem> {
    let bounds = bus.bounds(topic).await?;
    let stored_at = async |ts| bus.offsets(topic, Position::StoredAt(ts), BeyondEnd::Allow).await;
    let from = match *from_ts {
        Some(ts) => stored_at(ts).await?.0,
        None => bounds.iter().map(|bounds| bounds.start).collect(),
    };
    let end = match to_ts.and_then(|ts| ts.checked_add(1)) {
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
