//! A topic is either divided by groups or has several partitions: virtual partitions lie in a topic's only log, and with more
//! of them their order would be lost.
//!
//! A group that divides is checked against the topics, a raise of partitions against the groups. Each could pass while the
//! other is under way, so both also write one document, under the condition that it is as it was before they checked. The
//! second one is refused, and checks again.

use prom_store::{CommitError, DocumentWrite, Expect};
use prom_types::{TopicName, TopicPattern};

use crate::bus::Core;
use crate::commit::NotCommitted;
use crate::{Bus, Error, GroupSubscription};

const COLLECTION: &str = "divisions";
const LAST: &str = "last";

impl Core {
    /// To be read before the check, and committed with what was checked.
    pub async fn division(&self) -> Result<DocumentWrite, Error> {
        let last = self.store.document(COLLECTION, LAST).await?;
        let revision = last.map_or(0, |last| last.revision);
        Ok(DocumentWrite::put(COLLECTION, LAST, "{}").expecting(Expect::Revision(revision)))
    }

    /// Only a topic of one partition can be divided by a group. Goes by what is known here.
    pub fn check_division(&self, topics: &[TopicPattern], partitions: Option<u32>) -> Result<(), Error> {
        let Some(partitions) = partitions else {
            return Ok(());
        };
        let named = topics.iter().filter_map(|pattern| self.topics.get(&pattern.as_topic()?));
        let others = named.map(|topic| topic.logs().len()).any(|own| own > 1 && own != partitions as usize);
        if others {
            Err(Error::BadOption {
                option: "partitions",
                asked: partitions.to_string(),
                reason: "the topic has several partitions of its own; leave the option out",
            })
        } else {
            Ok(())
        }
    }

    /// As [`Core::check_division`], by what is stored.
    pub async fn check_stored_division(&self, topics: &[TopicPattern], partitions: u32) -> Result<(), Error> {
        if self.topics.others_write() {
            for name in topics.iter().filter_map(TopicPattern::as_topic) {
                self.topics.learn(&*self.store, &name).await?;
            }
        }
        self.check_division(topics, Some(partitions))
    }
}

impl Bus {
    pub(super) async fn check_not_divided(&self, topic: &TopicName) -> Result<(), Error> {
        let groups = self.groups().await?;
        let divides = |one: &GroupSubscription| {
            one.options.partitions.is_some() && one.topics.iter().any(|pattern| pattern.matches(topic))
        };
        if groups.iter().flat_map(|group| &group.subscriptions).any(divides) {
            return Err(Error::TopicChange {
                topic: topic.clone(),
                reason: "a group divides it into partitions of its own; delete that group first, or make a new topic",
            });
        }
        Ok(())
    }
}

/// A group or a raise was faster.
pub(super) fn is_about_a_division(refused: &NotCommitted) -> bool {
    let NotCommitted::Refused(CommitError::Conflict { collection, .. }) = refused else {
        return false;
    };
    collection == COLLECTION
}
