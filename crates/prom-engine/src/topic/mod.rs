//! Topics: what they are told about themselves, and the registry that every publish looks into.

mod committing;
mod create;
mod key;
mod learn;
mod registry;
mod settings;

pub(crate) use committing::{Again, Committing, Concerned, try_again};
pub use create::{PartitionInfo, TopicInfo};
pub(crate) use key::KeyProgram;
pub(crate) use learn::{Refused, follow_others};
pub(crate) use registry::{Topic, Topics};
pub use settings::TopicSettings;
pub(crate) use settings::millis;

/// Where the settings are kept, one document per topic.
pub(crate) const COLLECTION: &str = "topics";
