//! `PUT /topics/{topic}`: makes a topic, or brings one that exists to these settings.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use prom_auth::Action;
use prom_engine::{Compaction, Retention, TopicSettings};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::api::Api;
use super::caller::Caller;
use super::extract::{JsonBody, TopicInPath};
use super::problem::{Code, Problem, Problems};
use super::topics::SettingsView;

/// The settings of a topic. What is left out is the default, also for a topic that exists.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TopicBody {
    /// Never lowered, and never raised on a compacted topic. Raising moves keys to other partitions, and is
    /// written to the audit trail. 1 unless given.
    #[serde(default = "one")]
    #[schema(default = 1, minimum = 1, maximum = 4096)]
    partitions: u32,
    /// A jq program over the event that makes its key where the publisher gives none.
    #[serde(default)]
    #[schema(example = ".payload.processId")]
    key: Option<String>,
    #[serde(default)]
    retention: RetentionBody,
    /// Keeps at least the latest event of each key; every event then needs a key.
    #[serde(default)]
    compaction: Option<CompactionChoice>,
    /// Failed attempts before an event goes to the dead letters, for groups that do not say.
    #[serde(default)]
    #[schema(minimum = 1)]
    max_attempts: Option<u32>,
}

/// How long events stay; without either, for ever. Each partition is measured for itself.
#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RetentionBody {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    age_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    size_bytes: Option<u64>,
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CompactionBody {
    /// How long a deletion stays after it was first cleaned.
    tombstone_grace_ms: u64,
}

/// `true`, `false`, or how.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum CompactionChoice {
    Simply(bool),
    With(CompactionBody),
}

fn one() -> u32 {
    1
}

#[utoipa::path(
    put,
    path = "/topics/{topic}",
    operation_id = "putTopic",
    tag = "topics",
    summary = "Make or change a topic",
    params(("topic" = String, Path)),
    request_body = TopicBody,
    responses((status = 200, description = "The settings as they are now", body = SettingsView), Problems),
)]
pub(super) async fn put(
    State(api): State<Arc<Api>>,
    caller: Caller,
    TopicInPath(topic): TopicInPath,
    JsonBody(body): JsonBody<TopicBody>,
) -> Result<Json<SettingsView>, Problem> {
    caller.may(Action::Admin, &topic)?;
    if topic.is_reserved() {
        return Err(Problem::new(
            Code::BadRequest,
            format!("topic {topic} belongs to the hub and has its own settings"),
        ));
    }
    let plain = TopicSettings::new(&topic)?;
    let compaction = match body.compaction {
        None | Some(CompactionChoice::Simply(false)) => None,
        Some(CompactionChoice::Simply(true)) => plain.clone().compacted().compaction,
        Some(CompactionChoice::With(how)) => Some(Compaction { tombstone_grace_ms: how.tombstone_grace_ms }),
    };
    let RetentionBody { age_ms, size_bytes } = body.retention;
    let settings = TopicSettings {
        partitions: body.partitions,
        key: body.key,
        retention: Retention { age_ms, size_bytes },
        compaction,
        max_attempts: body.max_attempts,
        ..plain
    };
    // Too many partitions is a wrong number, not a body that is too large.
    let refused = |error| Problem::from(error).with_status(http::StatusCode::BAD_REQUEST);
    match api.hub.bus.create_topic(settings.clone()).await {
        Err(error @ prom_engine::Error::Invalid(_)) => return Err(refused(error)),
        other => other?,
    }
    Ok(Json(SettingsView::new(&settings)))
}

impl From<Retention> for RetentionBody {
    fn from(retention: Retention) -> Self {
        Self { age_ms: retention.age_ms, size_bytes: retention.size_bytes }
    }
}

impl From<Compaction> for CompactionBody {
    fn from(compaction: Compaction) -> Self {
        Self { tombstone_grace_ms: compaction.tombstone_grace_ms }
    }
}
