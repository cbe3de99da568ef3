//! The topic that holds the snapshots of another.

use std::time::Duration;

use prom_engine::{Bus, Error, TopicSettings};
use prom_types::{Retention, TopicName};

use crate::JobError;
use crate::limits::SNAPSHOT_RETENTION;

/// `<topic>.snapshot`.
pub fn snapshot_topic(topic: &TopicName) -> Result<TopicName, JobError> {
    Ok(TopicName::parse(&format!("{topic}.snapshot"))?)
}

/// Makes it, or gives it as many partitions as its topic has. A topic of that name that holds other events is left alone.
pub(crate) async fn make_place(bus: &Bus, topic: &TopicName, place: &TopicName) -> Result<(), JobError> {
    let settings = bus.topic_settings(topic).await?;
    let refuse = |reason: &str| Err(JobError::SnapshotTopic { topic: topic.clone(), reason: reason.to_owned() });
    if topic.is_reserved() || settings.snapshot_of.is_some() {
        return refuse("it belongs to the hub, which makes no snapshots of it");
    }
    let wanted = match bus.topic_settings(place).await {
        Ok(found) if found.snapshot_of.as_ref() != Some(topic) => {
            return refuse(&format!("{place} holds other events; delete that topic, or publish them elsewhere"));
        }
        Ok(found) if found.partitions >= settings.partitions => return Ok(()),
        Ok(found) => TopicSettings { partitions: settings.partitions, ..found },
        Err(Error::UnknownTopic { .. }) => {
            let usual = u64::try_from(SNAPSHOT_RETENTION.as_millis()).unwrap_or(u64::MAX);
            let age_ms = settings.retention.age_ms.map_or(usual, |age| age.min(usual));
            let fresh =
                TopicSettings::new(place)?.partitions(settings.partitions).retain_for(Duration::from_millis(age_ms));
            let retention = Retention { size_bytes: settings.retention.size_bytes, ..fresh.retention };
            TopicSettings { snapshot_of: Some(topic.clone()), retention, ..fresh }
        }
        Err(error) => return Err(error.into()),
    };
    bus.create_topic(wanted).await?;
    Ok(())
}
