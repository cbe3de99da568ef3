//! Names on the command line, checked before anything is asked of a hub.

use prom_types::{GroupName, TopicName, TopicPattern};

pub fn topic(text: &str) -> Result<TopicName, String> {
    TopicName::parse(text).map_err(|error| error.to_string())
}

pub fn pattern(text: &str) -> Result<TopicPattern, String> {
    TopicPattern::parse(text).map_err(|error| error.to_string())
}

pub fn group(text: &str) -> Result<GroupName, String> {
    GroupName::parse(text).map_err(|error| error.to_string())
}
