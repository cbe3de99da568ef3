//! The jq programs of a feed: they see the change as one JSON object.
//!
//! ```json
//! { "op": "update", "ns": { "db": "shop", "coll": "orders" }, "key": "7", "id": "7", "cluster_time": "1700000000.3",
//!   "ts": 1700000000123, "document": { … }, "before": null, "update": { "updatedFields": { … }, … } }
//! ```
//!
//! Both run where they may take long, under the limits of every program.

use prom_engine::{Bus, Program, RunError};
use prom_store::record::write_json_string;

use super::change::{Change, told_time};
use super::error::FeedError;
use super::extended_json::{UnreadableBson, write_document, write_value};
use super::options::{FeedOptions, NumberForm};
use crate::patience::patiently;

/// Compiled once.
#[derive(Debug, Clone, Default)]
pub(crate) struct FeedPrograms {
    filter: Option<Program>,
    map: Option<Program>,
}

impl FeedPrograms {
    pub async fn compile(bus: &Bus, options: &FeedOptions) -> Result<Self, FeedError> {
        let compile = async |text: &Option<String>| match text {
            Some(text) => bus.compile_program(text).await.map(Some),
            None => Ok(None),
        };
        Ok(Self { filter: compile(&options.filter).await?, map: compile(&options.map).await? })
    }

    pub fn has_map(&self) -> bool {
        self.map.is_some()
    }

    pub fn is_empty(&self) -> bool {
        self.filter.is_none() && self.map.is_none()
    }

    /// Whether a change is published.
    pub fn wants(&self, input: &[u8]) -> Result<bool, RunError> {
        self.filter.as_ref().map_or(Ok(true), |filter| patiently(|| filter.test(input)))
    }

    /// The payloads of a change.
    pub fn payloads(&self, input: &[u8]) -> Result<Vec<Vec<u8>>, RunError> {
        self.map.as_ref().map_or_else(|| Ok(Vec::new()), |map| patiently(|| map.run(input)))
    }
}

/// The change as programs see it.
pub(crate) fn input(change: &Change<'_>, key: &str, numbers: NumberForm) -> Result<Vec<u8>, UnreadableBson> {
    let mut out = Vec::with_capacity(512);
    out.extend_from_slice(b"{\"op\":");
    write_json_string(change.op.as_str(), &mut out);
    out.extend_from_slice(b",\"ns\":{\"db\":");
    write_json_string(change.database, &mut out);
    out.extend_from_slice(b",\"coll\":");
    write_json_string(change.collection, &mut out);
    out.extend_from_slice(b"},\"key\":");
    write_json_string(key, &mut out);
    out.extend_from_slice(b",\"id\":");
    match change.id {
        Some(id) => write_value(id, numbers, &mut out)?,
        None => out.extend_from_slice(b"null"),
    }
    if let Some(time) = change.cluster_time {
        out.extend_from_slice(format!(",\"cluster_time\":\"{}\"", told_time(time)).as_bytes());
    }
    if let Some(at) = change.at_ms() {
        out.extend_from_slice(format!(",\"ts\":{at}").as_bytes());
    }
    for (name, part) in [("document", change.document), ("before", change.before), ("update", change.update)] {
        out.extend_from_slice(format!(",\"{name}\":").as_bytes());
        match part {
            Some(part) => write_document(part, numbers, &mut out)?,
            None => out.extend_from_slice(b"null"),
        }
    }
    if change.cut.is_cut() {
        out.extend_from_slice(b",\"cut\":true");
    }
    out.push(b'}');
    Ok(out)
}
