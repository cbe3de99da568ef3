//! `PUT /topics/{topic}`: makes a topic, or brings one that exists to these settings.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use prom_auth::Action;
use prom_engine::{DualWrite, TopicSettings};
use prom_jobs::snapshot_topic;
use prom_protocol::http::topics::{PutTopic, TopicSettingsView};

use super::api::Api;
use super::caller::Caller;
use super::extract::{JsonBody, TopicInPath};
use super::problem::{Code, Problem, Problems};
use super::topics::settings_view;

#[utoipa::path(
    put,
    path = "/topics/{topic}",
    operation_id = "putTopic",
    tag = "topics",
    summary = "Create or change a topic",
    params(("topic" = String, Path)),
    request_body = PutTopic,
    responses((status = 200, description = "The new settings", body = TopicSettingsView), Problems),
)]
pub(super) async fn put(
    State(api): State<Arc<Api>>,
    caller: Caller,
    TopicInPath(topic): TopicInPath,
    body: JsonBody<PutTopic>,
) -> Result<Json<TopicSettingsView>, Problem> {
    caller.may(Action::Admin, &topic)?;
    if topic.is_reserved() {
        return Err(Problem::new(
            Code::BadRequest,
            format!("topic {topic} belongs to the hub and has its own settings"),
        ));
    }
    let body = body.read(&api).await?;
    if body.dual_write.is_some() {
        // All who publish to the topic then write to these too.
        caller.may_below(Action::Admin, &topic)?;
    }
    if body.snapshot.is_some() {
        // The hub writes to it then.
        caller.may(Action::Admin, &snapshot_topic(&topic)?)?;
    }
    let before = match api.hub.bus.topic_settings(&topic).await {
        Ok(settings) => Some(settings),
        Err(prom_engine::Error::UnknownTopic { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    check_said(before.as_ref(), &body)?;
    let plain = TopicSettings::new(&topic)?;
    let usual = plain.clone().compacted().compaction;
    let compaction = body.compaction.and_then(|choice| choice.settings(usual));
    let settings = TopicSettings {
        partitions: body.partitions,
        key: body.key,
        retention: body.retention,
        compaction,
        versions: body.versions.unwrap_or(false),
        max_attempts: body.max_attempts,
        mask: body.mask.unwrap_or_default(),
        index: body.index,
        dual_write: body.dual_write.map(|dual_write| DualWrite { until: dual_write.until }),
        snapshot: body.snapshot,
        snapshot_of: before.and_then(|settings| settings.snapshot_of),
        ..plain
    };
    // A number of partitions above the limit is a bad request, not a body that is too large.
    let refused = |error| Problem::from(error).with_status(http::StatusCode::BAD_REQUEST);
    match caller.bus(&api.hub).create_topic(settings.clone()).await {
        Err(error @ prom_engine::Error::Invalid(_)) => return Err(refused(error)),
        other => other?,
    }
    Ok(Json(settings_view(&settings)))
}

/// Left out, a setting takes its default. What could not be taken back, or would show what was hidden, must be said.
fn check_said(before: Option<&TopicSettings>, body: &PutTopic) -> Result<(), Problem> {
    let Some(before) = before else {
        return Ok(());
    };
    let (field, reason) = if before.compaction.is_some() && body.compaction.is_none() {
        (
            "compaction",
            "is missing: the topic is compacted; repeat the setting to keep it, or set false to end compaction for good",
        )
    } else if !before.mask.is_empty() && body.mask.is_none() {
        (
            "mask",
            "is missing: parts of the topic are hidden; repeat the setting to keep it, or set [] to show everything",
        )
    } else if before.versions && body.versions.is_none() {
        let reason = "is missing: the topic keeps the newest offset of each key; repeat the setting to keep it, or say \
                      false to forget those of events that retention has removed";
        ("versions", reason)
    } else {
        return Ok(());
    };
    Err(Problem::field(field, reason))
}
