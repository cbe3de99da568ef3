//! What a project has beside code: schema folders, `prom.toml`, its history in git, and what a live hub has.

mod history;
mod hub_facts;
mod json_place;
mod schemas;

pub use history::{HistoryError, HistoryPath, SchemaHistory};
pub use hub_facts::LiveHub;
pub use json_place::place_of_pointer;
pub use schemas::{ProjectSchemas, ProjectTopic, ProjectVersion};
