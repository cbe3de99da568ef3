//! Learning of topics from the store: all of them at the start, and later those that others make or
//! change.
//!
//! ```text
//!   another hub ─▶ document ─▶ news ─▶ the registry ─▶ subscriptions attach, publishes go by it
//! ```
//!
//! A caller that asks for a topic unknown here does not wait for the news: the store is asked once.

use std::sync::Arc;
use std::time::Duration;

use prom_store::{CommitError, Document, DocumentNews, DocumentWatch, Store};
use prom_types::{TopicName, TopicPattern};

use super::registry::Writers;
use super::{COLLECTION, Topic, TopicDocument, TopicRegistry};
use crate::Error;
use crate::bus::{BusPhase, Core};
use crate::limits::{DOCUMENTS_AT_ONCE, FIRST_RETRY, LONGEST_RETRY};
use crate::schema::SchemaRegistry;

impl TopicRegistry {
    /// Reads all settings from the store. Where others write to it too, what they change from then on
    /// is told by the watch, for [`follow_others`].
    pub async fn load(store: &dyn Store, schemas: Arc<SchemaRegistry>) -> Result<(Self, Option<DocumentWatch>), Error> {
        // Before reading, so that nothing is missed in between.
        let news = store.watch_documents(COLLECTION);
        let topics = Self::new(if news.is_some() { Writers::Others } else { Writers::OnlyUs }, schemas);
        topics.learn_all(store, Err).await?;
        Ok((topics, news))
    }

    /// The topic; where others write too, the store is asked before it counts as unknown.
    pub async fn find(&self, store: &dyn Store, name: &str) -> Result<Option<Arc<Topic>>, Error> {
        match self.get(name) {
            None if self.others_write() => self.learn(store, &TopicName::parse(name)?).await,
            found => Ok(found),
        }
    }

    /// As [`TopicRegistry::find`]; an unknown topic is an error.
    pub async fn require(&self, store: &dyn Store, name: &str) -> Result<Arc<Topic>, Error> {
        match self.find(store, name).await? {
            Some(topic) => Ok(topic),
            None => Err(Error::UnknownTopic { topic: TopicName::parse(name)? }),
        }
    }

    /// Looks for the topics that are called by their names. What patterns match is left to the news: reading
    /// all topics for each of them would cost more than it brings.
    pub async fn find_named(&self, store: &dyn Store, patterns: &[TopicPattern]) -> Result<(), Error> {
        for name in patterns.iter().filter_map(TopicPattern::as_topic) {
            self.find(store, &name).await?;
        }
        Ok(())
    }

    /// Reads one topic as it is stored now.
    pub async fn learn(&self, store: &dyn Store, name: &TopicName) -> Result<Option<Arc<Topic>>, Error> {
        let document = store.document(COLLECTION, name).await?;
        document.map(|document| self.take_in(&document)).transpose()
    }

    pub fn others_write(&self) -> bool {
        self.writers == Writers::Others
    }

    /// Whether the commit was refused because a topic is not as it was taken for; then it is known now.
    pub async fn learn_from(&self, store: &dyn Store, refusal: &CommitError) -> Result<RefusedFor, Error> {
        match refusal {
            CommitError::Conflict { key, .. } if is_about_a_topic(refusal) => {
                self.learn(store, &TopicName::parse(key)?).await?;
                Ok(RefusedFor::ForATopic)
            }
            _ => Ok(RefusedFor::Otherwise),
        }
    }

    /// Page by page; what to do about a document that cannot be read is the caller's to say.
    async fn learn_all(&self, store: &dyn Store, faulty: impl Fn(Error) -> Result<(), Error>) -> Result<(), Error> {
        let mut after: Option<String> = None;
        loop {
            let page = store.documents(COLLECTION, after.as_deref(), DOCUMENTS_AT_ONCE).await?;
            let Some(last) = page.last() else {
                return Ok(());
            };
            after = Some(last.key.clone());
            for document in page {
                self.take_in(&document).map(drop).or_else(&faulty)?;
            }
        }
    }

    fn take_in(&self, document: &Document) -> Result<Arc<Topic>, Error> {
        Ok(self.take_over(TopicDocument::parse(document)?, document.revision))
    }
}

/// A topic is not as it was taken for.
pub(crate) fn is_about_a_topic(refusal: &CommitError) -> bool {
    matches!(refusal, CommitError::Conflict { collection, .. } if collection == COLLECTION)
}

/// The refusal of a commit that takes a topic for another one.
pub(crate) fn conflict(topic: &TopicName, current: u64) -> CommitError {
    CommitError::Conflict { collection: COLLECTION.to_owned(), key: topic.to_string(), current }
}

/// Why a commit was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RefusedFor {
    /// Admit its events again.
    ForATopic,
    Otherwise,
}

/// Takes in what others make, change and delete, until the bus stops.
pub(crate) async fn follow_others(core: &Arc<Core>, news: &mut DocumentWatch) {
    let mut phase = core.watch_phase();
    while *phase.borrow_and_update() == BusPhase::Open {
        tokio::select! {
            told = news.next() => match told {
                Ok(told) => take_in_news(core, told).await,
                Err(_) => return,
            },
            _ = phase.changed() => {}
        }
    }
}

/// Tries for as long as it takes: what is missed here would stay unknown.
async fn take_in_news(core: &Arc<Core>, mut told: DocumentNews) {
    let mut phase = core.watch_phase();
    let mut pause: Duration = FIRST_RETRY;
    while *phase.borrow_and_update() == BusPhase::Open {
        let error = match read_news(core, &told).await {
            Ok(()) | Err(Error::Closed) => return,
            Err(error) => error,
        };
        tracing::warn!(%error, "topics of other hubs cannot be read yet; trying again");
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            _ = phase.changed() => {}
        }
        pause = (pause * 2).min(LONGEST_RETRY);
        told = DocumentNews::Any;
    }
}

async fn read_news(core: &Arc<Core>, told: &DocumentNews) -> Result<(), Error> {
    let unreadable = |error: Error| match error {
        Error::Document { .. } => {
            tracing::error!(%error, "a topic of another hub is left out");
            Ok(())
        }
        other => Err(other),
    };
    match told {
        DocumentNews::Written(document) => core.topics.take_in(document).map(drop).or_else(unreadable),
        DocumentNews::Any => {
            forget_missing(core).await?;
            core.topics.learn_all(&*core.store, unreadable).await
        }
        DocumentNews::Deleted(key) => match core.topics.get(key) {
            Some(topic) => forget_if_deleted(core, &topic).await.or_else(unreadable),
            // It was deleted here.
            None => Ok(()),
        },
    }
}

/// Topics that another hub deleted while its news were missed.
async fn forget_missing(core: &Arc<Core>) -> Result<(), Error> {
    for topic in core.topics.all() {
        forget_if_deleted(core, &topic).await?;
    }
    Ok(())
}

/// A topic that was stored and is not any more, or is another one now. One that is only proposed is about to be stored.
async fn forget_if_deleted(core: &Arc<Core>, topic: &Arc<Topic>) -> Result<(), Error> {
    if !topic.is_stored() {
        return Ok(());
    }
    match core.store.document(COLLECTION, topic.name()).await? {
        None => core.forget_topic(topic).await,
        Some(document) => {
            let (stored, known) = (TopicDocument::parse(&document)?, topic.revision());
            let is_other = stored.settings != topic.settings;
            let is_another = document.revision < known || (document.revision == known && is_other);
            if is_another {
                // Dispatchers of the old one find their cursors gone, and start again.
                core.topics.replace(topic, stored, document.revision);
            }
        }
    }
    Ok(())
}
