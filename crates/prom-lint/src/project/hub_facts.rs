//! What a live hub has, as plain data: others ask the hub.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct LiveHub {
    /// For messages.
    pub address: String,
    pub topics: BTreeSet<String>,
    /// Schemas by topic and version.
    pub schemas: BTreeMap<String, BTreeMap<u32, Value>>,
    /// The hub has more, which the token does not cover.
    pub is_partial: bool,
}
