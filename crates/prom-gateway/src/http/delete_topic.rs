//! `DELETE /topics/{topic}`: deletes a topic with its events and the cursors of all groups. Audited with the caller.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use prom_auth::Action;
use prom_engine::{DeletedTopic, TopicLetters};
use prom_protocol::http::topics::{DeleteTopic, DeletedTopicView, DeletedTopics};

use super::api::Api;
use super::caller::Caller;
use super::extract::{Params, TopicInPath};
use super::problem::{Problem, Problems};

#[utoipa::path(
    delete,
    path = "/topics/{topic}",
    operation_id = "deleteTopic",
    tag = "topics",
    summary = "Delete a topic with its events and cursors",
    description = "Its settings, events, exact ids, latest events by key and the cursors of all groups go in one commit. \
                   Subscriptions go on without it. A topic of the same name can be made again; it uses no offset twice. Dead \
                   letters stay unless asked for.",
    params(("topic" = String, Path), DeleteTopic),
    responses((status = 200, description = "What was deleted, or would be", body = DeletedTopics), Problems),
)]
pub(super) async fn delete(
    State(api): State<Arc<Api>>,
    caller: Caller,
    TopicInPath(topic): TopicInPath,
    Params(DeleteTopic { with_letters, dry_run }): Params<DeleteTopic>,
) -> Result<Json<DeletedTopics>, Problem> {
    caller.may(Action::Admin, &topic)?;
    let letters = if with_letters { TopicLetters::Delete } else { TopicLetters::Keep };
    if let Some(dead) = topic.dead_letters().filter(|_| with_letters) {
        caller.may(Action::Admin, &dead)?;
    }
    let bus = caller.bus(&api.hub);
    let going = match dry_run {
        true => bus.preview_delete_topic(&topic, letters).await?,
        false => bus.delete_topic(&topic, letters).await?,
    };
    Ok(Json(DeletedTopics { topics: going.into_iter().map(|one| view(&caller, one)).collect(), dry_run }))
}

fn view(caller: &Caller, DeletedTopic { topic, events, bytes, mut groups }: DeletedTopic) -> DeletedTopicView {
    let all = groups.len();
    groups.retain(|group| caller.may_in_group(Action::Admin, &topic, group).is_ok());
    DeletedTopicView { hidden: groups.len() < all, topic, events, bytes, groups }
}
