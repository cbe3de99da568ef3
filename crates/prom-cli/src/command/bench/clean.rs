//! Before and after: topics are made so that their events go by themselves some day, and deleted when the run is over, with
//! their dead letters and the group.

use std::time::Duration;

use futures::StreamExt;
use prom_protocol::http::topics::{DeleteTopic, PutTopic};
use prom_types::{Retention, TopicName};
use serde::Serialize;

use super::plan::Remains;
use super::stage::Stage;
use crate::exit::Failure;
use crate::hub::HubClient;
use crate::units::millis;

/// Topics that are made or deleted at the same time.
const AT_ONCE: usize = 16;
/// If this process is killed, the events stay this long.
const AGE_LIMIT: Duration = Duration::from_secs(24 * 3600);

/// What is left of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Left {
    /// All topics of the run match it.
    pub topics: String,
    pub events: Events,
    /// Why something is left that should not be.
    pub problem: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Events {
    /// They stay, as asked for.
    Kept,
    /// They are gone, and their topics with them.
    Deleted,
    /// They stay although they should not.
    Remaining,
}

/// Makes the topics. Where the token may not, publishing makes them, if the hub allows that.
pub async fn prepare(hub: &HubClient, stage: &Stage, remains: Remains) -> Result<(), Failure> {
    let age = match remains {
        Remains::All => None,
        Remains::Nothing => Some(AGE_LIMIT),
    };
    match set_all(hub, stage, age).await {
        Err(Failure::Refused(_)) => Ok(()),
        other => other,
    }
}

pub async fn clean(hub: &HubClient, stage: &Stage, remains: Remains) -> Left {
    let topics = stage.names.all();
    if remains == Remains::All {
        return Left { topics, events: Events::Kept, problem: None };
    }
    let cleaned = async {
        for group in [&stage.topics.group, &stage.warm_topics.group] {
            match hub.delete(&["groups", group]).await {
                // It was never made.
                Ok(_) | Err(Failure::No(_)) => {}
                Err(failure) => return Err(failure),
            }
        }
        delete_all(hub, stage).await
    };
    match cleaned.await {
        Ok(()) => Left { topics, events: Events::Deleted, problem: None },
        Err(failure) => Left { topics, events: Events::Remaining, problem: failure.text() },
    }
}

/// All topics of the run go, and what was given up on.
async fn delete_all(hub: &HubClient, stage: &Stage) -> Result<(), Failure> {
    let whole = DeleteTopic { with_letters: true, dry_run: false };
    let delete = async |topic: &TopicName| match hub.delete_with(&["topics", topic], &whole).await {
        // It was never made.
        Ok(_) | Err(Failure::No(_)) => Ok(()),
        Err(failure) => Err(failure),
    };
    each(stage, delete).await
}

/// All topics of the run keep their events this long, or forever.
async fn set_all(hub: &HubClient, stage: &Stage, age: Option<Duration>) -> Result<(), Failure> {
    let retention = Retention { age_ms: age.map(millis), size_bytes: None };
    let body = PutTopic { retention, ..PutTopic::default() };
    let set = async |topic: &TopicName| hub.put(&["topics", topic], &body).await.map(drop);
    each(stage, set).await
}

/// Does it to all topics of the run. The first failure ends it: the others would fail for the same reason.
async fn each(stage: &Stage, act: impl AsyncFn(&TopicName) -> Result<(), Failure>) -> Result<(), Failure> {
    let topics = stage.topics.names.iter().chain(&stage.warm_topics.names);
    let mut acting = futures::stream::iter(topics.map(|topic| act(topic))).buffer_unordered(AT_ONCE);
    while let Some(result) = acting.next().await {
        result?;
    }
    Ok(())
}
