//! `POST /skip`: settles one event for a group that cannot get past it. Audited with the caller.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use prom_auth::Action;
use prom_engine::EventPlace;
use prom_protocol::http::skip::{SkipEvent, SkippedEventView};

use super::api::Api;
use super::caller::Caller;
use super::extract::JsonBody;
use super::problem::{Problem, Problems};

#[utoipa::path(
    post,
    path = "/skip",
    operation_id = "skipEvent",
    tag = "groups",
    summary = "Settle one event for a group",
    description = "The group gets it no more, and no dead letter is written. A subscriber that holds it may still ack or \
                   nack it; this changes nothing.",
    request_body = SkipEvent,
    responses((status = 200, description = "The event, settled", body = SkippedEventView), Problems),
)]
pub(super) async fn post(
    State(api): State<Arc<Api>>,
    caller: Caller,
    body: JsonBody<SkipEvent>,
) -> Result<Json<SkippedEventView>, Problem> {
    caller.may_somewhere(Action::Admin)?;
    let SkipEvent { topic, group, partition, offset, id } = body.read(&api).await?;
    caller.may_in_group(Action::Admin, &topic, &group)?;
    let bus = caller.bus(&api.hub);
    let place = match (offset, id, partition) {
        (Some(offset), None, Some(partition)) => EventPlace::Offset { partition, offset },
        (Some(_), None, None) if bus.topic_settings(&topic).await?.partitions > 1 => {
            let reason = "is missing; the topic has several partitions, so name the partition of the offset";
            return Err(Problem::field("partition", reason));
        }
        (Some(offset), None, None) => EventPlace::Offset { partition: 0, offset },
        (None, Some(id), None) => EventPlace::Id(id),
        (None, Some(_), Some(_)) => return Err(Problem::field("partition", "applies to an offset; an id needs none")),
        (None, None, _) => return Err(Problem::field("offset", "is missing; give the offset or the id of the event")),
        (Some(_), Some(_), _) => {
            return Err(Problem::field("id", "and an offset exclude each other; give one of them"));
        }
    };
    let event = bus.skip(&topic, &group, place).await?;
    Ok(Json(SkippedEventView {
        topic,
        group,
        partition: event.partition,
        offset: event.offset,
        id: event.id,
        already_settled: event.already_settled,
    }))
}
