//! `GET /registry` lists the topics that have schemas, `PUT /registry/settings` changes what holds for all of them.

use prom_types::TopicName;
use serde::{Deserialize, Serialize};

use super::schema::SchemaSettingsView;

/// The answer to `GET /registry`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RegistryView {
    /// What holds where a topic sets nothing.
    pub settings: SchemaSettingsView,
    /// Those that the caller's rights cover, by name.
    pub topics: Vec<RegistryTopic>,
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

/// A topic of the registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RegistryTopic {
    pub topic: TopicName,
    /// The latest version that is not deleted.
    pub latest: Option<u32>,
    /// The id of its schema.
    pub latest_id: Option<u32>,
    /// When it was registered.
    pub latest_ts: Option<i64>,
    /// Versions that are not deleted.
    pub versions: Vec<u32>,
    /// Versions that an upcaster leads away from.
    pub upcasters: Vec<u32>,
    pub compat: String,
    pub policy: String,
}
