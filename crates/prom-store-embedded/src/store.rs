//! The embedded store: opening, closing, and the store's traits over what the threads share.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use prom_store::{
    Bounds, Commit, CommitError, CompactPlan, CompactReport, CursorName, CursorState, Cursors, Damage, Document,
    Documents, Find, HeadWatch, LeaseTable, Leases, LogInfo, LogName, Logs, PendingCommit, ReadBatch, ReadLimit,
    Record, Store, StoreError, StoreLease, StoreMeters,
};
use prom_types::{Durability, Offset, TopicName};

use crate::background::BackgroundWorker;
use crate::commit::{CommitBy, CommitRequest, CommitThread, Committer, TakeOver, commit_if_free, commit_inline};
use crate::compact::{CompactRun, Removing};
use crate::cursors::EmbeddedCursors;
use crate::disk::create_private_dir;
use crate::lock::DirectoryLock;
use crate::log::Log;
use crate::options::{Drive, EmbeddedOptions, Sync};
use crate::recover::{Recovered, recover};
use crate::shared::{BackgroundGuard, QueueGuard, StoreShared};
use crate::{compact, fault, format, log};

/// A store in a directory of its own. See the crate's page for what is promised.
pub struct EmbeddedStore {
    shared: Arc<StoreShared>,
    committer: Arc<Mutex<Committer>>,
    leases: LeaseTable,
    open: Mutex<Option<Open>>,
    closed: AtomicBool,
}

/// What closing ends.
struct Open {
    /// None where callers drive the store.
    threads: Option<Threads>,
    _lock: DirectoryLock,
}

struct Threads {
    commit: JoinHandle<()>,
    background: JoinHandle<()>,
}

impl EmbeddedStore {
    /// Opens the directory with the default options, making it where there is none.
    pub async fn open(root: impl AsRef<Path>) -> Result<Arc<Self>, StoreError> {
        Self::open_with(root, EmbeddedOptions::default()).await
    }

    pub async fn open_with(root: impl AsRef<Path>, options: EmbeddedOptions) -> Result<Arc<Self>, StoreError> {
        let root = root.as_ref().to_path_buf();
        blocking(options.drive, move || Self::open_blocking(&root, options)).await
    }

    fn open_blocking(root: &Path, options: EmbeddedOptions) -> Result<Arc<Self>, StoreError> {
        make_dir(root)?;
        let lock = DirectoryLock::take(root)?;
        format::check(&*options.disk, root)?;
        let first_fence = options.clock.now_ms().unsigned_abs();
        let Recovered { shared, journal, next_log_id } = recover(root, options)?;
        let first_epoch = EmbeddedCursors::first_epoch(&shared.state)?;
        let committer = Arc::new(Mutex::new(Committer::new(shared.clone(), journal, next_log_id, first_epoch)));
        let mut background = BackgroundWorker::new(shared.clone());
        let threads = match shared.options.drive {
            Drive::Threads => Some(Threads::start(root, &shared, &committer, background)?),
            Drive::Inline => {
                background.look_through_folders();
                shared.background.drive_inline(background);
                shared.background.catch_up();
                None
            }
        };
        Ok(Arc::new(Self {
            shared,
            committer,
            leases: LeaseTable::new(first_fence),
            open: Mutex::new(Some(Open { threads, _lock: lock })),
            closed: AtomicBool::new(false),
        }))
    }

    /// What was found bad when the directory was opened, and in the logs since.
    pub fn damage(&self) -> Vec<Damage> {
        self.shared.damage.lock().clone()
    }

    /// Brings everything behind the journal up to date now, rather than when a journal file is full.
    /// Worth calling before a copy of the directory is made.
    pub async fn checkpoint(&self) -> Result<(), StoreError> {
        self.blocking(|shared| {
            shared.background.request_and_wait(|work| work.checkpoint = true);
            match shared.health.lock().reason() {
                Some(reason) => Err(fault::documents(reason)),
                None => Ok(()),
            }
        })
        .await
    }

    /// Takes what `shut_down` needs; `None` if that has been done.
    fn begin_close(&self) -> Option<Open> {
        self.closed.store(true, Ordering::Release);
        self.open.lock().take()
    }

    fn check_open(&self) -> Result<(), StoreError> {
        if self.closed.load(Ordering::Acquire) { Err(StoreError::Closed) } else { Ok(()) }
    }

    /// Commits what was just put into the queue, if that is up to this caller.
    fn see_to(&self, committing: CommitBy) {
        match committing {
            CommitBy::Elsewhere => {}
            CommitBy::CallerIfFree => commit_if_free(&self.shared, &self.committer),
            CommitBy::Caller => commit_inline(&self.shared, &self.committer),
        }
    }

    /// Begins to gather the newest offsets of keys that the commit expects something of, where they are not known yet: the
    /// commit itself is refused.
    #[cold]
    fn gather_latest(&self, commit: &Commit) {
        for append in &commit.appends {
            let expected = append.terms.as_ref().and_then(|terms| terms.expect);
            let log = expected.and_then(|_| self.shared.known_log(&append.log));
            if let Some(log) = log.filter(|log| log.state.lock().begins_gathering()) {
                gather_latest(self.shared.clone(), log);
            }
        }
    }

    /// Runs what may block on the disk where blocking is allowed.
    async fn blocking<T: Send + 'static>(
        &self,
        act: impl FnOnce(&StoreShared) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.check_open()?;
        let shared = self.shared.clone();
        blocking(shared.options.drive, move || act(&shared)).await
    }

    async fn request(&self, fill: impl FnOnce(&mut CommitRequest)) -> Result<(), StoreError> {
        self.check_open()?;
        let (reply, pending) = PendingCommit::new();
        let mut request = CommitRequest { commit: Commit::default(), take: None, trim: None, reply };
        fill(&mut request);
        self.see_to(self.shared.queue.push_request(request));
        pending.await?;
        Ok(())
    }
}

impl Drop for EmbeddedStore {
    fn drop(&mut self) {
        let shut_down = self.begin_close().map(|open| shut_down(&self.shared, &self.committer, open));
        if let Some(Err(error)) = shut_down {
            tracing::error!(%error, "the store did not close in order");
        }
    }
}

#[async_trait]
impl Store for EmbeddedStore {
    fn commit(&self, commit: Commit) -> PendingCommit {
        if commit.has_terms() {
            self.gather_latest(&commit);
        }
        let (pending, committing) = self.shared.queue.push(commit);
        self.see_to(committing);
        pending
    }

    fn durability(&self) -> Durability {
        match self.shared.options.sync {
            Sync::Fsync => Durability::Fsync,
            Sync::Os => Durability::Os,
        }
    }

    fn trouble(&self) -> Option<String> {
        self.shared.health.lock().reason().cloned()
    }

    fn meters(&self) -> StoreMeters {
        StoreMeters {
            sync_ms: Some(self.shared.journal.syncs.snapshot()),
            damaged_places: self.shared.damage.lock().len() as u64,
            cut_frames: self.shared.cut_frames.load(Ordering::Relaxed),
        }
    }

    async fn close(&self) -> Result<(), StoreError> {
        let (shared, committer) = (self.shared.clone(), self.committer.clone());
        match self.begin_close() {
            Some(open) => blocking(shared.options.drive, move || shut_down(&shared, &committer, open)).await,
            None => Ok(()),
        }
    }
}

#[async_trait]
impl Logs for EmbeddedStore {
    async fn read(&self, name: &LogName, from: Offset, limit: ReadLimit) -> Result<ReadBatch, StoreError> {
        self.check_open()?;
        let Some(log) = self.shared.known_log(name) else {
            return Ok(ReadBatch { next: from, ..ReadBatch::default() });
        };
        if let Some(batch) = log::read::from_memory(&log, from, limit) {
            return Ok(batch);
        }
        let read = move |shared: &StoreShared| {
            let batch = log::read::from_anywhere(&log, &shared.files, shared.interval(), from, limit)?;
            if let Some(damage) = &batch.damage {
                shared.note_damage(damage);
            }
            Ok(batch)
        };
        self.blocking(read).await
    }

    async fn bounds(&self, name: &LogName) -> Result<Bounds, StoreError> {
        self.check_open()?;
        let log = self.shared.known_log(name);
        Ok(log.map(|log| log.state.lock().bounds).unwrap_or_default())
    }

    fn watch(&self, name: &LogName) -> HeadWatch {
        self.shared.log(name).watch()
    }

    async fn find(&self, name: &LogName, what: Find) -> Result<Option<Offset>, StoreError> {
        self.check_open()?;
        let Some(log) = self.shared.known_log(name) else {
            return Ok(None);
        };
        self.blocking(move |shared| log::find::find(&log, &shared.files, shared.interval(), what)).await
    }

    async fn latest_by_key(&self, name: &LogName, keys: &[&str]) -> Result<Vec<Option<Record>>, StoreError> {
        self.check_open()?;
        let log = self.shared.log(name);
        let keys: Vec<String> = keys.iter().map(|&key| key.to_owned()).collect();
        self.blocking(move |shared| {
            compact::know_latest(shared, &log)?;
            let id = log.state.lock().id;
            let latest = |key: &String| latest(shared, &log, id, key);
            keys.iter().map(latest).collect()
        })
        .await
    }

    async fn trim(&self, name: &LogName, before: Offset) -> Result<Bounds, StoreError> {
        self.request(|request| request.trim = Some((name.clone(), before))).await?;
        // The file of a segment goes with a checkpoint; without one the room would stay taken.
        self.shared.background.request(|work| work.checkpoint = true);
        self.shared.background.catch_up();
        self.bounds(name).await
    }

    async fn compact(&self, name: &LogName, plan: CompactPlan<'_>) -> Result<CompactReport, StoreError> {
        let log = self.shared.log(name);
        let run = |removal| {
            let CompactPlan { before, tombstone_grace: grace, bytes_per_s, .. } = plan;
            CompactRun { before, grace, bytes_per_s, removal }
        };
        let mut keys = None;
        if let Some(announce) = plan.announce {
            let (log, run) = (log.clone(), run(Removing::NotYet));
            let found = self.blocking(move |shared| compact::compact(shared, &log, run, None)).await?;
            if found.removes.is_none() || !announce.may_remove().await {
                return Ok(found.report);
            }
            keys = found.removes;
        }
        let run = run(Removing::Yes);
        self.blocking(move |shared| {
            let found = compact::compact(shared, &log, run, keys)?;
            shared.background.request(|work| work.checkpoint = true);
            shared.background.catch_up();
            Ok(found.report)
        })
        .await
    }

    async fn logs(&self) -> Result<Vec<LogInfo>, StoreError> {
        self.check_open()?;
        let logs: Vec<_> = self.shared.logs.read().values().cloned().collect();
        let mut infos = Vec::with_capacity(logs.len());
        for log in logs {
            let state = log.state.lock();
            if state.id.is_some() && !state.ended {
                infos.push(LogInfo {
                    log: log.name.clone(),
                    options: state.options,
                    bounds: state.bounds,
                    bytes: state.bytes(),
                    last_stored_ts: state.last_stored_ts,
                });
            }
        }
        infos.sort_by(|a, b| a.log.cmp(&b.log));
        Ok(infos)
    }
}

#[async_trait]
impl Cursors for EmbeddedStore {
    async fn take_cursor(&self, cursor: &CursorName, floor_if_new: Offset) -> Result<CursorState, StoreError> {
        let epoch = Arc::new(AtomicU64::new(0));
        let take = TakeOver { cursor: cursor.clone(), floor_if_new, epoch: epoch.clone() };
        self.request(|request| request.take = Some(take)).await?;
        let given = epoch.load(Ordering::Acquire);
        let state = self.shared.cursors.get(&self.shared.state, cursor)?;
        let current = state.as_ref().map_or(0, |state| state.epoch);
        // Another caller may have taken it over since: then it is theirs.
        let fenced = || CommitError::Fenced { cursor: cursor.clone(), given, current };
        Ok(state.filter(|state| state.epoch == given).ok_or_else(fenced)?)
    }

    async fn cursor(&self, cursor: &CursorName) -> Result<Option<CursorState>, StoreError> {
        self.check_open()?;
        self.shared.cursors.get(&self.shared.state, cursor)
    }

    async fn cursors(&self, topic: Option<&TopicName>) -> Result<Vec<(CursorName, CursorState)>, StoreError> {
        let topic = topic.cloned();
        self.blocking(move |shared| shared.cursors.list(&shared.state, topic.as_ref())).await
    }
}

#[async_trait]
impl Documents for EmbeddedStore {
    async fn document(&self, collection: &str, key: &str) -> Result<Option<Document>, StoreError> {
        self.check_open()?;
        self.shared.state.document(collection, key)
    }

    async fn documents(
        &self,
        collection: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Document>, StoreError> {
        let (collection, after) = (collection.to_owned(), after.map(str::to_owned));
        self.blocking(move |shared| shared.state.documents(&collection, after.as_deref(), limit)).await
    }
}

#[async_trait]
impl Leases for EmbeddedStore {
    async fn acquire_lease(&self, name: &str, holder: &str, ttl: Duration) -> Result<Option<StoreLease>, StoreError> {
        self.check_open()?;
        Ok(self.leases.acquire(&*self.shared.options.clock, name, holder, ttl))
    }

    async fn held_lease(&self, name: &str) -> Result<Option<StoreLease>, StoreError> {
        self.check_open()?;
        Ok(self.leases.held(&*self.shared.options.clock, name))
    }

    async fn release_lease(&self, lease: &StoreLease) -> Result<(), StoreError> {
        self.check_open()?;
        self.leases.release(lease);
        Ok(())
    }
}

/// Reads the log on a thread of its own. Should it fail, the next commit that asks tries again.
fn gather_latest(shared: Arc<StoreShared>, log: Arc<Log>) {
    let drive = shared.options.drive;
    let name = log.name.clone();
    let state = log.clone();
    let gather = move || {
        if let Err(error) = compact::know_latest(&shared, &log) {
            tracing::warn!(log = %log.name, %error, "the newest offsets of keys could not be gathered");
        }
        log.state.lock().gathers_latest = false;
    };
    if drive == Drive::Inline {
        return gather();
    }
    if let Err(error) = std::thread::Builder::new().name("prom-latest".to_owned()).spawn(gather) {
        tracing::warn!(log = %name, %error, "no thread to gather the newest offsets of keys");
        state.state.lock().gathers_latest = false;
    }
}

/// The latest event of a key, unless it is a tombstone. Compaction may move it between look-up and read;
/// then the look-up says something else the next time.
fn latest(shared: &StoreShared, log: &Log, id: Option<u32>, key: &str) -> Result<Option<Record>, StoreError> {
    let Some(id) = id else {
        return Ok(None);
    };
    let mut known = compact::latest_offset(shared, id, key)?;
    while let Some(offset) = known {
        let record = log::read::one(log, &shared.files, shared.interval(), offset)?;
        let now_known = compact::latest_offset(shared, id, key)?;
        if record.is_some() || now_known == known {
            return Ok(record.filter(|record| !record.is_tombstone()));
        }
        known = now_known;
    }
    Ok(None)
}

/// Commits what waits, makes a last checkpoint, and lets the directory go.
fn shut_down(shared: &StoreShared, committer: &Mutex<Committer>, open: Open) -> Result<(), StoreError> {
    shared.queue.close();
    let ended = match open.threads {
        Some(threads) => threads.join(shared),
        None => {
            // A caller on another thread may still be at it.
            drop(committer.lock());
            shared.queue.abandon();
            shared.background.stop_inline();
            Ok(())
        }
    };
    shared.logs.write().clear();
    shared.state.close();
    ended
}

impl Threads {
    fn start(
        root: &Path,
        shared: &Arc<StoreShared>,
        committer: &Arc<Mutex<Committer>>,
        background: BackgroundWorker,
    ) -> Result<Self, StoreError> {
        let commit = CommitThread { shared: shared.clone(), committer: committer.clone() };
        let (queue_guard, background_guard) = (QueueGuard(shared.clone()), BackgroundGuard(shared.clone()));
        Ok(Self {
            commit: spawn("prom-journal", root, move || {
                let _guard = queue_guard;
                commit.run();
            })?,
            background: spawn("prom-behind", root, move || {
                let _guard = background_guard;
                background.run();
            })?,
        })
    }

    fn join(self, shared: &StoreShared) -> Result<(), StoreError> {
        let commit = self.commit.join();
        shared.background.request(|work| work.stop = true);
        let background = self.background.join();
        match (commit, background) {
            (Ok(()), Ok(())) => Ok(()),
            _ => Err(fault::documents("a thread of the store panicked; open it again to recover")),
        }
    }
}

/// Makes the directory and, if that was needed, its name durable.
fn make_dir(root: &Path) -> Result<(), StoreError> {
    if root.is_dir() {
        return Ok(());
    }
    create_private_dir(root).map_err(fault::io("making", root))?;
    let root = root.canonicalize().map_err(fault::io("making", root))?;
    for parent in root.ancestors().skip(1) {
        // Directories above that belong to others may not be readable; those were there before.
        if let Ok(dir) = std::fs::File::open(parent) {
            dir.sync_all().map_err(fault::io("syncing", parent))?;
        }
    }
    Ok(())
}

fn spawn(name: &str, root: &Path, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, StoreError> {
    std::thread::Builder::new().name(name.to_owned()).spawn(work).map_err(fault::io("starting a thread for", root))
}

/// Runs what may block on the disk: on the pool for that, or right here where callers drive the store.
async fn blocking<T: Send + 'static>(
    drive: Drive,
    act: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    if drive == Drive::Inline {
        return act();
    }
    match tokio::task::spawn_blocking(act).await {
        Ok(result) => result,
        Err(error) => Err(fault::documents(format!("a read was abandoned: {error}"))),
    }
}
