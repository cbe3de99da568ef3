//! `GET /groups` and `GET /groups/{group}` show groups and their members, `PATCH /groups/{group}` changes one.

use prom_types::{Backoff, GroupName, Mode, Order, TopicPattern};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::parked::ParkedKeyView;

/// The answer to `GET /groups`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GroupList {
    /// Those that the caller's rights cover, by name unless asked otherwise.
    pub groups: Vec<GroupView>,
    /// There are more, which the caller may not see.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub hidden: bool,
    /// Hubs that serve some of them and did not answer: their subscribers are not counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub silent_hubs: Vec<String>,
    /// How many there are on all pages.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub total: u64,
    /// Give it as `?next=` for the next page, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub next: Option<String>,
}

/// A group and what it subscribes to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GroupView {
    pub group: GroupName,
    pub subscriptions: Vec<SubscriptionView>,
    pub created_ts: i64,
    /// Kept up to date only where the group can expire.
    pub last_used_ts: i64,
    /// Subscribers at all hubs.
    pub subscribers: u64,
    /// The address of the hub that serves the group, among several on one store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub served_by: Option<String>,
    /// Events that it has not settled, of all its topics. Only in pages of a list: with `limit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub lag_events: Option<u64>,
    /// Events that are leased at the hub that was asked. Only in pages of a list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub in_flight: Option<u64>,
    /// Who takes part, by name. Left out in the list of all groups.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub members: Vec<GroupMemberView>,
    /// Some of its parked keys, twenty at the most; `/groups/{group}/parked` has all of a topic. Left out in the list of all groups.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub parked: Vec<ParkedKeyView>,
}

/// A subscriber of a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GroupMemberView {
    /// The name it gave itself, or the name of its connection.
    pub member: String,
    /// The subject of its token.
    pub subject: Option<String>,
    /// Where it is connected from; a hub's address if it comes through another hub.
    pub address: Option<String>,
    /// When it subscribed.
    pub since_ts: i64,
    pub topics: Vec<TopicPattern>,
    /// Events that are leased to it.
    pub in_flight: u64,
    /// How many may be.
    pub max_in_flight: u64,
    pub paused: bool,
    /// How long it has held the oldest of its events.
    pub oldest_lease_ms: Option<u64>,
}

/// Topics and patterns with the options they share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SubscriptionView {
    pub topics: Vec<TopicPattern>,
    pub options: GroupOptionsView,
}

/// The options of the group. `null` is the default of the topic or the hub.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GroupOptionsView {
    /// Where the group began: `latest`, `earliest`, `ts:…`, `after:…` or `offset:…`.
    #[cfg_attr(feature = "openapi", schema(example = "earliest"))]
    pub from: String,
    pub mode: Mode,
    /// Into how many partitions the group divides topics that have one.
    pub partitions: Option<u32>,
    pub order: Order,
    /// Whether a key stops when its event goes to the dead letters.
    #[serde(default)]
    pub park: bool,
    /// A jq program over the whole event.
    pub filter: Option<String>,
    pub max_attempts: Option<u32>,
    pub backoff: Backoff,
    /// The group is deleted after this long without a subscriber; `null`: never.
    pub expire_after_ms: Option<u64>,
}

/// The body of `PATCH /groups/{group}`. What is left out stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct PatchGroup {
    /// The topic or pattern whose options change. All that the group subscribes to unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<TopicPattern>,
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, nullable = false))]
    pub max_attempts: Option<u32>,
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub backoff: Option<Backoff>,
    /// Whether keys that fail are parked from now on; only with `order` by key. What is parked stays so.
    #[serde(default, deserialize_with = "not_null", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub park: Option<bool>,
    /// The group is deleted after this long without a subscriber; `null`: never.
    #[serde(default, deserialize_with = "null_is_a_value", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<u64>))]
    pub expire_after_ms: Option<Option<u64>>,
    /// Cannot change: the refusal says what to do instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub from: Option<Value>,
    /// Cannot change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub order: Option<Value>,
    /// Cannot change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// Cannot change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub mode: Option<Value>,
    /// Cannot change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<u32>))]
    pub partitions: Option<Value>,
}

/// Leaving it out keeps the value, so `null` would have no meaning.
fn not_null<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

fn null_is_a_value<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<u64>>, D::Error> {
    Option::<u64>::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_tells_null_from_nothing() {
        for text in ["{}", r#"{"expire_after_ms":null}"#, r#"{"max_attempts":7,"expire_after_ms":5}"#] {
            let change: PatchGroup = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&change).unwrap(), text);
        }
        for refused in [r#"{"maxAttempts":7}"#, r#"{"max_attempts":null}"#, r#"{"backoff":null}"#] {
            assert!(serde_json::from_str::<PatchGroup>(refused).is_err(), "{refused}");
        }
    }
}
