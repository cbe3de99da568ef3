//! Deleting a topic: its settings, its events and the cursors of all groups on it go in one commit.
//!
//! ```text
//!   the registry forgets it ─▶ one commit: document, cursors, logs, audit ─▶ coordinators and dispatchers end
//! ```
//!
//! Promises: a crash leaves it whole or leaves nothing of it. An event that was admitted before and stored after is refused
//! by the store. No offset is used twice, so a topic of the same name can be made at once: what is still known of the old
//! one, here or at another hub, fits nothing in the new one. Groups stay, and read the new one from its beginning.

use std::sync::Arc;

use prom_store::{CursorChange, DocumentWrite};
use prom_types::{GroupName, TopicName};

use super::{RefusedFor, Topic};
use crate::bus::Core;
use crate::commit::NotCommitted;
use crate::limits::{CONTENTION_TRIES, DOCUMENTS_AT_ONCE};
use crate::set_aside::{GATES, gate_key};
use crate::supervise::TaskName;
use crate::{Bus, Error, audit};

/// Documents about what goes from one topic to another, such as how far it is. Their keys are `<from>><to>`, and they go with
/// either topic: a job that writes them under the condition that they are unchanged learns of the deletion.
pub const BETWEEN_TOPICS: &str = "cutovers";

/// What becomes of the dead letters of a topic that is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TopicLetters {
    /// They stay for as long as their own retention says.
    Keep,
    /// `dlq.<topic>` is deleted too, if there is one.
    Delete,
}

/// What goes, or went, with a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletedTopic {
    /// Its name.
    pub topic: TopicName,
    /// Events that were retained. Holes of compacted topics are counted as events.
    pub events: u64,
    /// Bytes of its events, as far as the store knows without looking.
    pub bytes: u64,
    /// Groups that had a cursor in it. They stay.
    pub groups: Vec<GroupName>,
}

impl Bus {
    /// What [`Bus::delete_topic`] would delete at this moment; changes nothing.
    pub async fn preview_delete_topic(&self, topic: &str, letters: TopicLetters) -> Result<Vec<DeletedTopic>, Error> {
        let mut going = Vec::new();
        for topic in self.topics_to_delete(topic, letters).await? {
            going.push(self.what_goes_with(&topic).await?);
        }
        Ok(going)
    }

    /// Deletes a topic with its events and the cursors of all groups. Subscriptions go on without it; what they had not
    /// settled is told as a gap. Written to `system.audit` in the same commit. Topics of the hub itself cannot be deleted,
    /// except dead letters.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), prom_engine::Error> {
    /// # let store = std::sync::Arc::new(prom_store::MemoryStore::new(std::sync::Arc::new(prom_store::SystemClock::new())));
    /// # let bus = prom_engine::Bus::start(store, Default::default()).await?;
    /// use prom_engine::TopicLetters;
    ///
    /// bus.publish("orders.test", serde_json::json!(1)).await?;
    /// let deleted = bus.delete_topic("orders.test", TopicLetters::Keep).await?;
    /// assert_eq!(deleted[0].events, 1);
    /// assert!(bus.topic("orders.test").await.is_err());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn delete_topic(&self, topic: &str, letters: TopicLetters) -> Result<Vec<DeletedTopic>, Error> {
        self.core().check_open()?;
        let mut deleted = Vec::new();
        for topic in self.topics_to_delete(topic, letters).await? {
            // In a task of its own: it also ends in order when the caller does not wait for it.
            let (bus, name) = (self.clone(), topic.name().clone());
            let task = TaskName::one("topic deleter", &name);
            let work = async move { bus.task_failures().watch(&task, bus.delete_one(&name)).await };
            deleted.push(match tokio::spawn(work).await {
                Ok(Ok(done)) => done?,
                Ok(Err(panicked)) => return Err(Error::NotReady { reason: panicked.reason }),
                Err(_) => return Err(Error::Closed),
            });
        }
        Ok(deleted)
    }

    /// The topic, and its letters if they are to go as well.
    async fn topics_to_delete(&self, topic: &str, letters: TopicLetters) -> Result<Vec<Arc<Topic>>, Error> {
        let topic = self.stored_topic(topic).await?;
        if topic.name().is_reserved() && !topic.name().is_dead_letters() {
            let reason = "it belongs to the hub";
            return Err(Error::TopicChange { topic: topic.name().clone(), reason });
        }
        let dead = match letters {
            TopicLetters::Keep => None,
            TopicLetters::Delete => topic.name().dead_letters(),
        };
        let dead = match dead {
            None => None,
            Some(letters) => match self.stored_topic(&letters).await {
                Ok(letters) => Some(letters),
                Err(Error::UnknownTopic { .. }) => None,
                Err(error) => return Err(error),
            },
        };
        Ok(std::iter::once(topic).chain(dead).collect())
    }

    /// As it is stored now. One that is only proposed has nothing to delete.
    async fn stored_topic(&self, name: &str) -> Result<Arc<Topic>, Error> {
        let (core, name) = (self.core(), TopicName::parse(name)?);
        let known = if core.topics.others_write() {
            core.topics.learn(&*core.store, &name).await?
        } else {
            core.topics.get(&name)
        };
        known.filter(|topic| topic.is_stored()).ok_or(Error::UnknownTopic { topic: name })
    }

    async fn what_goes_with(&self, topic: &Topic) -> Result<DeletedTopic, Error> {
        let info = self.topic(topic.name()).await?;
        let cursors = self.store().cursors(Some(topic.name())).await?;
        let mut groups: Vec<GroupName> = cursors.into_iter().map(|(cursor, _)| cursor.group).collect();
        groups.sort_unstable();
        groups.dedup();
        Ok(DeletedTopic {
            topic: topic.name().clone(),
            events: info.partitions.iter().map(|partition| partition.bounds.next - partition.bounds.start).sum(),
            bytes: info.partitions.iter().map(|partition| partition.bytes).sum(),
            groups,
        })
    }

    /// Decides by what is stored and commits only if that is still so, again while others are faster.
    async fn delete_one(&self, name: &TopicName) -> Result<DeletedTopic, Error> {
        let core = self.core();
        for _ in 0..CONTENTION_TRIES {
            let topic = self.stored_topic(name).await?;
            let going = self.what_goes_with(&topic).await?;
            let mut work = core.unit_of_work();
            let cursors = self.store().cursors(Some(name)).await?;
            for (cursor, _) in &cursors {
                work.change_cursor(cursor.clone(), CursorChange::Delete);
                work.write(DocumentWrite::delete(GATES, &gate_key(cursor)));
            }
            for key in self.documents_about(name).await? {
                work.write(DocumentWrite::delete(BETWEEN_TOPICS, &key));
            }
            work.write(core.forgotten_history(name).await?);
            audit::topic_deleted(&going, self.subject())?.add_to(&mut work)?;
            match core.topics.delete(&topic, work).await {
                Ok(()) => {
                    core.end_topic(name).await;
                    for (cursor, _) in &cursors {
                        core.forget_set_aside(cursor).await?;
                    }
                    core.begin_history_anew(name, topic.logs()).await?;
                    if let Err(error) = self.sweep_documents_about(name).await {
                        tracing::warn!(topic = %name, %error, "documents about a topic that was deleted may be left");
                    }
                    tracing::info!(topic = %name, events = going.events, "the topic was deleted");
                    return Ok(going);
                }
                Err(NotCommitted::Refused(refusal))
                    if core.topics.learn_from(&*core.store, &refusal).await? == RefusedFor::ForATopic => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::Contended { what: format!("topic {name}") })
    }
}

impl Bus {
    /// Keys of the documents about what goes from this topic or to it.
    async fn documents_about(&self, name: &TopicName) -> Result<Vec<String>, Error> {
        let is_about = |key: &str| key.split_once('>').is_some_and(|(from, to)| from == &**name || to == &**name);
        let mut keys = Vec::new();
        let mut after: Option<String> = None;
        loop {
            let page = self.documents(BETWEEN_TOPICS, after.as_deref(), DOCUMENTS_AT_ONCE).await?;
            let Some(last) = page.last() else {
                return Ok(keys);
            };
            after = Some(last.key.clone());
            keys.extend(page.into_iter().map(|document| document.key).filter(|key| is_about(key)));
        }
    }

    /// What was written while the topic was being deleted.
    async fn sweep_documents_about(&self, name: &TopicName) -> Result<(), Error> {
        for key in self.documents_about(name).await? {
            self.core().write(DocumentWrite::delete(BETWEEN_TOPICS, &key)).await?;
        }
        Ok(())
    }
}

impl Core {
    /// Another hub deleted it.
    pub(super) async fn forget_topic(self: &Arc<Self>, topic: &Arc<Topic>) {
        self.topics.forget(topic);
        self.end_topic(topic.name()).await;
    }

    /// Ends everything that works on a topic that is gone. If one of its name was made meanwhile, that is attached anew.
    async fn end_topic(self: &Arc<Self>, name: &TopicName) {
        for group in self.groups.all() {
            group.end_topic(name).await;
        }
        self.topics.announce_again(name);
    }
}
