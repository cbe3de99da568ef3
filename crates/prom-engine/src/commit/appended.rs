//! The events of a unit: what their topics hear and what receipts say.

use std::sync::Arc;

use prom_store::{Append, CommitError, Stored};
use prom_types::{Durability, EventId, Receipt};
use smallvec::SmallVec;
use tokio::runtime::Handle;

use crate::admit::Admitted;
use crate::topic::Topic;

/// The appends of a commit, and the topics they are of. A lone event costs no allocation.
#[derive(Default)]
pub(super) struct Appended {
    topics: SmallVec<[Arc<Topic>; 1]>,
    appends: SmallVec<[AppendedEvent; 1]>,
    copies: usize,
}

struct AppendedEvent {
    id: EventId,
    partition: u32,
    /// Which of the topics.
    topic_at: u32,
    /// Stored beside another one, without a receipt.
    is_copy: bool,
}

impl Appended {
    pub fn add(&mut self, topic: Arc<Topic>, id: EventId, partition: u32) {
        let known = self.topics.iter().rposition(|one| Arc::ptr_eq(one, &topic));
        let topic_at = known.unwrap_or_else(|| {
            self.topics.push(topic);
            self.topics.len() - 1
        });
        self.appends.push(AppendedEvent { id, partition, topic_at: topic_at as u32, is_copy: false });
    }

    pub fn last_is_copy(&mut self) {
        if let Some(last) = self.appends.last_mut().filter(|last| !last.is_copy) {
            last.is_copy = true;
            self.copies += 1;
        }
    }

    pub fn is_copy(&self, at: usize) -> bool {
        self.appends.get(at).is_some_and(|append| append.is_copy)
    }

    /// A refusal that names an append, so that it names the event that has the receipt.
    pub fn by_event(&self, refusal: CommitError) -> CommitError {
        match refusal {
            CommitError::Unmet { log, index, expected, actual } => {
                let index = self.appends.iter().take(index).filter(|append| !append.is_copy).count();
                CommitError::Unmet { log, index, expected, actual }
            }
            other => other,
        }
    }

    pub fn topics(&self) -> &[Arc<Topic>] {
        &self.topics
    }

    /// How many events get one.
    pub fn receipts(&self) -> usize {
        self.appends.len() - self.copies
    }

    /// The runtime of the bus; `None` where no topic is concerned.
    pub fn runtime(&self) -> Option<&Handle> {
        self.topics.first().map(|topic| topic.runtime())
    }

    /// An append as it was admitted.
    pub fn admitted(&self, at: usize, append: &Append) -> Option<Admitted> {
        let event = self.appends.get(at)?;
        let topic = self.topics.get(event.topic_at as usize)?;
        Some(Admitted { topic: topic.clone(), append: append.clone(), id: event.id, copy: None })
    }

    /// The commit is durable; what became of each append, in their order.
    pub fn tell_topics(&self, stored: &[Stored]) {
        let mut rest = stored;
        for run in self.appends.chunk_by(|a, b| a.topic_at == b.topic_at) {
            let (of_run, behind) = rest.split_at(run.len().min(rest.len()));
            self.topics[run[0].topic_at as usize].committed(of_run);
            rest = behind;
        }
    }

    /// The receipt of each event that has one, in their order.
    pub fn into_receipts(self, stored: SmallVec<[Stored; 1]>, durability: Durability) -> impl Iterator<Item = Receipt> {
        let with_receipt = self.appends.into_iter().zip(stored).filter(|(event, _)| !event.is_copy);
        with_receipt.map(move |(event, stored)| Receipt {
            id: event.id,
            partition: stored.elsewhere.unwrap_or(event.partition),
            offset: stored.offset,
            stored_ts: stored.stored_ts,
            durability,
            duplicate: stored.duplicate,
        })
    }
}
