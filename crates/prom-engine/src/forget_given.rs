//! Forgetting what was set aside: of cursors that are deleted, and of letters that are gone.
//!
//! Both go page by page, so that neither memory nor a commit grows with the number of letters.

use std::collections::HashMap;
use std::sync::Arc;

use prom_store::{CursorName, Document, DocumentWrite, ReadLimit};
use prom_types::{EpochMs, TopicName};

use crate::Error;
use crate::bus::Core;
use crate::limits::DOCUMENTS_AT_ONCE;
use crate::set_aside::{self, GivenMark, KEYS, MARKS, MarkState, PARKED, gate_key};

impl Core {
    /// The cursor is gone: nothing of it waits, and no key of it is parked.
    pub async fn forget_set_aside(self: &Arc<Self>, cursor: &CursorName) -> Result<(), Error> {
        let name = format!("{}/", gate_key(cursor));
        for collection in [KEYS, PARKED, MARKS] {
            let mut after = name.clone();
            loop {
                let page = self.store.documents(collection, Some(&after), DOCUMENTS_AT_ONCE).await?;
                let ours: Vec<&Document> = page.iter().take_while(|one| one.key.starts_with(&name)).collect();
                let Some(last) = ours.last() else {
                    break;
                };
                after.clone_from(&last.key);
                self.delete_documents(collection, ours.iter().map(|one| one.key.as_str()).collect()).await?;
            }
        }
        Ok(())
    }

    async fn delete_documents(self: &Arc<Self>, collection: &'static str, keys: Vec<&str>) -> Result<(), Error> {
        let mut work = self.unit_of_work();
        keys.into_iter().for_each(|key| work.write(DocumentWrite::delete(collection, key)));
        work.send().await?;
        Ok(())
    }
}

/// One page of what became of letters: forgets it where all letters of that time are gone. Returns where the next page begins.
pub(crate) async fn forget_marks(core: &Arc<Core>, after: Option<&str>) -> Result<Option<String>, Error> {
    let page = core.store.documents(MARKS, after, DOCUMENTS_AT_ONCE).await?;
    let mut oldest: HashMap<TopicName, EpochMs> = HashMap::new();
    let mut gone = Vec::new();
    for document in &page {
        let mark: GivenMark = set_aside::read(MARKS, document)?;
        let topic = document.key.split('/').next().and_then(|topic| TopicName::parse(topic).ok());
        let Some(letters) = topic.and_then(|topic| topic.dead_letters()) else {
            continue;
        };
        if mark.state == MarkState::Waiting {
            continue;
        }
        let oldest = match oldest.get(&letters) {
            Some(oldest) => *oldest,
            None => *oldest.entry(letters.clone()).or_insert(oldest_of(core, &letters).await?),
        };
        // Its letter was there when it was given back.
        if mark.given_ts < oldest {
            gone.push(document.key.as_str());
        }
    }
    if !gone.is_empty() {
        core.delete_documents(MARKS, gone).await?;
    }
    Ok(page.into_iter().next_back().map(|last| last.key))
}

/// When the oldest event of a topic was stored; the end of time where there is none.
async fn oldest_of(core: &Core, topic: &TopicName) -> Result<EpochMs, Error> {
    let mut oldest = EpochMs::MAX;
    let topic = core.topics.get(topic);
    for log in topic.iter().flat_map(|topic| topic.logs()) {
        let bounds = core.store.bounds(log).await?;
        let one = ReadLimit { events: 1, ..ReadLimit::default() };
        let batch = core.store.read(log, bounds.start, one).await?;
        match batch.records.first() {
            Some(first) => oldest = oldest.min(first.stored_ts()),
            // It cannot be told.
            None if batch.next < bounds.next => return Ok(EpochMs::MIN),
            None => {}
        }
    }
    Ok(oldest)
}
