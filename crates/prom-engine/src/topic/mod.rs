//! Topics: what they are told about themselves, and the registry that every publish looks into.

mod registry;
mod settings;

pub(crate) use registry::{Topic, Topics};
pub use settings::{Compaction, Retention, TopicSettings};

/// Where the settings are kept, one document per topic.
pub(crate) const COLLECTION: &str = "topics";
