//! `GET /topics` and `GET /topics/{topic}` show topics, `PUT /topics/{topic}` makes or changes one, `DELETE /topics/{topic}`
//! deletes it.

use prom_types::{Compaction, GroupName, Retention, SnapshotSettings, TopicName};
use serde::{Deserialize, Deserializer, Serialize};

use super::flag;

/// The answer to `GET /topics`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TopicList {
    /// Those that the caller's rights cover, by name unless asked otherwise.
    pub topics: Vec<TopicView>,
    /// There are more, which the caller may not see.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub hidden: bool,
    /// How many there are on all pages.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub total: u64,
    /// Give it as `?next=` for the next page, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub next: Option<String>,
}

/// A topic with its settings and what is in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TopicView {
    pub topic: TopicName,
    pub settings: TopicSettingsView,
    pub partitions: Vec<TopicPartitionView>,
    /// Events that are retained. Holes of compacted topics are counted as events.
    pub events: u64,
    pub bytes: u64,
    /// Events per second in the last ten seconds; `null` until it is known: ask again in a second.
    pub events_per_s: Option<f64>,
    pub bytes_per_s: Option<f64>,
    /// The latest version of its schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub schema_version: Option<u32>,
    /// How far its declared indexes are; only where one topic was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub indexes: Vec<TopicIndexView>,
}

/// The settings of a topic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TopicSettingsView {
    pub partitions: u32,
    /// A jq program over the event that makes its key where the publisher gives none.
    pub key: Option<String>,
    pub retention: Retention,
    /// `null` where every event stays as long as `retention` says.
    pub compaction: Option<Compaction>,
    /// The newest offset of each key is kept, so that publishers can expect it. Compaction keeps it too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub versions: bool,
    /// Failed attempts before an event goes to the dead letters, for groups that do not say.
    pub max_attempts: Option<u32>,
    /// Events go to the topic of their schema's version as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub dual_write: Option<DualWriteView>,
    /// JSON pointers into the payload: what they name is hidden from readers who do not administer the topic.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub mask: Vec<String>,
    /// jq expressions over the event: searches for their values are answered without a scan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub index: Vec<String>,
    /// Its state is written to `<topic>.snapshot` so often.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub snapshot: Option<SnapshotSettings>,
    /// It holds the snapshots of this topic; only the hub publishes there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub snapshot_of: Option<TopicName>,
}

/// A declared index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TopicIndexView {
    pub expression: String,
    /// Events that are stored and not in it yet. At 0 it is exact.
    pub behind: u64,
}

/// How long a topic is written to twice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct DualWriteView {
    /// In epoch milliseconds; for good if not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub until: Option<i64>,
}

/// One partition of a topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TopicPartitionView {
    pub partition: u32,
    /// The first offset that may still be there.
    pub start: u64,
    /// The offset that the next event gets.
    pub head: u64,
    pub bytes: u64,
}

/// The query of `DELETE /topics/{topic}`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct DeleteTopic {
    /// `1`: delete `dlq.<topic>` as well.
    #[serde(default, with = "flag", skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<u8>, minimum = 0, maximum = 1))]
    pub with_letters: bool,
    /// `1`: only tell what would go.
    #[serde(default, with = "flag", skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<u8>, minimum = 0, maximum = 1))]
    pub dry_run: bool,
}

/// The answer to `DELETE /topics/{topic}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeletedTopics {
    /// The topic, then its dead letters if they go as well.
    pub topics: Vec<DeletedTopicView>,
    /// Nothing was deleted.
    pub dry_run: bool,
}

/// What goes with a topic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeletedTopicView {
    pub topic: TopicName,
    pub events: u64,
    pub bytes: u64,
    /// Groups whose cursors go, as far as the caller may see them. The groups stay.
    pub groups: Vec<GroupName>,
    /// There are more, which the caller may not see.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub hidden: bool,
}

/// The body of `PUT /topics/{topic}`. What is left out is the default, also for a topic that exists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct PutTopic {
    /// Never lowered, and never raised on a compacted topic. Raising moves keys to other partitions, and is written to
    /// the audit trail. 1 unless given.
    #[cfg_attr(feature = "openapi", schema(default = 1, minimum = 1, maximum = 4096))]
    pub partitions: u32,
    /// A jq program over the event that makes its key where the publisher gives none.
    #[cfg_attr(feature = "openapi", schema(example = ".payload.processId"))]
    pub key: Option<String>,
    #[serde(deserialize_with = "only_known_limits")]
    pub retention: Retention,
    /// Keeps at least the latest event of each key; every event then needs a key.
    pub compaction: Option<CompactionChoice>,
    /// Keeps the newest offset of each key, so that publishers can expect it (`opts.expect`). What retention removed before
    /// it was turned on is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub versions: Option<bool>,
    /// Failed attempts before an event goes to the dead letters, for groups that do not say.
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub max_attempts: Option<u32>,
    /// Events go to the topic of their schema's version as well, both or neither.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dual_write: Option<DualWriteView>,
    /// JSON pointers into the payload: what they name is hidden from readers who do not administer the topic. `*` stands for every
    /// member or element. A mask that is there has to be repeated, or ended with `[]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(example = json!(["/card/number", "/items/*/price"])))]
    pub mask: Option<Vec<String>>,
    /// jq expressions over the event, at most 8: searches that compare one with a value are answered without a scan.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(example = json!([".payload.customer"])))]
    pub index: Vec<String>,
    /// Writes its state to `<topic>.snapshot` so often, if anything is new.
    pub snapshot: Option<SnapshotSettings>,
}

/// `true`, `false`, or how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum CompactionChoice {
    Simply(bool),
    With(Compaction),
}

impl CompactionChoice {
    /// The settings that are chosen, where `usual` is what `true` means.
    pub fn settings(self, usual: Option<Compaction>) -> Option<Compaction> {
        match self {
            Self::Simply(false) => None,
            Self::Simply(true) => usual,
            Self::With(compaction) => Some(compaction),
        }
    }
}

impl Default for PutTopic {
    fn default() -> Self {
        Self {
            partitions: 1,
            key: None,
            retention: Retention::default(),
            compaction: None,
            versions: None,
            max_attempts: None,
            dual_write: None,
            mask: None,
            index: Vec::new(),
            snapshot: None,
        }
    }
}

impl From<TopicSettingsView> for PutTopic {
    fn from(settings: TopicSettingsView) -> Self {
        // Which topic it holds snapshots of is not put: that stays.
        let TopicSettingsView {
            partitions,
            key,
            retention,
            compaction,
            versions,
            max_attempts,
            dual_write,
            mask,
            index,
            snapshot,
            ..
        } = settings;
        let versions = versions.then_some(true);
        let compaction = compaction.map(CompactionChoice::With);
        let mask = (!mask.is_empty()).then_some(mask);
        Self { partitions, key, retention, compaction, versions, max_attempts, dual_write, mask, index, snapshot }
    }
}

/// Every limit is optional, so a misspelt one would silently keep events forever.
fn only_known_limits<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Retention, D::Error> {
    #[derive(Deserialize)]
    #[serde(remote = "Retention", deny_unknown_fields)]
    struct KnownLimits {
        age_ms: Option<u64>,
        size_bytes: Option<u64>,
    }
    KnownLimits::deserialize(deserializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_are_read_can_be_put_back() {
        let text = r#"{"partitions":4,"key":".payload.id","retention":{"age_ms":5},"compaction":{"tombstone_grace_ms":1},"versions":true,"max_attempts":3,"dual_write":{"until":7},"mask":["/card"],"index":[".payload.id"],"snapshot":{"every_ms":1000}}"#;
        let settings: TopicSettingsView = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&PutTopic::from(settings)).unwrap(), text);
    }

    #[test]
    fn everything_may_be_left_out_and_nothing_misspelt() {
        assert_eq!(serde_json::from_str::<PutTopic>("{}").unwrap(), PutTopic::default());
        for wrong in [r#"{"partition":1}"#, r#"{"retention":{"age":1}}"#, r#"{"compaction":"yes"}"#] {
            assert!(serde_json::from_str::<PutTopic>(wrong).is_err(), "{wrong}");
        }
    }
}
