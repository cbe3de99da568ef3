//! `GET /replay`: retained events again, page by page.
//!
//! Partition by partition in offset order, as an export. `next` goes on where a page ended, also
//! after the end was reached: then it brings what was published since.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use prom_auth::Action;
use prom_engine::{Bus, Position};
use prom_store::{LogName, ReadLimit};
use prom_types::Offset;
use serde::Deserialize;
use utoipa::IntoParams;

use super::api::Api;
use super::caller::Caller;
use super::extract::{Params, required, topic_name};
use super::limits::{REPLAY_BYTES, REPLAY_EVENTS, REPLAY_MOST_EVENTS};
use super::position::{self, Asked};
use super::problem::{Problem, Problems};
use super::schema::ReplayPage;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReplayParams {
    #[param(required = true)]
    topic: Option<String>,
    /// `earliest` (default), `latest`, `ts`, `afterId` or `offset`.
    from: Option<String>,
    /// With `from=ts`: the first event stored at or after this, in epoch milliseconds.
    ts: Option<i64>,
    /// With `from=afterId`: the events after this one.
    after_id: Option<String>,
    /// With `from=offset`: in every partition.
    offset: Option<u64>,
    /// At most so many events, 1 to 10 000; 1000 unless given.
    limit: Option<usize>,
    /// Where an earlier page ended; wins over `from`.
    next: Option<String>,
}

#[utoipa::path(
    get,
    path = "/replay",
    operation_id = "replay",
    tag = "events",
    summary = "Read retained events page by page",
    params(ReplayParams),
    responses((status = 200, description = "A page", body = ReplayPage), Problems),
)]
pub(super) async fn replay(
    State(api): State<Arc<Api>>,
    caller: Caller,
    Params(params): Params<ReplayParams>,
) -> Result<Response, Problem> {
    let topic = topic_name(&required("topic", params.topic)?)?;
    caller.may(Action::Subscribe, &topic)?;
    let limit = params.limit.unwrap_or(REPLAY_EVENTS);
    if !(1..=REPLAY_MOST_EVENTS).contains(&limit) {
        return Err(Problem::field("limit", format_args!("must be between 1 and {REPLAY_MOST_EVENTS}")));
    }
    let bus = &api.hub.bus;
    let logs = position::logs_of(bus, &topic).await?;
    let asked = Asked { from: params.from, ts: params.ts, after_id: params.after_id, offset: params.offset };
    let from = match params.next {
        Some(next) => read_next(&next, logs.len())?,
        None => position::offsets(bus, &logs, asked.position()?.unwrap_or(Position::Earliest)).await?,
    };
    let page = Page::read(bus, &logs, from, limit).await?;
    Ok(([(CONTENT_TYPE, "application/json")], page.into_json(&topic)).into_response())
}

/// A page as it is put together.
struct Page {
    /// Events as JSON, with commas between them.
    events: Vec<u8>,
    count: usize,
    /// Per partition.
    next: Vec<Offset>,
    at_end: bool,
}

impl Page {
    async fn read(bus: &Bus, logs: &[LogName], from: Vec<Offset>, limit: usize) -> Result<Self, Problem> {
        let mut page = Self { events: Vec::new(), count: 0, next: from, at_end: true };
        for (at, log) in logs.iter().enumerate() {
            while page.count < limit && page.events.len() < REPLAY_BYTES {
                let room = ReadLimit { events: limit - page.count, bytes: REPLAY_BYTES - page.events.len() };
                let batch = bus.store().read(log, page.next[at], room).await?;
                if let Some(damage) = batch.damage {
                    tracing::warn!(%log, %damage, "a replay passes over what cannot be read");
                }
                for record in &batch.records {
                    if page.count > 0 {
                        page.events.push(b',');
                    }
                    record.write_json(log, &mut page.events);
                    page.count += 1;
                }
                let moved = batch.next > page.next[at];
                page.next[at] = page.next[at].max(batch.next);
                if !moved || page.next[at] >= batch.bounds.next {
                    break;
                }
            }
            page.at_end &= page.next[at] >= bus.store().bounds(log).await?.next;
        }
        Ok(page)
    }

    fn into_json(self, topic: &str) -> Vec<u8> {
        let next: Vec<String> = self.next.iter().map(ToString::to_string).collect();
        let head = format!("{{\"topic\":\"{topic}\",\"count\":{},\"events\":[", self.count);
        let tail = format!("],\"next\":\"{}\",\"end\":{}}}", next.join("."), self.at_end);
        let mut json = self.events;
        json.splice(0..0, head.into_bytes());
        json.extend_from_slice(tail.as_bytes());
        json
    }
}

/// An offset per partition, joined by dots. Partitions that came later begin at 0.
fn read_next(text: &str, partitions: usize) -> Result<Vec<Offset>, Problem> {
    let wrong = || Problem::field("next", "is not what an earlier page of this topic gave");
    let mut offsets: Vec<Offset> =
        text.split('.').map(|offset| offset.parse().map_err(|_| wrong())).collect::<Result<_, _>>()?;
    match offsets.len() > partitions {
        true => Err(wrong()),
        false => {
            offsets.resize(partitions, 0);
            Ok(offsets)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_page_gave_is_read_back_and_nothing_else() {
        assert_eq!(read_next("3.0.17", 3).unwrap(), [3, 0, 17]);
        assert_eq!(read_next("3", 2).unwrap(), [3, 0]);
        for bad in ["", "x", "3.", "-1", "1.2.3.4", "1e3", "99999999999999999999999"] {
            assert!(read_next(bad, 3).is_err(), "{bad:?} passed");
        }
    }
}
