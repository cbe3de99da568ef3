//! The store's public type: every trait method calls the file of its verb.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use parking_lot::Mutex;
use prom_store::{
    Bounds, Commit, CompactPlan, CompactReport, CursorName, CursorState, Cursors, Document, DocumentWatch, Documents,
    Find, HeadWatch, Leases, LogInfo, LogName, Logs, PendingCommit, ReadBatch, ReadLimit, Record, Store, StoreError,
    StoreLease, StoreMeters,
};
use prom_types::{Durability, Offset, TopicName};
use tokio::task::JoinHandle;

use crate::limits::LISTED_AT_ONCE;
use crate::log::{LogHandle, ensure_loaded};
use crate::options::MongoOptions;
use crate::shared::MongoShared;
use crate::{commit, compact, cursor, document, find, follow, latest, lease, open, read, sweep, trim};

/// Events, cursors and documents on a replica set, shared with other hubs.
pub struct MongoStore {
    shared: Arc<MongoShared>,
    background: Mutex<Vec<JoinHandle<()>>>,
}

impl MongoStore {
    /// Connects, creates what is missing, and follows the writes of other hubs. Waits for a primary for
    /// `open_timeout`.
    pub async fn open(url: &str, options: MongoOptions) -> Result<Arc<Self>, StoreError> {
        let shared = Arc::new(open::open(url, options).await?);
        let stream = shared.read(|| follow::open(&shared, None)).await?;
        let background =
            vec![tokio::spawn(follow::run(shared.clone(), stream)), tokio::spawn(sweep::run(shared.clone()))];
        Ok(Arc::new(Self { shared, background: Mutex::new(background) }))
    }

    /// Removes and merges old batches now, ahead of schedule.
    pub async fn sweep_now(&self) -> Result<(), StoreError> {
        self.shared.check_open()?;
        sweep::sweep(&self.shared).await
    }

    fn loaded_soon(&self, log: &Arc<LogHandle>) {
        if log.is_loaded() {
            return;
        }
        let (shared, log) = (self.shared.clone(), log.clone());
        self.shared.runtime.spawn(async move {
            if let Err(error) = ensure_loaded(&shared, &log).await {
                tracing::warn!(log = %log.name, %error, "the log's head cannot be read");
            }
        });
    }
}

#[async_trait]
impl Store for MongoStore {
    fn commit(&self, commit: Commit) -> PendingCommit {
        commit::commit(&self.shared, commit)
    }

    fn commit_each(&self, commit: Commit) -> PendingCommit {
        commit::commit_each(&self.shared, commit)
    }

    fn durability(&self) -> Durability {
        Durability::Majority
    }

    fn meters(&self) -> StoreMeters {
        StoreMeters { sync_ms: Some(self.shared.sync_ms.snapshot()), ..StoreMeters::default() }
    }

    fn trouble(&self) -> Option<String> {
        self.shared.trouble()
    }

    async fn close(&self) -> Result<(), StoreError> {
        self.shared.closing.send_replace(true);
        self.shared.lanes.drained().await;
        let background = std::mem::take(&mut *self.background.lock());
        for task in background {
            // A task that panicked has ended as well.
            drop(task.await);
        }
        self.shared.known_logs().iter().for_each(|log| log.end_watches());
        self.shared.listeners.close();
        Ok(())
    }
}

#[async_trait]
impl Logs for MongoStore {
    async fn read(&self, log: &LogName, from: Offset, limit: ReadLimit) -> Result<ReadBatch, StoreError> {
        read::read(&self.shared, log, from, limit).await
    }

    async fn bounds(&self, log: &LogName) -> Result<Bounds, StoreError> {
        self.shared.check_open()?;
        let log = self.shared.log(log);
        ensure_loaded(&self.shared, &log).await?;
        Ok(log.bounds())
    }

    fn watch(&self, log: &LogName) -> HeadWatch {
        if self.shared.is_closed() {
            let ended = tokio::sync::watch::Sender::new(Bounds::default());
            return HeadWatch::new(ended.subscribe());
        }
        let log = self.shared.log(log);
        self.loaded_soon(&log);
        log.watch()
    }

    async fn find(&self, log: &LogName, what: Find) -> Result<Option<Offset>, StoreError> {
        find::find(&self.shared, log, what).await
    }

    async fn latest_by_key(&self, log: &LogName, keys: &[&str]) -> Result<Vec<Option<Record>>, StoreError> {
        latest::latest_by_key(&self.shared, log, keys).await
    }

    async fn trim(&self, log: &LogName, before: Offset) -> Result<Bounds, StoreError> {
        trim::trim(&self.shared, log, before).await
    }

    async fn compact(&self, log: &LogName, plan: CompactPlan<'_>) -> Result<CompactReport, StoreError> {
        compact::compact(&self.shared, log, plan).await
    }

    async fn logs(&self) -> Result<Vec<LogInfo>, StoreError> {
        self.shared.check_open()?;
        let named = sweep::log_documents(&self.shared).await?;
        let infos = futures::stream::iter(named).map(async |(name, _)| {
            let log = self.shared.log(&name);
            ensure_loaded(&self.shared, &log).await?;
            let has_ended = log.lock().ended;
            Ok((!has_ended).then(|| log.info()))
        });
        let infos: Vec<Result<Option<LogInfo>, StoreError>> = infos.buffered(LISTED_AT_ONCE).collect().await;
        let infos = infos.into_iter().collect::<Result<Vec<_>, _>>()?;
        let mut infos: Vec<LogInfo> = infos.into_iter().flatten().collect();
        infos.sort_by(|one, other| one.log.cmp(&other.log));
        Ok(infos)
    }
}

#[async_trait]
impl Cursors for MongoStore {
    async fn take_cursor(&self, cursor: &CursorName, floor_if_new: Offset) -> Result<CursorState, StoreError> {
        cursor::take_cursor(&self.shared, cursor, floor_if_new).await
    }

    async fn cursor(&self, cursor: &CursorName) -> Result<Option<CursorState>, StoreError> {
        cursor::cursor(&self.shared, cursor).await
    }

    async fn cursors(&self, topic: Option<&TopicName>) -> Result<Vec<(CursorName, CursorState)>, StoreError> {
        cursor::cursors(&self.shared, topic).await
    }
}

#[async_trait]
impl Documents for MongoStore {
    async fn document(&self, collection: &str, key: &str) -> Result<Option<Document>, StoreError> {
        document::document(&self.shared, collection, key).await
    }

    async fn documents(
        &self,
        collection: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Document>, StoreError> {
        document::documents(&self.shared, collection, after, limit).await
    }

    fn watch_documents(&self, collection: &str) -> Option<DocumentWatch> {
        let is_told = self.shared.options.told_documents.iter().any(|told| told == collection);
        is_told.then(|| self.shared.listeners.watch(collection))
    }
}

#[async_trait]
impl Leases for MongoStore {
    async fn acquire_lease(&self, name: &str, holder: &str, ttl: Duration) -> Result<Option<StoreLease>, StoreError> {
        lease::acquire(&self.shared, name, holder, ttl).await
    }

    async fn held_lease(&self, name: &str) -> Result<Option<StoreLease>, StoreError> {
        lease::held(&self.shared, name).await
    }

    async fn release_lease(&self, lease: &StoreLease) -> Result<(), StoreError> {
        lease::release(&self.shared, lease).await
    }
}
