//! `GET /lag`: how far groups are behind.

use prom_types::{GroupName, TopicName};
use serde::{Deserialize, Serialize};

/// The query of `GET /lag`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct LagQuery {
    /// All topics unless given.
    pub topic: Option<TopicName>,
    /// All groups unless given.
    pub group: Option<GroupName>,
}

/// One lag where topic and group are given, else those that the caller may see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum LagAnswer {
    One(LagView),
    Many {
        lags: Vec<LagView>,
        /// There are more, which the caller may not see.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[cfg_attr(feature = "openapi", schema(required = false))]
        hidden: bool,
        /// How many more there are: an answer has the 1000 that are furthest behind. Ask for a topic or a group to see others.
        #[serde(default, skip_serializing_if = "is_zero")]
        #[cfg_attr(feature = "openapi", schema(required = false))]
        omitted: u64,
        /// Hubs that serve some of them and did not answer: what their subscribers hold is not counted.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "openapi", schema(required = false))]
        silent_hubs: Vec<String>,
    },
}

impl LagAnswer {
    /// Hubs that did not answer.
    pub fn silent_hubs(&self) -> &[String] {
        match self {
            Self::One(_) => &[],
            Self::Many { silent_hubs, .. } => silent_hubs,
        }
    }

    pub fn into_lags(self) -> Vec<LagView> {
        match self {
            Self::One(lag) => vec![lag],
            Self::Many { lags, .. } => lags,
        }
    }

    /// How many more there are than an answer has.
    pub fn omitted(&self) -> u64 {
        match self {
            Self::One(_) => 0,
            Self::Many { omitted, .. } => *omitted,
        }
    }

    /// There are more, which the caller may not see.
    pub fn is_partial(&self) -> bool {
        matches!(self, Self::Many { hidden: true, .. })
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Retained, unsettled events of a group in a topic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct LagView {
    pub topic: TopicName,
    pub group: GroupName,
    /// The floor: everything before it is settled. The sum over the partitions.
    pub last_cursor: u64,
    /// The offset that the next event gets. The sum over the partitions.
    pub tail: u64,
    pub lag_events: u64,
    /// The age of the oldest unsettled event.
    pub lag_ms: u64,
    pub in_flight: u64,
    /// Dead letters of the topic that are retained, of all its groups; what is in them counts as settled.
    #[serde(default)]
    pub dead_letters: u64,
    pub partitions: Vec<PartitionLagView>,
}

/// The lag in one partition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct PartitionLagView {
    pub partition: u32,
    pub floor: u64,
    pub next: u64,
    pub lag_events: u64,
    pub lag_ms: u64,
    pub in_flight: u64,
}
