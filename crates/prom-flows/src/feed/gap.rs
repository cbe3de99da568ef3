//! `GAP`: what readers of a topic are told when they no longer have everything.
//!
//! A gap is an event without a document: headers `x-mongo-op: gap` and `x-gap: REASON`, and a payload that tells more. It has no key,
//! unless the topic insists on one; then the key is `$gap`.

use std::collections::BTreeMap;

use prom_engine::{Bus, Error, UnitOfWork};
use prom_types::{EventId, Headers, Json, NewEvent, TopicName};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::error::FeedError;

/// The key of a gap on a topic that takes no event without one.
const GAP_KEY: &str = "$gap";

/// Why readers do not have everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GapCause {
    /// The collection was dropped: no document of it is there any more.
    Dropped,
    /// The collection has another name: what it held is there, under that name.
    Renamed,
    /// A collection came to this name with the documents that it holds.
    RenamedTo,
    /// The oplog no longer has what was between; what is there is copied next.
    Lost,
    /// The copy after `lost` is complete: what did not come again is gone.
    Copied,
    /// An operator moved the feed.
    Moved,
}

impl GapCause {
    /// As the header has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dropped => "dropped",
            Self::Renamed => "renamed",
            Self::RenamedTo => "renamed_to",
            Self::Lost => "lost",
            Self::Copied => "copied",
            Self::Moved => "moved",
        }
    }
}

/// A gap that is told with the next commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingGap {
    /// Why.
    pub cause: GapCause,
    /// What tells this gap from others of the same cause: its id follows from it.
    pub at: String,
    /// More, for people.
    pub details: BTreeMap<String, String>,
}

impl PendingGap {
    pub(crate) fn new<'a>(
        cause: GapCause,
        at: impl Into<String>,
        details: impl IntoIterator<Item = (&'a str, String)>,
    ) -> Self {
        let details = details.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Self { cause, at: at.into(), details }
    }

    /// Adds the event for a topic.
    pub(crate) async fn add_to(
        &self,
        work: &mut UnitOfWork,
        bus: &Bus,
        feed: &str,
        topic: &TopicName,
    ) -> Result<(), FeedError> {
        let needs_key = match bus.topic_settings(topic).await {
            Ok(settings) => settings.compaction.is_some() || settings.key.is_some(),
            Err(Error::UnknownTopic { .. }) => false,
            Err(error) => return Err(error.into()),
        };
        let mut headers = Headers::default();
        headers.insert("x-mongo-op", "gap")?;
        headers.insert("x-gap", self.cause.as_str())?;
        let payload = json!({ "gap": { "feed": feed, "reason": self.cause.as_str(), "details": self.details } });
        let event = NewEvent {
            id: Some(EventId::derived(&format!("feed:{feed}:gap:{}:{}:{topic}", self.cause.as_str(), self.at))),
            exact: true,
            key: needs_key.then(|| GAP_KEY.to_owned()),
            headers,
            ..NewEvent::new(topic.clone(), Json::from_value(&payload)?)
        };
        match work.publish(&event) {
            // The schema of the topic has no room for a gap: the log tells instead.
            Err(error @ Error::SchemaInvalid { .. }) => {
                tracing::warn!(feed, %topic, gap = self.cause.as_str(), %error, "a gap could not be told on its topic");
                Ok(())
            }
            added => Ok(added?),
        }
    }
}
