//! Topics: what they are told about themselves, and the registry that every publish looks into.

mod create;
mod delete;
mod division;
mod key;
mod key_path;
mod learn;
mod registry;
mod settings;

pub use create::{PartitionInfo, TopicInfo};
pub use delete::{BETWEEN_TOPICS, DeletedTopic, TopicLetters};
pub(crate) use key::KeyProgram;
pub(crate) use learn::{RefusedFor, conflict, follow_others, is_about_a_topic};
pub(crate) use registry::{Topic, TopicRegistry};
pub use settings::TopicSettings;
pub(crate) use settings::{TopicDocument, millis};

/// Where the settings are kept, one document per topic.
pub(crate) const COLLECTION: &str = "topics";
