//! The registry: every topic with its settings, in memory for the publish path, durable as documents.
//!
//! A topic that is made by publishing is *proposed* first: it is in the registry, and every commit to
//! it carries its document until one of them is durable. So the first events and the topic come into
//! being together, publishers that race agree on one set of settings, and nobody's order is disturbed.
//! Such commits are handed to the store under the registry's read lock and changes of settings under
//! its write lock, so that a late proposal never overwrites a change.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use parking_lot::RwLock;
use prom_store::{Commit, CommitError, DocumentWrite, LogName, Outcome, PendingCommit, Store, Stored};
use prom_types::{TopicName, TopicPattern};
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::{COLLECTION, KeyProgram, TopicSettings};
use crate::Error;
use crate::admit::Admitted;
use crate::limits::DOCUMENTS_AT_ONCE;
use crate::meters::TopicMeter;

/// A topic as the publish path sees it.
#[derive(Debug)]
pub(crate) struct Topic {
    pub settings: TopicSettings,
    /// Makes keys where publishers give none.
    pub key: Option<KeyProgram>,
    logs: Box<[LogName]>,
    /// Its document is known to be durable.
    stored: AtomicBool,
    /// Stays the same when the settings change.
    pub meter: Arc<TopicMeter>,
    runtime: Handle,
}

/// All topics.
pub(crate) struct Topics {
    known: RwLock<Known>,
    /// Where the bus was started.
    runtime: Handle,
    /// The length of the history, for those who wait for new topics.
    grown: watch::Sender<usize>,
}

#[derive(Default)]
struct Known {
    by_name: HashMap<TopicName, Arc<Topic>, RandomState>,
    /// Names in the order in which topics were made or changed; a follower remembers how far it read.
    history: Vec<TopicName>,
}

impl Topic {
    fn new(settings: TopicSettings, stored: bool, runtime: Handle) -> Self {
        let log = |partition| LogName::new(settings.name.clone(), partition);
        Self {
            logs: (0..settings.partitions).map(log).collect(),
            // It was compiled when the settings were checked.
            key: settings.key.as_deref().and_then(|program| KeyProgram::compile(&settings.name, program).ok()),
            settings,
            stored: AtomicBool::new(stored),
            meter: Arc::default(),
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

    pub fn is_stored(&self) -> bool {
        self.stored.load(Ordering::Relaxed)
    }

    /// Where the bus runs, for what nobody waits for any more.
    pub fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// A commit that carried its document is durable.
    fn mark_stored(&self) {
        if !self.is_stored() {
            self.stored.store(true, Ordering::Relaxed);
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

impl Topics {
    /// Reads all settings from the store.
    pub async fn load(store: &dyn Store) -> Result<Self, Error> {
        let runtime = Handle::current();
        let mut known = Known::default();
        let mut after: Option<String> = None;
        loop {
            let page = store.documents(COLLECTION, after.as_deref(), DOCUMENTS_AT_ONCE).await?;
            let Some(last) = page.last() else { break };
            after = Some(last.key.clone());
            for document in page {
                let settings = TopicSettings::parse(&document)?;
                known.set(Arc::new(Topic::new(settings, true, runtime.clone())));
            }
        }
        let (grown, _) = watch::channel(known.history.len());
        Ok(Self { known: RwLock::new(known), runtime, grown })
    }

    pub fn get(&self, name: &str) -> Option<Arc<Topic>> {
        self.known.read().by_name.get(name).cloned()
    }

    pub fn require(&self, name: &str) -> Result<Arc<Topic>, Error> {
        match self.get(name) {
            Some(topic) => Ok(topic),
            None => Err(Error::UnknownTopic { topic: TopicName::parse(name)? }),
        }
    }

    pub fn all(&self) -> Vec<Arc<Topic>> {
        self.known.read().by_name.values().cloned().collect()
    }

    /// Topics that match one of the patterns, each once. Plain names cost a look-up each.
    pub fn matching(&self, patterns: &[TopicPattern]) -> Vec<Arc<Topic>> {
        let known = self.known.read();
        let names: Option<Vec<TopicName>> = patterns.iter().map(TopicPattern::as_topic).collect();
        match names {
            Some(names) => names.iter().filter_map(|name| known.by_name.get(name).cloned()).collect(),
            None => {
                let wanted = |topic: &&Arc<Topic>| patterns.iter().any(|pattern| pattern.matches(topic.name()));
                known.by_name.values().filter(wanted).cloned().collect()
            }
        }
    }

    /// Topics made or changed after the first `seen` of the history, and how long the history is now.
    pub fn since(&self, seen: usize) -> (Vec<Arc<Topic>>, usize) {
        let known = self.known.read();
        let names = known.history.iter().skip(seen);
        let topics = names.filter_map(|name| known.by_name.get(name).cloned()).collect();
        (topics, known.history.len())
    }

    /// Changes whenever a topic is made or changed.
    pub fn watch(&self) -> watch::Receiver<usize> {
        self.grown.subscribe()
    }

    /// The topic, or a proposal of it with these settings.
    pub fn get_or_propose(&self, settings: TopicSettings) -> Arc<Topic> {
        let proposal = Arc::new(Topic::new(settings, false, self.runtime.clone()));
        let mut known = self.known.write();
        if let Some(first) = known.by_name.get(proposal.name()) {
            return first.clone();
        }
        known.set(proposal.clone());
        self.grown.send_replace(known.history.len());
        proposal
    }

    /// Hands a commit over together with the documents of those of its topics that are only proposed.
    pub fn commit(&self, store: &dyn Store, mut commit: Commit, topics: &[Arc<Topic>]) -> PendingCommit {
        if topics.iter().all(|topic| topic.is_stored()) {
            return store.commit(commit);
        }
        let known = self.known.read();
        for topic in topics {
            // It may have been changed since the caller looked it up.
            let current = known.by_name.get(topic.name()).unwrap_or(topic);
            if !current.is_stored()
                && let Err(error) = current.write_into(&mut commit)
            {
                return PendingCommit::known(Err(error));
            }
        }
        store.commit(commit)
    }

    /// As [`Topics::commit`], where the events stand each for itself.
    pub fn commit_each(&self, store: &dyn Store, commit: Commit, topics: &[Arc<Topic>]) -> PendingCommit {
        match topics.iter().all(|topic| topic.is_stored()) {
            true => store.commit_each(commit),
            false => self.commit(store, commit, topics),
        }
    }

    /// Makes a topic or changes it; the caller has checked that the change is allowed. An audit event
    /// becomes durable with the change.
    pub async fn put(&self, store: &dyn Store, settings: TopicSettings, audit: Option<Admitted>) -> Result<(), Error> {
        let mut topic = Topic::new(settings, false, self.runtime.clone());
        let mut trailed = None;
        let (pending, topic, before) = {
            let mut known = self.known.write();
            let before = known.by_name.get(topic.name()).cloned();
            if let Some(before) = &before {
                before.settings.check_change(&topic.settings)?;
                topic.meter = before.meter.clone();
            }
            let topic = Arc::new(topic);
            let mut commit = Commit::default();
            topic.write_into(&mut commit)?;
            if let Some(Admitted { topic: trail, append, .. }) = audit {
                // It may have been made since the event was admitted.
                let current = known.by_name.get(trail.name()).unwrap_or(&trail);
                if !current.is_stored() {
                    current.write_into(&mut commit)?;
                }
                commit.appends.push(append);
                trailed = Some(trail);
            }
            known.set(topic.clone());
            (store.commit(commit), topic, before)
        };
        let result = pending.await;
        match &result {
            Ok(committed) => {
                topic.mark_stored();
                if let Some(trail) = trailed {
                    trail.committed(&committed.stored);
                }
                self.grown.send_replace(self.known.read().history.len());
            }
            Err(_) => self.known.write().put_back(&topic, before),
        }
        Ok(result.map(drop)?)
    }
}

impl Topic {
    fn write_into(&self, commit: &mut Commit) -> Result<(), CommitError> {
        let document = serde_json::to_vec(&self.settings).map_err(|error| CommitError::Failed {
            reason: format!("settings of {}: {error}", self.name()),
            outcome: Outcome::NotStored,
        })?;
        let write = DocumentWrite::put(COLLECTION, self.name(), document);
        if !commit.documents.contains(&write) {
            commit.documents.push(write);
            let options = self.settings.log_options();
            commit.logs.extend(self.logs.iter().map(|log| (log.clone(), options)));
        }
        Ok(())
    }
}

impl Known {
    fn set(&mut self, topic: Arc<Topic>) {
        self.history.push(topic.name().clone());
        self.by_name.insert(topic.name().clone(), topic);
    }

    /// A change could not be stored: what was there before holds again, unless others went on.
    fn put_back(&mut self, failed: &Arc<Topic>, before: Option<Arc<Topic>>) {
        let current = self.by_name.get(failed.name());
        if current.is_none_or(|current| !Arc::ptr_eq(current, failed)) {
            return;
        }
        match before {
            Some(before) => self.by_name.insert(failed.name().clone(), before),
            None => self.by_name.remove(failed.name()),
        };
    }
}
