//! Hearing of documents that somebody wrote, without asking again and again.
//!
//! News bring the document along, so that nobody has to ask for it. Few of them wait for slow listeners:
//! whoever falls behind is told to look at the whole collection.

use hashbrown::HashMap;
use parking_lot::Mutex;
use tokio::sync::broadcast::{self, error::RecvError};

use crate::{Document, StoreError};

/// News that wait for a listener; one that is further behind looks at the whole collection.
const WAITING_NEWS: usize = 256;

/// What happened to a collection, perhaps by this process itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DocumentNews {
    /// A document as it was written, or as it became since.
    Written(Document),
    /// The document of this key is gone.
    Deleted(String),
    /// Any document of the collection may have changed: look at all of them.
    Any,
}

/// Tells of the writes to one collection that came after it was made.
#[derive(Debug)]
pub struct DocumentWatch(broadcast::Receiver<DocumentNews>);

impl DocumentWatch {
    /// The next news; `Closed` when the store closed. Nothing is lost if the future is dropped.
    pub async fn next(&mut self) -> Result<DocumentNews, StoreError> {
        match self.0.recv().await {
            Ok(news) => Ok(news),
            Err(RecvError::Lagged(_)) => Ok(DocumentNews::Any),
            Err(RecvError::Closed) => Err(StoreError::Closed),
        }
    }
}

/// Who listens to which collection: the part of a store that tells.
#[derive(Debug, Default)]
pub struct DocumentListeners(Mutex<Listeners>);

#[derive(Debug, Default)]
struct Listeners {
    by_collection: HashMap<String, broadcast::Sender<DocumentNews>>,
    is_closed: bool,
}

impl DocumentListeners {
    pub fn watch(&self, collection: &str) -> DocumentWatch {
        let mut listeners = self.0.lock();
        let new = || broadcast::Sender::new(WAITING_NEWS);
        DocumentWatch(match listeners.is_closed {
            true => new().subscribe(),
            false => listeners.by_collection.entry_ref(collection).or_insert_with(new).subscribe(),
        })
    }

    pub fn tell(&self, collection: &str, news: DocumentNews) {
        if let Some(sender) = self.0.lock().by_collection.get(collection) {
            // Nobody listening is fine.
            let _listeners = sender.send(news);
        }
    }

    /// Something was missed: everybody looks at everything.
    pub fn tell_all(&self) {
        for sender in self.0.lock().by_collection.values() {
            let _listeners = sender.send(DocumentNews::Any);
        }
    }

    /// Ends all watches, also those made later.
    pub fn close(&self) {
        *self.0.lock() = Listeners { is_closed: true, ..Listeners::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_listener_that_falls_behind_looks_at_everything_and_then_goes_on() {
        let listeners = DocumentListeners::default();
        let mut watch = listeners.watch("topics");
        for key in 0..=WAITING_NEWS {
            listeners.tell("topics", DocumentNews::Deleted(key.to_string()));
        }
        assert_eq!(watch.next().await.unwrap(), DocumentNews::Any);
        assert_eq!(watch.next().await.unwrap(), DocumentNews::Deleted("1".to_owned()));
        listeners.close();
        let last = std::iter::from_fn(|| Some(watch.0.try_recv())).take_while(Result::is_ok).count();
        assert_eq!(last, WAITING_NEWS - 1, "what was told before the end is still heard");
        assert!(matches!(watch.next().await, Err(StoreError::Closed)));
        assert!(matches!(listeners.watch("topics").next().await, Err(StoreError::Closed)));
    }
}
