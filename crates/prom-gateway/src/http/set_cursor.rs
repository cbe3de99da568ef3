//! `POST /cursors`: rewinds a group or lets it skip ahead. Fences what is in flight; audited.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use prom_auth::Action;
use prom_engine::{BeyondEnd, Bus, Position};
use prom_types::TopicName;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::api::Api;
use super::caller::Caller;
use super::extract::{JsonBody, group_name, topic_name};
use super::position::Asked;
use super::problem::{Problem, Problems};

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SetCursorBody {
    topic: String,
    group: String,
    /// All partitions unless given.
    partition: Option<u32>,
    /// `earliest`, `latest`, `ts`, `afterId` or `offset`.
    from: Option<String>,
    ts: Option<i64>,
    after_id: Option<String>,
    /// Needs a partition where the topic has several.
    offset: Option<u64>,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct CursorsMoved {
    topic: String,
    group: String,
    cursors: Vec<CursorMoved>,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct CursorMoved {
    partition: u32,
    /// The new floor.
    offset: u64,
}

#[utoipa::path(
    post,
    path = "/cursors",
    operation_id = "setCursor",
    tag = "groups",
    summary = "Move the cursor of a group",
    description = "What was delivered before can no longer be settled. Partitions are moved one after the other; \
                   if one fails, those before it have moved.",
    request_body = SetCursorBody,
    responses((status = 200, description = "The new floors", body = CursorsMoved), Problems),
)]
pub(super) async fn post(
    State(api): State<Arc<Api>>,
    caller: Caller,
    JsonBody(body): JsonBody<SetCursorBody>,
) -> Result<Json<CursorsMoved>, Problem> {
    let (topic, group) = (topic_name(&body.topic)?, group_name(&body.group)?);
    caller.may_in_group(Action::Admin, &topic, &group)?;
    let asked = Asked { from: body.from, ts: body.ts, after_id: body.after_id, offset: body.offset };
    let missing = || Problem::field("from", "is missing; one of earliest, latest, ts, afterId, offset");
    let position = asked.position()?.ok_or_else(missing)?;
    let bus = &api.hub.bus;
    let moves = match body.partition {
        Some(partition) => vec![(partition, position)],
        None => everywhere(bus, &topic, position).await?,
    };
    let mut cursors = Vec::with_capacity(moves.len());
    for (partition, position) in moves {
        let offset = bus.set_cursor(&topic, partition, &group, position).await?;
        cursors.push(CursorMoved { partition, offset });
    }
    Ok(Json(CursorsMoved { topic: topic.to_string(), group: group.to_string(), cursors }))
}

/// What the position means in each partition.
async fn everywhere(bus: &Bus, topic: &TopicName, position: Position) -> Result<Vec<(u32, Position)>, Problem> {
    let partitions = bus.topic_settings(topic).await?.partitions;
    match position {
        Position::Offset(_) if partitions > 1 => Err(Problem::field(
            "partition",
            "is missing; an offset belongs to one partition, and the topic has several",
        )),
        // The event is in one partition only; in the others its time counts.
        Position::AfterId(_) if partitions > 1 => {
            let offsets = bus.offsets(topic, position, BeyondEnd::Refuse).await?;
            Ok((0..).zip(offsets.0.into_iter().map(Position::Offset)).collect())
        }
        position => Ok((0..partitions).map(|partition| (partition, position)).collect()),
    }
}
