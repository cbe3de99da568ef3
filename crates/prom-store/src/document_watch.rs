//! Announcements of document writes, so that listeners need not poll.
//!
//! News carry the document itself. Few news wait for a slow listener: one that falls behind is told to read the whole
//! collection.

use hashbrown::HashMap;
use parking_lot::Mutex;
use tokio::sync::broadcast::{self, error::RecvError};

use crate::{Document, StoreError};

/// News that wait for a listener. One that is further behind reads the whole collection.
const WAITING_NEWS: usize = 256;

/// What happened to a collection, possibly through this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DocumentNews {
    /// A document as it was written, or as it has become since.
    Written(Document),
    /// The document of this key is gone.
    Deleted(String),
    /// Any document of the collection may have changed: read all of them.
    Any,
}

/// Announces the writes to one collection since this was created.
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

/// The listeners of each collection: the announcing side of a store.
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
        DocumentWatch(if listeners.is_closed {
            new().subscribe()
        } else {
            listeners.by_collection.entry_ref(collection).or_insert_with(new).subscribe()
        })
    }

    pub fn tell(&self, collection: &str, news: DocumentNews) {
        if let Some(sender) = self.0.lock().by_collection.get(collection) {
            // It is fine if there is no listener.
            let _listeners = sender.send(news);
        }
    }

    /// Some news were missed: every listener reads everything.
    pub fn tell_all(&self) {
        for sender in self.0.lock().by_collection.values() {
            let _listeners = sender.send(DocumentNews::Any);
        }
    }

    /// Ends all watches, including later ones.
    pub fn close(&self) {
        *self.0.lock() = Listeners { is_closed: true, ..Listeners::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_listener_that_falls_behind_reads_everything_and_continues() {
        let listeners = DocumentListeners::default();
        let mut watch = listeners.watch("topics");
        for key in 0..=WAITING_NEWS {
            listeners.tell("topics", DocumentNews::Deleted(key.to_string()));
        }
        assert_eq!(watch.next().await.unwrap(), DocumentNews::Any);
        assert_eq!(watch.next().await.unwrap(), DocumentNews::Deleted("1".to_owned()));
        listeners.close();
        let last = std::iter::from_fn(|| Some(watch.0.try_recv())).take_while(Result::is_ok).count();
        assert_eq!(last, WAITING_NEWS - 1, "news from before the end still arrive");
        assert!(matches!(watch.next().await, Err(StoreError::Closed)));
        assert!(matches!(listeners.watch("topics").next().await, Err(StoreError::Closed)));
    }
}
