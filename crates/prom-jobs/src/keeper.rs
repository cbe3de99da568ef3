//! Work that goes on in the background for as long as the bus is open: pass after pass, by one process at a time.
//!
//! ```text
//!   every interval, or woken ─▶ the lease of the work ─▶ pass ─▶ its outcome is kept ─▶ wait
//!                                      └── renewed ────────┘
//! ```
//!
//! Promises: of the processes that share a store, one does a piece of work at a time; the others try for its lease. A pass that
//! fails or panics is told, and tried again after a wait that doubles. No pass begins once the bus shuts down or
//! [`Keeper::end`] was called; one that is under way is dropped where it waits, as it is when its lease is lost. So a pass must
//! stand being cut off between two commits, as by a crash, and fence its writes by the revision of a document of its own: a
//! commit that was handed over before may still come.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use prom_engine::{Bus, TaskName};
use prom_store::StoreLease;
use prom_types::EpochMs;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::JobError;
use crate::limits::{KEEPER_END, KEEPER_FIRST_RETRY, KEEPER_LEASE, KEEPER_LONGEST_RETRY};

/// Starts background work and knows how each of them is doing. Cloning costs a reference count.
#[derive(Clone)]
pub struct Keeper(Arc<Inner>);

struct Inner {
    bus: Bus,
    holder: String,
    works: Mutex<BTreeMap<TaskName, Kept>>,
    /// True from the first word of an end on.
    ending: watch::Sender<bool>,
}

/// One piece of work of this process.
struct Kept {
    state: KeptState,
    wake: Arc<Notify>,
    lease: Option<StoreLease>,
    task: Option<JoinHandle<()>>,
}

/// How a piece of background work is doing in this process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeptState {
    /// Another process does it at the moment.
    pub is_elsewhere: bool,
    /// A pass of this process is under way. It may last as long as the lease, and has not failed yet.
    pub is_under_way: bool,
    /// When the last pass of this process ended.
    pub last_pass: Option<EpochMs>,
    /// What the last pass failed with.
    pub failed: Option<String>,
    /// Passes that failed one after the other.
    pub failures: u32,
    /// When the next pass begins, after one that failed.
    pub retry_at: Option<EpochMs>,
}

/// What is done over and over.
pub trait KeptWork: Send + 'static {
    /// One pass. It may be dropped wherever it waits.
    fn pass(&mut self, bus: &Bus) -> impl Future<Output = Result<(), JobError>> + Send;
}

/// Begins the next pass without waiting for the interval. Dropping it changes nothing.
#[derive(Debug, Clone)]
pub struct Wake(Arc<Notify>);

impl Wake {
    /// A pass begins as soon as the one under way has ended.
    pub fn wake(&self) {
        self.0.notify_one();
    }
}

/// How a pass ended.
enum Passed {
    Done,
    /// Another process has the lease.
    Elsewhere,
    Failed(String),
}

impl Keeper {
    /// Background work over this bus.
    pub fn new(bus: Bus) -> Self {
        let holder = prom_types::IdMaker::new().make(bus.clock().now_ms()).to_string();
        Self(Arc::new(Inner { bus, holder, works: Mutex::default(), ending: watch::Sender::new(false) }))
    }

    /// Does the work every so often, and when woken, until the bus shuts down.
    pub fn keep(&self, task: TaskName, every: Duration, mut work: impl KeptWork) -> Wake {
        let wake = Arc::new(Notify::new());
        let kept = Kept { state: KeptState::default(), wake: wake.clone(), lease: None, task: None };
        self.0.works.lock().insert(task.clone(), kept);
        let (keeper, woken, name) = (self.clone(), wake.clone(), task.clone());
        let running = tokio::spawn(async move {
            let mut wait = every;
            while keeper.pause(wait, &woken).await {
                let passed = keeper.pass(&name, every, &mut work).await;
                wait = keeper.note(&name, passed).unwrap_or(every);
            }
        });
        if let Some(kept) = self.0.works.lock().get_mut(&task) {
            kept.task = Some(running);
        }
        Wake(wake)
    }

    /// What begins the next pass of this work at once; `None` where it is not kept here.
    pub fn wake(&self, task: &TaskName) -> Option<Wake> {
        self.0.works.lock().get(task).map(|kept| Wake(kept.wake.clone()))
    }

    /// How each piece of work is doing, by name.
    pub fn states(&self) -> BTreeMap<TaskName, KeptState> {
        self.0.works.lock().iter().map(|(task, kept)| (task.clone(), kept.state.clone())).collect()
    }

    /// Ends all work and gives its leases back, so that another process may go on at once. To be called before the bus shuts
    /// down; without it, what is under way fails there, and the leases run out.
    pub async fn end(&self) {
        self.0.ending.send_replace(true);
        let ended: Vec<_> =
            self.0.works.lock().iter_mut().map(|(task, kept)| (task.clone(), kept.task.take())).collect();
        for (task, running) in ended {
            let Some(mut running) = running else { continue };
            if timeout(KEEPER_END, &mut running).await.is_err() {
                tracing::warn!(%task, "background work did not end in time and is cut off");
                running.abort();
            }
            let lease = self.0.works.lock().get_mut(&task).and_then(|kept| kept.lease.take());
            if let Some(lease) = lease
                && let Err(error) = self.0.bus.release_lease(&lease).await
            {
                tracing::debug!(%task, %error, "a lease could not be given back; it runs out");
            }
        }
    }

    /// Waits for the next pass. `false`: there is none.
    async fn pause(&self, wait: Duration, woken: &Notify) -> bool {
        tokio::select! {
            () = sleep(wait) => {}
            () = woken.notified() => {}
            () = self.is_over() => {}
        }
        !*self.0.ending.borrow() && self.0.bus.is_open()
    }

    async fn pass(&self, task: &TaskName, every: Duration, work: &mut impl KeptWork) -> Passed {
        let ttl = (every * 3).max(KEEPER_LEASE);
        let renew = async {
            loop {
                sleep(ttl / 3).await;
                match self.acquire(task, ttl).await {
                    Ok(true) => self.lasts(task),
                    Ok(false) => return Passed::Elsewhere,
                    // The store may be back before the lease runs out; if not, the next try tells.
                    Err(error) => tracing::warn!(%task, %error, "the lease of background work could not be renewed"),
                }
            }
        };
        let pass = async {
            match self.acquire(task, ttl).await {
                Ok(false) => Passed::Elsewhere,
                Ok(true) => {
                    self.begins(task);
                    match work.pass(&self.0.bus).await {
                        Ok(()) => Passed::Done,
                        Err(error) => Passed::Failed(error.to_string()),
                    }
                }
                Err(error) => Passed::Failed(error.to_string()),
            }
        };
        let watched = self.0.bus.task_failures().watch(task, async {
            tokio::select! {
                biased;
                passed = pass => passed,
                passed = renew => passed,
                () = self.is_over() => Passed::Done,
            }
        });
        watched.await.unwrap_or_else(|panicked| Passed::Failed(panicked.reason))
    }

    fn begins(&self, task: &TaskName) {
        if let Some(kept) = self.0.works.lock().get_mut(task) {
            (kept.state.is_under_way, kept.state.retry_at) = (true, None);
        }
    }

    /// Some passes last as long as the lease: what the one before failed with is over.
    fn lasts(&self, task: &TaskName) {
        if let Some(kept) = self.0.works.lock().get_mut(task).filter(|kept| kept.state.is_under_way) {
            (kept.state.failed, kept.state.failures, kept.state.retry_at) = (None, 0, None);
        }
    }

    /// Whether the lease is ours.
    async fn acquire(&self, task: &TaskName, ttl: Duration) -> Result<bool, JobError> {
        let lease = self.0.bus.acquire_lease(&task.to_string(), &self.0.holder, ttl).await?;
        let is_ours = lease.is_some();
        if let Some(kept) = self.0.works.lock().get_mut(task) {
            kept.state.is_elsewhere = !is_ours;
            kept.lease = lease;
        }
        Ok(is_ours)
    }

    /// Ready when no pass may begin any more.
    async fn is_over(&self) {
        let mut ending = self.0.ending.subscribe();
        tokio::select! {
            // The sender lives as long as the keeper.
            ended = ending.wait_for(|ending| *ending) => drop(ended),
            () = self.0.bus.closing() => {}
        }
    }

    /// Keeps the outcome of a pass. After a failure it says how long to wait.
    fn note(&self, task: &TaskName, passed: Passed) -> Option<Duration> {
        if !self.0.bus.is_open() {
            return None;
        }
        let mut works = self.0.works.lock();
        let state = &mut works.get_mut(task)?.state;
        (state.is_under_way, state.retry_at) = (false, None);
        let failed = match passed {
            Passed::Elsewhere => {
                (state.failed, state.failures) = (None, 0);
                return None;
            }
            Passed::Done => None,
            Passed::Failed(reason) => Some(reason),
        };
        let now = self.0.bus.clock().now_ms();
        state.last_pass = Some(now);
        state.failures = if failed.is_some() { state.failures.saturating_add(1) } else { 0 };
        let wait = failed.as_ref().map(|reason| {
            let doublings = (state.failures - 1).min(16);
            let wait = KEEPER_FIRST_RETRY.saturating_mul(1 << doublings).min(KEEPER_LONGEST_RETRY);
            tracing::warn!(%task, reason, failures = state.failures, ?wait, "background work failed; it is tried again");
            state.retry_at = Some(now.saturating_add(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX)));
            wait
        });
        state.failed = failed;
        wait
    }
}
