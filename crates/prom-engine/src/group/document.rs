//! The stored form of a group, and the decision what a subscriber's wishes mean for it.

use prom_store::{DocumentWrite, Expect, Store};
use prom_types::{EpochMs, GroupName, TopicPattern};
use serde::{Deserialize, Serialize};

use super::overlap::can_meet;
use super::{COLLECTION, GroupOptions, RequestedOptions};
use crate::Error;
use crate::limits::TOPICS_OF_GROUP;

/// A group: each thing it subscribes to, with the options agreed on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct GroupDocument {
    pub subscriptions: Vec<Agreed>,
    pub created_ts: EpochMs,
    pub last_used_ts: EpochMs,
    /// The subject that made it, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_by: Option<String>,
}

/// What a group subscribes to in one go.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Agreed {
    /// In order, each once.
    pub topics: Vec<TopicPattern>,
    pub options: GroupOptions,
}

impl Agreed {
    pub fn matches(&self, topic: &str) -> bool {
        self.topics.iter().any(|pattern| pattern.matches(topic))
    }

    pub fn can_meet(&self, topics: &[TopicPattern]) -> bool {
        let meets = |one: &TopicPattern| topics.iter().any(|other| can_meet(one.as_str(), other.as_str()));
        self.topics.iter().any(meets)
    }
}

/// A group as it was read, with the revision for writing it back.
pub(crate) async fn read_group(store: &dyn Store, name: &GroupName) -> Result<Option<(GroupDocument, u64)>, Error> {
    let Some(document) = store.document(COLLECTION, name.as_str()).await? else {
        return Ok(None);
    };
    let group = GroupDocument::parse(name.as_str(), &document.value)?;
    Ok(Some((group, document.revision)))
}

impl GroupDocument {
    pub fn new(now: EpochMs) -> Self {
        Self { subscriptions: Vec::new(), created_ts: now, last_used_ts: now, made_by: None }
    }

    pub fn parse(key: &str, value: &[u8]) -> Result<Self, Error> {
        serde_json::from_slice(value).map_err(|error| Error::Document {
            collection: COLLECTION,
            key: key.to_owned(),
            reason: error.to_string(),
        })
    }

    pub fn write(&self, name: &GroupName, expect: Expect) -> Result<DocumentWrite, Error> {
        let value = serde_json::to_vec(self).map_err(|error| Error::Document {
            collection: COLLECTION,
            key: name.to_string(),
            reason: error.to_string(),
        })?;
        Ok(DocumentWrite::put(COLLECTION, name.as_str(), value).expecting(expect))
    }

    pub fn matches(&self, topic: &str) -> bool {
        self.subscriptions.iter().any(|agreed| agreed.matches(topic))
    }

    /// The options under which a topic is read. Subscriptions that reach the same have the same.
    pub fn options_of(&self, topic: &str) -> Option<&GroupOptions> {
        let agreed = self.subscriptions.iter().find(|agreed| agreed.matches(topic))?;
        Some(&agreed.options)
    }

    /// The longest of the expiry times, if every subscription has one.
    pub fn expire_after_ms(&self) -> Option<u64> {
        let times = self.subscriptions.iter().map(|agreed| agreed.options.expire_after_ms);
        times.collect::<Option<Vec<_>>>()?.into_iter().max()
    }

    /// The options under which `topics` are subscribed to, and whether the group learned something
    /// new by it. Subscriptions of one group that can reach the same topic have the same options.
    pub fn agree(
        &mut self,
        name: &GroupName,
        topics: &[TopicPattern],
        asked: RequestedOptions,
    ) -> Result<(GroupOptions, Learned), Error> {
        let is_known = self.subscriptions.iter().any(|agreed| agreed.topics == topics);
        if !is_known {
            self.check_room_for(topics.len())?;
        }
        let mut in_use: Option<&GroupOptions> = None;
        for agreed in self.subscriptions.iter().filter(|agreed| agreed.can_meet(topics)) {
            asked.agrees_with(name, &agreed.options)?;
            if let Some(first) = in_use {
                first.same_as(name, &agreed.options)?;
            }
            in_use = Some(&agreed.options);
        }
        let options = match in_use {
            Some(options) => options.clone(),
            None => asked.into_options()?,
        };
        if is_known {
            return Ok((options, Learned::Nothing));
        }
        self.subscriptions.push(Agreed { topics: topics.to_vec(), options: options.clone() });
        Ok((options, Learned::Topics))
    }

    /// Before anything is compared: that is what the limit is for.
    fn check_room_for(&self, more: usize) -> Result<(), Error> {
        let topics = self.subscriptions.iter().map(|agreed| agreed.topics.len()).sum::<usize>() + more;
        if topics > TOPICS_OF_GROUP {
            Err(Error::BadOption {
                option: "topics",
                asked: format!("a list that makes {topics} for the group"),
                reason: "a group subscribes to at most 1000 topics and patterns; use a pattern, or another group",
            })
        } else {
            Ok(())
        }
    }
}

/// What an agreement added to a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Learned {
    Nothing,
    /// It subscribes to more than before.
    Topics,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Order;

    fn patterns(texts: &[&str]) -> Vec<TopicPattern> {
        texts.iter().map(|text| TopicPattern::parse(text).unwrap()).collect()
    }

    #[test]
    fn subscriptions_that_can_meet_share_their_options() {
        let name = GroupName::parse("g").unwrap();
        let by_key = RequestedOptions { order: Some(Order::Key), ..RequestedOptions::default() };
        let mut group = GroupDocument::new(0);
        group.agree(&name, &patterns(&["a.*"]), by_key.clone()).unwrap();
        let (options, learned) = group.agree(&name, &patterns(&["*.b"]), RequestedOptions::default()).unwrap();
        assert_eq!((options.order, learned), (Order::Key, Learned::Topics));
        let none = RequestedOptions { order: Some(Order::None), ..RequestedOptions::default() };
        assert!(group.agree(&name, &patterns(&["a.c"]), none.clone()).is_err());
        let (options, _) = group.agree(&name, &patterns(&["c.d"]), none).unwrap();
        assert_eq!(options.order, Order::None);
        assert!(group.agree(&name, &patterns(&["**"]), RequestedOptions::default()).is_err(), "it would meet both");
        assert_eq!(group.agree(&name, &patterns(&["a.*"]), by_key).unwrap().1, Learned::Nothing);
    }
}
