//! `system.metrics`: how hubs are doing, as events that they write themselves.

use prom_types::{NewEvent, TopicName};
use serde_json::Value;

use crate::Error;
use crate::commit::UnitOfWork;

/// The topic of the reports.
pub const METRICS_TOPIC: &str = "system.metrics";

pub(crate) fn is_metrics(topic: &TopicName) -> bool {
    topic.as_str() == METRICS_TOPIC
}

impl UnitOfWork {
    /// Adds a report to `system.metrics`. Reports of one hub stay in order by its name.
    pub fn report(&mut self, hub: Option<&str>, figures: Value) -> Result<(), Error> {
        let topic = TopicName::parse(METRICS_TOPIC)?;
        let mut event = NewEvent::new(topic.clone(), figures);
        event.key = hub.map(Into::into);
        self.publish_own(topic, &event)
    }
}
