//! State shared by all parts of an open store.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use hashbrown::HashMap;
use mongodb::bson::RawDocumentBuf;
use mongodb::bson::oid::ObjectId;
use mongodb::error::Error;
use mongodb::{Client, Cursor};
use parking_lot::Mutex;
use prom_store::{CommitError, DocumentListeners, Histogram, LogName, StoreError};
use tokio::sync::watch;

use crate::commit::CommitLanes;
use crate::cursor::CursorCache;
use crate::fault;
use crate::log::{BatchCache, LogHandle};
use crate::names::Collections;
use crate::options::MongoOptions;
use crate::topology::Topology;

pub struct MongoShared {
    pub client: Client,
    pub collections: Collections,
    pub options: MongoOptions,
    /// Marks every batch that this store writes.
    pub hub: ObjectId,
    pub lanes: CommitLanes,
    pub cache: BatchCache,
    pub cursors: CursorCache,
    pub listeners: DocumentListeners,
    pub topology: Arc<Topology>,
    /// A collection of the store that was dropped. What this hub remembers of it is no longer true.
    pub dropped: Mutex<Option<String>>,
    pub sync_ms: Histogram,
    pub closing: watch::Sender<bool>,
    pub runtime: tokio::runtime::Handle,
    attempts: AtomicI64,
    logs: Mutex<HashMap<LogName, Arc<LogHandle>>>,
}

impl MongoShared {
    pub fn new(client: Client, collections: Collections, options: MongoOptions, topology: Arc<Topology>) -> Self {
        Self {
            client,
            collections,
            hub: ObjectId::new(),
            lanes: CommitLanes::default(),
            cache: BatchCache::new(options.sizes.cache),
            cursors: CursorCache::default(),
            listeners: DocumentListeners::default(),
            topology,
            dropped: Mutex::default(),
            sync_ms: Histogram::default(),
            closing: watch::Sender::new(false),
            runtime: tokio::runtime::Handle::current(),
            attempts: AtomicI64::new(0),
            logs: Mutex::default(),
            options,
        }
    }

    /// The state of a log. Creates nothing in the database.
    pub fn log(&self, name: &LogName) -> Arc<LogHandle> {
        let mut logs = self.logs.lock();
        logs.entry_ref(name).or_insert_with(|| Arc::new(LogHandle::new(name.clone()))).clone()
    }

    /// A log that was used on this hub.
    pub fn known_log(&self, name: &LogName) -> Option<Arc<LogHandle>> {
        self.logs.lock().get(name).cloned()
    }

    pub fn known_logs(&self) -> Vec<Arc<LogHandle>> {
        self.logs.lock().values().cloned().collect()
    }

    pub fn next_attempt(&self) -> i64 {
        self.attempts.fetch_add(1, Ordering::Relaxed)
    }

    /// Why commits cannot succeed now, or would be wrong.
    pub fn trouble(&self) -> Option<String> {
        let dropped = || {
            self.dropped
                .lock()
                .as_ref()
                .map(|what| format!("{what} was dropped in MongoDB; restore it and start the hub again"))
        };
        self.topology.trouble().or_else(dropped)
    }

    pub fn is_closed(&self) -> bool {
        *self.closing.borrow()
    }

    pub fn check_open(&self) -> Result<(), StoreError> {
        if self.is_closed() { Err(StoreError::Closed) } else { Ok(()) }
    }

    /// A call to the server, with the usual timeout.
    pub async fn call<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        Self::within(self.options.times.call, work).await
    }

    /// A call to the server, with this timeout.
    pub async fn within<T>(most: Duration, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        match tokio::time::timeout(most, work).await {
            Ok(answer) => answer,
            Err(_) => Err(fault::timed_out()),
        }
    }

    /// A call that reads. It is retried while the servers are unsettled.
    pub async fn read<T, W>(&self, mut work: impl FnMut() -> W) -> Result<T, StoreError>
    where
        W: Future<Output = Result<T, Error>>,
    {
        let mut pause = RetryPause::default();
        let deadline = tokio::time::Instant::now() + self.options.times.commit;
        loop {
            match self.call(work()).await {
                Ok(answer) => return Ok(answer),
                Err(error) if fault::is_passing(&error) && tokio::time::Instant::now() < deadline => {
                    pause.wait().await;
                }
                Err(error) => return Err(fault::explain(&error)),
            }
        }
    }
}

/// A pause between retries that doubles each time, up to a second.
pub struct RetryPause(Duration);

impl Default for RetryPause {
    fn default() -> Self {
        Self(Duration::from_millis(2))
    }
}

impl RetryPause {
    pub async fn wait(&mut self) {
        tokio::time::sleep(self.0).await;
        self.0 = (self.0 * 2).min(Duration::from_secs(1));
    }
}

/// The error of a commit, from work that fails with a `StoreError`.
pub fn commit_error(error: StoreError) -> CommitError {
    match error {
        StoreError::Commit(error) => error,
        StoreError::Closed => CommitError::Closed,
        other => CommitError::Failed { reason: other.to_string(), outcome: prom_store::Outcome::NotStored },
    }
}

/// All results of a query. Only for queries with a bounded number of results.
pub async fn all(mut found: Cursor<RawDocumentBuf>) -> Result<Vec<RawDocumentBuf>, Error> {
    let mut documents = Vec::new();
    while found.advance().await? {
        documents.push(found.current().to_owned());
    }
    Ok(documents)
}
