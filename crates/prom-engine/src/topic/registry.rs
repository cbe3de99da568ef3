//! The registry: every topic with its settings, in memory for the publish path, durable as documents.
//!
//! A topic that is made by publishing is *proposed* first: it is in the registry, and every commit to
//! it carries its document until one of them is durable. So the first events and the topic come into
//! being together, and publishers that race agree on one set of settings.
//!
//! Such commits are handed to the store under the registry's read lock and changes of settings under
//! its write lock: as long as no other process writes to the store, what the registry says at that moment is
//! what will be stored.
//!
//! Where others write too, that is only a guess. A proposal is stored only where there is no such topic, or
//! the very same one, and a change of settings only at the revision it was checked against. If a guess was
//! wrong, the commit is refused whole, the registry takes over what is stored, and the publish is admitted
//! again ([`crate::commit`]). What is taken over never goes back to a lower revision.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use parking_lot::RwLock;
use prom_store::{Commit, CommitError, DocumentWrite, Expect, LogName, Outcome, PendingCommit, Store, Stored};
use prom_types::{TopicName, TopicPattern};
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::{COLLECTION, KeyProgram, TopicDocument, TopicSettings, conflict};
use crate::caps::Made;
use crate::commit::{NotCommitted, UnitOfWork};
use crate::meters::TopicMeter;
use crate::schema::{SchemaRegistry, SchemaSlot};
use crate::{Caps, Error};

/// A topic as the publish path sees it.
#[derive(Debug)]
pub(crate) struct Topic {
    pub settings: TopicSettings,
    /// Makes keys where publishers give none.
    pub key: Option<KeyProgram>,
    /// Where its schemas are found. Stays the same when the settings change.
    pub schema: Arc<SchemaSlot>,
    logs: Box<[LogName]>,
    /// Of its document, as far as it is known: it may be higher with the same settings. 0 while the
    /// topic is only proposed.
    revision: AtomicU64,
    /// Stays the same when the settings change, as does who made it.
    pub meter: Arc<TopicMeter>,
    made_by: Option<Arc<str>>,
    runtime: Handle,
}

/// All topics.
pub(crate) struct TopicRegistry {
    registered: RwLock<Registered>,
    /// Where the bus was started.
    runtime: Handle,
    /// The length of the history, for tasks that wait for new topics.
    grown: watch::Sender<usize>,
    pub(super) writers: Writers,
    schemas: Arc<SchemaRegistry>,
}

/// Names that the history keeps beyond two for each topic: a follower that is further behind looks at all topics.
const HISTORY: usize = 1000;

/// Who writes to the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Writers {
    OnlyUs,
    /// What is not known here may still be stored.
    Others,
}

#[derive(Default)]
struct Registered {
    by_name: HashMap<TopicName, Arc<Topic>, RandomState>,
    /// Names in the order in which topics were made or changed; a follower remembers how far it read.
    history: VecDeque<TopicName>,
    /// How many of the oldest names were given up.
    forgotten: usize,
    made: Made,
}

impl Topic {
    fn new(
        settings: TopicSettings,
        made_by: Option<Arc<str>>,
        revision: u64,
        runtime: Handle,
        schemas: &SchemaRegistry,
    ) -> Self {
        let log = |partition| LogName::new(settings.name.clone(), partition);
        Self {
            logs: (0..settings.partitions).map(log).collect(),
            schema: schemas.slot(&settings.name),
            // It was compiled when the settings were checked.
            key: settings.key.as_deref().and_then(|program| KeyProgram::compile(&settings.name, program).ok()),
            settings,
            revision: AtomicU64::new(revision),
            meter: Arc::default(),
            made_by,
            runtime,
        }
    }

    pub fn name(&self) -> &TopicName {
        &self.settings.name
    }

    pub fn logs(&self) -> &[LogName] {
        &self.logs
    }

    pub fn log(&self, partition: u32) -> Option<&LogName> {
        self.logs.get(partition as usize)
    }

    pub fn revision(&self) -> u64 {
        self.revision.load(Ordering::Relaxed)
    }

    /// Its document is known to be durable.
    pub fn is_stored(&self) -> bool {
        self.revision() != 0
    }

    /// Where the bus runs, for work without a waiting caller.
    pub fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// A commit that carried its document is durable.
    fn mark_stored(&self) {
        if !self.is_stored() {
            self.revision.fetch_max(1, Ordering::Relaxed);
        }
    }

    /// A commit is durable that had these events of the topic; its document went with it if it was
    /// only proposed.
    pub fn committed(&self, events: &[Stored]) {
        self.mark_stored();
        let fresh = events.iter().filter(|event| !event.duplicate).count();
        self.meter.published.add(fresh as u64);
    }
}

impl TopicRegistry {
    /// Without any topic yet.
    pub(super) fn new(writers: Writers, schemas: Arc<SchemaRegistry>) -> Self {
        let grown = watch::Sender::new(0);
        Self { registered: RwLock::default(), runtime: Handle::current(), grown, writers, schemas }
    }

    pub fn get(&self, name: &str) -> Option<Arc<Topic>> {
        self.registered.read().by_name.get(name).cloned()
    }

    /// Where the bus runs.
    pub fn runtime(&self) -> &Handle {
        &self.runtime
    }

    pub fn all(&self) -> Vec<Arc<Topic>> {
        self.registered.read().by_name.values().cloned().collect()
    }

    /// Topics that match one of the patterns, each once. Plain names cost a look-up each.
    pub fn matching(&self, patterns: &[TopicPattern]) -> Vec<Arc<Topic>> {
        let registered = self.registered.read();
        let names: Option<Vec<TopicName>> = patterns.iter().map(TopicPattern::as_topic).collect();
        match names {
            Some(names) => names.iter().filter_map(|name| registered.by_name.get(name).cloned()).collect(),
            None => {
                let wanted = |topic: &&Arc<Topic>| patterns.iter().any(|pattern| pattern.matches(topic.name()));
                registered.by_name.values().filter(wanted).cloned().collect()
            }
        }
    }

    /// Topics made or changed after the first `seen` of the history, and how long the history is now.
    pub fn since(&self, seen: usize) -> (Vec<Arc<Topic>>, usize) {
        let registered = self.registered.read();
        let length = registered.history_length();
        let Some(read) = seen.checked_sub(registered.forgotten) else {
            // Looking at a topic twice changes nothing.
            return (registered.by_name.values().cloned().collect(), length);
        };
        let names = registered.history.iter().skip(read);
        (names.filter_map(|name| registered.by_name.get(name).cloned()).collect(), length)
    }

    /// Changes whenever a topic is made or changed.
    pub fn watch(&self) -> watch::Receiver<usize> {
        self.grown.subscribe()
    }

    /// Whether `more` topics may be made.
    pub fn check_room(&self, caps: &Caps, maker: Option<&Arc<str>>, more: usize) -> Result<(), Error> {
        caps.check_topics(&self.registered.read().made, maker, more)
    }

    /// Whether one more may be made beside those that are only counted on.
    pub fn check_room_beside(&self, caps: &Caps, beside: &Made, maker: Option<&Arc<str>>) -> Result<(), Error> {
        caps.check_topics_beside(&self.registered.read().made, beside, maker)
    }

    /// The topic, or a proposal of it with these settings.
    pub fn get_or_propose(&self, settings: TopicSettings, maker: Option<&Arc<str>>) -> Arc<Topic> {
        let proposal = Arc::new(Topic::new(settings, maker.cloned(), 0, self.runtime.clone(), &self.schemas));
        let mut registered = self.registered.write();
        if let Some(first) = registered.by_name.get(proposal.name()) {
            return first.clone();
        }
        registered.set(proposal.clone());
        self.grown.send_replace(registered.history_length());
        proposal
    }

    /// What the store has, unless something newer is known.
    pub(super) fn take_over(&self, stored: TopicDocument, revision: u64) -> Arc<Topic> {
        let TopicDocument { settings, made_by } = stored;
        let mut topic = Topic::new(settings, made_by.map(Arc::from), revision, self.runtime.clone(), &self.schemas);
        let mut registered = self.registered.write();
        if let Some(current) = registered.by_name.get(topic.name()) {
            if current.revision() >= revision {
                return current.clone();
            }
            if current.settings == topic.settings {
                current.revision.fetch_max(revision, Ordering::Relaxed);
                return current.clone();
            }
            topic.meter = current.meter.clone();
        }
        let topic = Arc::new(topic);
        registered.set(topic.clone());
        self.grown.send_replace(registered.history_length());
        topic
    }

    /// Hands a commit over together with the documents of those of its topics that are only proposed.
    pub fn commit(&self, store: &dyn Store, mut commit: Commit, topics: &[Arc<Topic>]) -> PendingCommit {
        if topics.iter().all(|topic| topic.is_stored()) {
            return store.commit(commit);
        }
        let registered = self.registered.read();
        match registered.add_proposals(self.writers, topics, &mut commit) {
            Ok(()) => store.commit(commit),
            Err(error) => PendingCommit::known(Err(error)),
        }
    }

    /// As [`TopicRegistry::commit`], where the events are independent.
    pub fn commit_each(&self, store: &dyn Store, commit: Commit, topics: &[Arc<Topic>]) -> PendingCommit {
        if topics.iter().all(|topic| topic.is_stored()) {
            return store.commit_each(commit);
        }
        self.commit(store, commit, topics)
    }

    /// Makes a topic or changes it; the caller has checked that the change is allowed, where others write
    /// too against the document at this revision (0 where there was none). The rest of the unit becomes
    /// durable with the change.
    pub async fn put(
        &self,
        settings: TopicSettings,
        maker: Option<&Arc<str>>,
        checked_at: u64,
        work: UnitOfWork,
    ) -> Result<(), NotCommitted> {
        let expect = match self.writers {
            Writers::OnlyUs => Expect::Anything,
            Writers::Others => Expect::Revision(checked_at),
        };
        let mut topic = Topic::new(settings, maker.cloned(), 0, self.runtime.clone(), &self.schemas);
        let (pending, topic, before) = {
            let mut registered = self.registered.write();
            let before = registered.by_name.get(topic.name()).cloned();
            if let Some(before) = &before {
                before.settings.check_change(&topic.settings)?;
                topic.meter = before.meter.clone();
                topic.made_by = before.made_by.clone();
            }
            let topic = Arc::new(topic);
            registered.set(topic.clone());
            let pending = work.send_by(|commit, topics| {
                topic.write_into(commit, expect)?;
                registered.add_proposals(self.writers, topics, commit)
            });
            (pending, topic, before)
        };
        match pending.await {
            Ok(_) => {
                self.is_put(topic, checked_at + 1);
                Ok(())
            }
            Err(error) => {
                self.registered.write().put_back(&topic, before);
                Err(error)
            }
        }
    }

    /// Deletes a topic with everything in its logs; the rest of the unit becomes durable with it. From here on publishing
    /// proposes a new one; the store refuses events that were admitted before.
    pub async fn delete(&self, topic: &Arc<Topic>, work: UnitOfWork) -> Result<(), NotCommitted> {
        let expect = match self.writers {
            Writers::OnlyUs => Expect::Anything,
            Writers::Others => Expect::Revision(topic.revision()),
        };
        let (pending, before) = {
            let mut registered = self.registered.write();
            // It may have got more partitions since the caller looked it up.
            let before = registered.remove(topic.name()).unwrap_or_else(|| topic.clone());
            let pending = work.send_by(|commit, topics| {
                commit.documents.push(DocumentWrite::delete(COLLECTION, before.name()).expecting(expect));
                commit.ends.extend(before.logs.iter().cloned());
                registered.add_proposals(self.writers, topics, commit)
            });
            (pending, before)
        };
        pending.await.map(drop).inspect_err(|_| {
            let mut registered = self.registered.write();
            if !registered.by_name.contains_key(before.name()) {
                // As if it was made anew: dispatchers that stopped meanwhile start again.
                registered.set(before);
                self.grown.send_replace(registered.history_length());
            }
        })
    }

    /// Another hub deleted this very topic. One of the same name that was made since stays.
    pub(super) fn forget(&self, gone: &Arc<Topic>) {
        let mut registered = self.registered.write();
        if registered.by_name.get(gone.name()).is_some_and(|current| Arc::ptr_eq(current, gone)) {
            registered.remove(gone.name());
        }
    }

    /// What the store has instead of a topic that was deleted: a new one of that name, at whatever revision.
    pub(super) fn replace(&self, gone: &Arc<Topic>, stored: TopicDocument, revision: u64) {
        self.forget(gone);
        self.take_over(stored, revision);
    }

    /// If there is such a topic, subscriptions are attached to it again.
    pub(super) fn announce_again(&self, name: &TopicName) {
        let mut registered = self.registered.write();
        if registered.by_name.contains_key(name) {
            registered.note(name);
            self.grown.send_replace(registered.history_length());
        }
    }

    /// A change is durable. Older news may have come in between.
    fn is_put(&self, topic: Arc<Topic>, revision: u64) {
        let mut registered = self.registered.write();
        topic.revision.fetch_max(revision, Ordering::Relaxed);
        let current = registered.by_name.get(topic.name());
        if current.is_none_or(|current| current.is_stored() && current.revision() < revision) {
            registered.set(topic);
        }
        self.grown.send_replace(registered.history_length());
    }
}

impl Topic {
    fn write_into(&self, commit: &mut Commit, expect: Expect) -> Result<(), CommitError> {
        let made_by = self.made_by.as_deref().map(str::to_owned);
        let document = TopicDocument { settings: self.settings.clone(), made_by };
        let document = serde_json::to_vec(&document).map_err(|error| CommitError::Failed {
            reason: format!("settings of {}: {error}", self.name()),
            outcome: Outcome::NotStored,
        })?;
        let write = DocumentWrite::put(COLLECTION, self.name(), document).expecting(expect);
        if !commit.documents.contains(&write) {
            commit.documents.push(write);
            let options = self.settings.log_options();
            commit.logs.extend(self.logs.iter().map(|log| (log.clone(), options)));
        }
        Ok(())
    }
}

impl Registered {
    /// Adds the documents of topics that are only proposed.
    fn add_proposals(&self, writers: Writers, topics: &[Arc<Topic>], commit: &mut Commit) -> Result<(), CommitError> {
        for topic in topics.iter().filter(|topic| !topic.is_stored()) {
            // It may have been changed since the caller looked it up.
            let current = self.by_name.get(topic.name()).unwrap_or(topic);
            if writers == Writers::Others && current.settings != topic.settings {
                return Err(conflict(current.name(), current.revision()));
            }
            if !current.is_stored() {
                current.write_into(commit, Expect::AbsentOrSame)?;
            }
        }
        Ok(())
    }

    /// How long the history is, what was given up included.
    fn history_length(&self) -> usize {
        self.forgotten + self.history.len()
    }

    /// Changing a topic again and again does not fill the memory.
    fn note(&mut self, name: &TopicName) {
        if self.history.len() >= 2 * self.by_name.len() + HISTORY {
            let half = self.history.len() / 2;
            self.history.drain(..half);
            self.forgotten += half;
        }
        self.history.push_back(name.clone());
    }

    /// It counts to its maker no more.
    fn remove(&mut self, name: &TopicName) -> Option<Arc<Topic>> {
        let gone = self.by_name.remove(name)?;
        self.made.remove(gone.made_by.as_ref());
        Some(gone)
    }

    fn set(&mut self, topic: Arc<Topic>) {
        self.note(topic.name());
        self.made.add(topic.made_by.as_ref());
        if let Some(before) = self.by_name.insert(topic.name().clone(), topic) {
            self.made.remove(before.made_by.as_ref());
        }
    }

    /// A change could not be stored: what was there before holds again, unless others went on.
    fn put_back(&mut self, failed: &Arc<Topic>, before: Option<Arc<Topic>>) {
        let current = self.by_name.get(failed.name());
        if current.is_none_or(|current| !Arc::ptr_eq(current, failed)) {
            return;
        }
        self.made.remove(failed.made_by.as_ref());
        match before {
            Some(before) => {
                self.made.add(before.made_by.as_ref());
                self.by_name.insert(failed.name().clone(), before)
            }
            None => self.by_name.remove(failed.name()),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_topic_that_changes_again_and_again_does_not_fill_the_history() {
        let topics = TopicRegistry::new(Writers::Others, Arc::new(SchemaRegistry::new(Default::default(), &[])));
        let stored = |partitions| {
            let settings = TopicSettings::new("a").unwrap().partitions(partitions);
            TopicDocument { settings, made_by: None }
        };
        let changes = 5 * HISTORY;
        for revision in 1..=changes as u64 {
            topics.take_over(stored(1 + u32::from(revision % 2 == 0)), revision);
        }
        assert!(topics.registered.read().history.len() <= 2 + HISTORY);
        for seen in [0, changes / 2, changes - 1] {
            let (found, length) = topics.since(seen);
            assert_eq!((found[0].name().as_str(), length), ("a", changes));
        }
        assert!(topics.since(changes).0.is_empty());
    }

    #[tokio::test]
    async fn what_is_older_never_comes_back() {
        let topics = TopicRegistry::new(Writers::Others, Arc::new(SchemaRegistry::new(Default::default(), &[])));
        let settings = |partitions| TopicSettings::new("a").unwrap().partitions(partitions);
        let proposal = topics.get_or_propose(settings(1), None);
        proposal.meter.published.add(7);
        let partitions = |partitions, revision| {
            let stored = TopicDocument { settings: settings(partitions), made_by: None };
            topics.take_over(stored, revision).settings.partitions
        };
        assert_eq!(partitions(2, 1), 2, "what is stored holds, not what was proposed");
        assert_eq!(partitions(8, 3), 8);
        assert_eq!(partitions(4, 2), 8, "news may come late");
        assert_eq!(topics.since(0).1, 3);
        assert_eq!(partitions(8, 4), 8);
        assert_eq!(topics.since(0).1, 3, "the same settings are no news");
        let current = topics.get("a").unwrap();
        assert_eq!((current.revision(), current.meter.published.get()), (4, 7));
    }
}
