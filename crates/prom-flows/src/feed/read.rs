//! Reading ahead: changes are fetched while those before them are published.
//!
//! What is read and not published is bounded, in number and in bytes.

use std::sync::Arc;

use mongodb::bson::RawDocumentBuf;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::error::FeedError;
use super::limits::{BATCH_BYTES, BATCH_CHANGES, CALL_TIMEOUT, READ_AHEAD_CHANGES, READ_AHEAD_KIB, STREAM_AWAIT};
use super::position::held_token_text;
use super::stream::RawChanges;

/// A change that was read. Its room is free again when it is dropped.
pub(crate) struct ReadChange {
    pub raw: RawDocumentBuf,
    _room: OwnedSemaphorePermit,
}

enum ReadItem {
    Change(ReadChange),
    /// There is no change now; this token stands behind everything before it.
    Idle(String),
}

/// Changes that come next, and how the stream is behind them.
#[derive(Default)]
pub(crate) struct GatheredChanges {
    pub changes: Vec<ReadChange>,
    /// Behind the changes nothing waits, and this is where the stream is.
    pub idle: Option<String>,
}

/// A change stream that is read ahead; the reading ends with it.
pub(crate) struct ReadAhead {
    items: mpsc::Receiver<Result<ReadItem, FeedError>>,
    failed: Option<FeedError>,
    task: JoinHandle<()>,
}

impl Drop for ReadAhead {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl ReadAhead {
    pub fn start(stream: RawChanges) -> Self {
        let (sender, items) = mpsc::channel(READ_AHEAD_CHANGES);
        Self { items, failed: None, task: tokio::spawn(read(stream, sender)) }
    }

    /// Waits for the next change or word that there is none, and takes what is there already. An error comes after all changes
    /// that came before it. Nothing is lost if the future is dropped.
    pub async fn gather(&mut self) -> Result<GatheredChanges, FeedError> {
        if let Some(failed) = self.failed.take() {
            return Err(failed);
        }
        let mut gathered = GatheredChanges::default();
        let mut bytes = 0;
        let mut next = self.items.recv().await.unwrap_or(Err(FeedError::Ended));
        loop {
            match next {
                Ok(ReadItem::Change(change)) => {
                    bytes += change.raw.as_bytes().len();
                    gathered.changes.push(change);
                }
                Ok(ReadItem::Idle(token)) => gathered.idle = Some(token),
                Err(error) if gathered.changes.is_empty() => return Err(error),
                Err(error) => {
                    self.failed = Some(error);
                    break;
                }
            }
            if gathered.idle.is_some() || gathered.changes.len() >= BATCH_CHANGES || bytes >= BATCH_BYTES {
                break;
            }
            match self.items.try_recv() {
                Ok(item) => next = item,
                Err(_) => break,
            }
        }
        Ok(gathered)
    }
}

/// Runs until the stream fails or ends, or until nobody listens.
async fn read(mut stream: RawChanges, sender: mpsc::Sender<Result<ReadItem, FeedError>>) {
    let room = Arc::new(Semaphore::new(READ_AHEAD_KIB as usize));
    loop {
        let item = next(&mut stream, &room).await;
        let is_over = item.is_err();
        if sender.send(item).await.is_err() || is_over {
            return;
        }
    }
}

async fn next(stream: &mut RawChanges, room: &Arc<Semaphore>) -> Result<ReadItem, FeedError> {
    loop {
        let next =
            timeout(STREAM_AWAIT + CALL_TIMEOUT, stream.next_if_any()).await.map_err(|_| FeedError::Silent)??;
        match (next, stream.resume_token()) {
            (Some(raw), _) => {
                let kib = u32::try_from(raw.as_bytes().len() / 1024 + 1).unwrap_or(READ_AHEAD_KIB);
                let permit = room.clone().acquire_many_owned(kib.min(READ_AHEAD_KIB)).await;
                let permit = permit.map_err(|_| FeedError::Ended)?;
                return Ok(ReadItem::Change(ReadChange { raw, _room: permit }));
            }
            (None, _) if !stream.is_alive() => return Err(FeedError::Ended),
            (None, Some(token)) => return Ok(ReadItem::Idle(held_token_text(&token)?)),
            (None, None) => {}
        }
    }
}
