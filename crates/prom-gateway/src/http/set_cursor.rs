//! `POST /cursors`: moves a group back or forward, or only tells what that would do. Audited with the caller.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use prom_auth::Action;
use prom_engine::{BeyondEnd, Bus, CursorMove};
use prom_protocol::http::cursors::{MovedCursor, MovedCursors, SetCursor};
use prom_types::{GroupName, Position, TopicName};

use super::api::Api;
use super::caller::Caller;
use super::extract::JsonBody;
use super::problem::{Problem, Problems};

#[utoipa::path(
    post,
    path = "/cursors",
    operation_id = "setCursor",
    tag = "groups",
    summary = "Move the cursor of a group",
    description = "Forward, events before the new floor are skipped, and what is settled or in flight beyond it stays so. \
                   Back, or to where the group stands, all events from there on come again, and what was delivered before \
                   can no longer be settled. Partitions are moved one after the other; if one fails, those before it have \
                   moved. With `dryRun` nothing is moved. With `expect`, as a preview gave it, nothing is moved where the group has \
                   moved since.",
    request_body = SetCursor,
    responses((status = 200, description = "The new floors", body = MovedCursors), Problems),
)]
pub(super) async fn post(
    State(api): State<Arc<Api>>,
    caller: Caller,
    body: JsonBody<SetCursor>,
) -> Result<Json<MovedCursors>, Problem> {
    caller.may_somewhere(Action::Admin)?;
    let SetCursor { topic, group, partition, dry_run, expect, position } = body.read(&api).await?;
    caller.may_in_group(Action::Admin, &topic, &group)?;
    let missing = || Problem::field("from", "is missing; one of earliest, latest, ts, afterId, offset");
    let position = position.position()?.ok_or_else(missing)?;
    let bus = caller.bus(&api.hub);
    let moves = match partition {
        Some(partition) => vec![(partition, position)],
        None => everywhere(&bus, &topic, position).await?,
    };
    let expected = |partition| expect.iter().find(|floor| floor.partition == partition).map(|floor| floor.before);
    if let Some(other) = expect.iter().find(|floor| moves.iter().all(|(partition, _)| *partition != floor.partition)) {
        return Err(Problem::field("expect", format_args!("names partition {}, which is not moved", other.partition)));
    }
    // All are looked at before the first is moved; each is looked at again in the step that moves it.
    for (partition, position) in moves.iter().filter(|(partition, _)| expected(*partition).is_some()) {
        let before = bus.preview_cursor(&topic, *partition, &group, *position).await?.before;
        check_floor(&topic, &group, *partition, expected(*partition), before)?;
    }
    let mut cursors = Vec::with_capacity(moves.len());
    for (partition, position) in moves {
        let moved = match expected(partition) {
            _ if dry_run => bus.preview_cursor(&topic, partition, &group, position).await?,
            Some(before) => bus.set_cursor_from(&topic, partition, &group, position, before).await?,
            None => bus.set_cursor(&topic, partition, &group, position).await?,
        };
        cursors.push(view(moved));
    }
    Ok(Json(MovedCursors { topic, group, dry_run, cursors }))
}

fn check_floor(
    topic: &TopicName,
    group: &GroupName,
    partition: u32,
    expected: Option<u64>,
    actual: u64,
) -> Result<(), prom_engine::Error> {
    match expected {
        Some(expected) if expected != actual => Err(prom_engine::Error::CursorElsewhere {
            group: group.clone(),
            topic: topic.clone(),
            partition,
            expected,
            actual,
        }),
        _ => Ok(()),
    }
}

fn view(moved: CursorMove) -> MovedCursor {
    MovedCursor {
        partition: moved.partition,
        before: moved.before,
        offset: moved.after,
        come_again: moved.come_again,
        skipped: moved.skipped,
    }
}

/// What the position means in each partition.
async fn everywhere(bus: &Bus, topic: &TopicName, position: Position) -> Result<Vec<(u32, Position)>, Problem> {
    let partitions = bus.topic_settings(topic).await?.partitions;
    match position {
        Position::Offset(_) if partitions > 1 => Err(Problem::field(
            "partition",
            "is missing; the topic has several partitions, so name the partition of the offset",
        )),
        // The event is in one partition only; in the others its time counts.
        Position::AfterId(_) if partitions > 1 => {
            let offsets = bus.offsets(topic, position, BeyondEnd::Refuse).await?;
            Ok((0..).zip(offsets.0.into_iter().map(Position::Offset)).collect())
        }
        position => Ok((0..partitions).map(|partition| (partition, position)).collect()),
    }
}
