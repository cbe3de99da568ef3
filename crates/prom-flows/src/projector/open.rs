//! From the settings of a projector to what it works with.

use prom_engine::Bus;

use super::error::ProjectError;
use super::mongo::{MongoChangelog, MongoTransactional};
use super::program::Projection;
use super::settings::{ProjectorSettings, ProjectorTarget};
use super::store_target::StoreTarget;
use super::target::ProjectionTarget;
use super::topic_target::TopicTarget;

/// The target, not opened yet.
pub(crate) fn target(bus: &Bus, settings: &ProjectorSettings) -> Result<Box<dyn ProjectionTarget>, ProjectError> {
    let (topic, declared) = (settings.topic.clone(), settings.collections.clone());
    match &settings.target {
        ProjectorTarget::Store => Ok(Box::new(StoreTarget::new(bus.clone(), topic, declared, settings.version))),
        ProjectorTarget::Topic { into, silence } => {
            Ok(Box::new(TopicTarget::new(bus.clone(), settings.name.clone(), into.clone(), silence.clone())))
        }
        ProjectorTarget::Mongo { url, database } => {
            let place = (url.clone(), database.clone());
            match (&settings.projection, declared.first()) {
                (Projection::Transactional(_), _) => {
                    Ok(Box::new(MongoTransactional::new(bus.clone(), settings.name.clone(), topic, place, declared)))
                }
                (Projection::Changelog(_), Some(collection)) => {
                    let collection = collection.clone();
                    Ok(Box::new(MongoChangelog::new(place.0, place.1, collection, settings.version)))
                }
                _ => Err(ProjectError::Stopped("it names no collection".to_owned())),
            }
        }
    }
}

/// Why it cannot build its documents anew, if so.
pub(crate) fn cannot_rebuild(settings: &ProjectorSettings) -> Option<String> {
    if matches!(settings.target, ProjectorTarget::Topic { .. }) {
        return Some("what it published stays; to publish again, replay the topic".to_owned());
    }
    let is_mongo = matches!(settings.target, ProjectorTarget::Mongo { .. });
    let is_transactional = matches!(settings.projection, Projection::Transactional(_));
    (is_mongo && is_transactional).then(|| {
        "MongoDB cannot put several collections in the place of others at one moment; give the projector another name and new \
         collections instead"
            .to_owned()
    })
}
