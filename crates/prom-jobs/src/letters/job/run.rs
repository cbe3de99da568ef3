//! Who works on jobs: a task for each, and a look now and then for those that nobody works on.
//!
//! Of the hubs that share a store, the one that has the lease of a job works on it. It takes the job as it is stored before each
//! turn, so what others write into it is heeded.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use prom_engine::{Error, ErrorKind, TaskName};
use prom_store::StoreLease;
use prom_types::{EventId, IdMaker};
use tokio::sync::{Notify, Semaphore, watch};
use tokio::time::{Instant, timeout};

use super::super::block::BlockAt;
use super::super::{LetterOffice, LettersShared};
use super::document::{LetterJob, LetterJobState, LetterWork, StoredJob, active};
use super::events::EventMaker;
use super::given::is_served_elsewhere;
use super::outcome::count;
use super::step::{step, store};
use crate::JobError;
use crate::limits::{
    FAILURES_JUDGED_FROM, KEEPER_FIRST_RETRY, KEEPER_LONGEST_RETRY, LETTER_JOB_LEASE, LETTER_JOBS_ACTIVE,
    LETTER_JOBS_AT_ONCE, LETTER_JOBS_LOOK, LETTERS_OF_STEP, OUTCOME_BLOCKS_AT_ONCE, OUTCOME_FIRST_WAIT,
    OUTCOME_LONGEST_WAIT, OUTCOME_TURN_WAIT, OUTCOMES_COUNTED_FOR,
};

/// The jobs that this process works on.
pub(in super::super) struct JobRunner {
    holder: String,
    running: Mutex<HashMap<EventId, RunningJob>>,
    places: Arc<Semaphore>,
}

#[derive(Clone)]
struct RunningJob {
    /// Somebody wants the next turn now.
    wake: Arc<Notify>,
    /// Rises with every turn.
    turns: watch::Sender<u64>,
}

/// A job between two turns.
struct JobRun {
    id: EventId,
    maker: Option<EventMaker>,
    /// Where counting outcomes goes on.
    counted_to: Option<BlockAt>,
    wait: Duration,
    failures: u32,
    lease: Option<StoreLease>,
    lease_until: Instant,
}

/// What follows a turn.
enum NextTurn {
    Now,
    After(Duration),
    Never,
}

impl JobRunner {
    pub fn new() -> Self {
        let holder = IdMaker::new().make(0).to_string();
        Self { holder, running: Mutex::default(), places: Arc::new(Semaphore::new(LETTER_JOBS_AT_ONCE)) }
    }

    /// The next turn of the job begins now, if it is worked on here.
    pub fn wake(&self, id: EventId) {
        if let Some(job) = self.running.lock().get(&id) {
            job.wake.notify_one();
        }
    }

    fn turns(&self, id: EventId) -> Option<watch::Receiver<u64>> {
        self.running.lock().get(&id).map(|job| job.turns.subscribe())
    }
}

/// Looks for jobs that nobody works on, as long as somebody has the letters.
pub(in super::super) fn look_for_jobs(shared: &Arc<LettersShared>) {
    let (known, failures) = (Arc::downgrade(shared), shared.bus.task_failures().clone());
    let work = async move || {
        while let Some(shared) = known.upgrade().filter(|shared| shared.bus.is_open()) {
            let letters = LetterOffice { shared };
            match active(&letters.shared.bus, LETTER_JOBS_ACTIVE).await {
                Ok(ids) => ids.into_iter().for_each(|id| letters.work_on(id)),
                Err(error) => tracing::warn!(%error, "jobs over dead letters cannot be listed; it is tried again"),
            }
            drop(letters);
            tokio::time::sleep(LETTER_JOBS_LOOK).await;
        }
    };
    tokio::spawn(failures.keep_running(TaskName::only("letter jobs"), work));
}

impl LetterOffice {
    /// Works on a job here, unless somebody does.
    pub(super) fn work_on(&self, id: EventId) {
        let runner = &self.shared.runner;
        let job = RunningJob { wake: Arc::default(), turns: watch::Sender::new(0) };
        {
            let mut running = runner.running.lock();
            if running.contains_key(&id) {
                return;
            }
            running.insert(id, job.clone());
        }
        let known = Arc::downgrade(&self.shared);
        let failures = self.shared.bus.task_failures().clone();
        tokio::spawn(async move {
            let task = TaskName::one("letter job", id);
            // A panic is told there; the job is found again by the next look.
            drop(failures.watch(&task, run(known.clone(), id, job)).await);
            if let Some(shared) = known.upgrade() {
                shared.runner.running.lock().remove(&id);
            }
        });
    }

    /// The next turn begins now; returns when it is over, if the job is worked on here.
    pub(super) async fn look_once(&self, id: EventId) -> Result<(), JobError> {
        if let Some(mut turns) = self.shared.runner.turns(id) {
            self.shared.runner.wake(id);
            // It moved, or takes its time: what is stored is told.
            drop(timeout(OUTCOME_TURN_WAIT, turns.changed()).await);
        }
        Ok(())
    }

    /// The job when it is at rest, or as it is when the time is over.
    pub async fn wait_for(&self, id: EventId, most: Duration) -> Result<LetterJob, JobError> {
        let deadline = Instant::now() + most;
        loop {
            let turns = self.shared.runner.turns(id);
            let job = self.job(id).await?;
            let left = deadline.saturating_duration_since(Instant::now());
            if job.is_at_rest() || left.is_zero() {
                return Ok(job);
            }
            match turns {
                // It moved, or the time is over: looked at above.
                Some(mut turns) => drop(timeout(left, turns.changed()).await),
                None => tokio::time::sleep(OUTCOME_FIRST_WAIT.min(left)).await,
            }
        }
    }
}

async fn run(known: Weak<LettersShared>, id: EventId, job: RunningJob) {
    let mut run = JobRun {
        id,
        maker: None,
        counted_to: None,
        wait: OUTCOME_FIRST_WAIT,
        failures: 0,
        lease: None,
        lease_until: Instant::now(),
    };
    while let Some(shared) = known.upgrade().filter(|shared| shared.bus.is_open()) {
        let letters = LetterOffice { shared };
        // For one turn only: a job that waits for acks keeps no other from its work.
        let Ok(place) = letters.shared.runner.places.clone().acquire_owned().await else {
            return;
        };
        let next = match run.lease(&letters).await {
            Ok(true) => run.turn(&letters).await,
            Ok(false) => Ok(NextTurn::Never),
            Err(error) => Err(error),
        };
        let next = match next {
            Ok(next) => {
                run.failures = 0;
                next
            }
            Err(error) => run.failed(&letters, error).await,
        };
        drop((place, letters));
        job.turns.send_modify(|turns| *turns += 1);
        match next {
            NextTurn::Now => tokio::task::yield_now().await,
            // Woken or not: the next turn.
            NextTurn::After(wait) => drop(timeout(wait, job.wake.notified()).await),
            NextTurn::Never => return,
        }
    }
}

impl JobRun {
    /// Whether the job is ours to work on, renewed in good time.
    async fn lease(&mut self, letters: &LetterOffice) -> Result<bool, JobError> {
        if Instant::now() + LETTER_JOB_LEASE / 2 < self.lease_until {
            return Ok(true);
        }
        let shared = &letters.shared;
        let began = Instant::now();
        let work = format!("letter job {}", self.id);
        self.lease = shared.bus.acquire_lease(&work, &shared.runner.holder, LETTER_JOB_LEASE).await?;
        self.lease_until = began + LETTER_JOB_LEASE;
        Ok(self.lease.is_some())
    }

    async fn turn(&mut self, letters: &LetterOffice) -> Result<NextTurn, JobError> {
        let bus = &letters.shared.bus;
        let Some(mut stored) = StoredJob::load(bus, self.id).await? else {
            return Ok(NextTurn::Never);
        };
        if is_served_elsewhere(bus, &stored.job.order).await? {
            // That hub finds the job when it looks for those that nobody works on.
            if let Some(lease) = self.lease.take() {
                bus.release_lease(&lease).await?;
            }
            return Ok(NextTurn::Never);
        }
        let maker = match &self.maker {
            Some(maker) => maker.clone(),
            None => letters.maker(&stored.job.order).await?,
        };
        self.maker = Some(maker.clone());
        let mut desk = letters.desk(&stored.job.order.topic).await?;
        match stored.job.state {
            LetterJobState::Running => {
                let most = allowance(&stored.job);
                if most == 0 {
                    rest_or_canary(&mut stored.job);
                    desk.catch_up().await?;
                    store(&mut desk, &mut stored, bus.unit_of_work()).await?;
                    return Ok(NextTurn::Now);
                }
                let taken = step(&mut desk, &mut stored, &maker, most).await?;
                if stored.job.order.stop_on_failure.is_some() && !stored.job.open.is_empty() {
                    self.count(&mut desk, &mut stored).await?;
                    self.judge(&mut desk, &mut stored).await?;
                }
                let rate = stored.job.order.rate.filter(|_| taken > 0);
                Ok(rate.map_or(NextTurn::Now, |rate| {
                    NextTurn::After(Duration::from_secs_f64(taken as f64 / f64::from(rate.max(1))))
                }))
            }
            LetterJobState::Canary => {
                let is_new = self.count(&mut desk, &mut stored).await?;
                if self.judge(&mut desk, &mut stored).await? {
                    return Ok(NextTurn::Now);
                }
                Ok(self.look_again(is_new))
            }
            LetterJobState::Paused | LetterJobState::Stopped | LetterJobState::Done | LetterJobState::Cancelled => {
                let age = bus.clock().now_ms().saturating_sub(stored.job.updated_ts).max(0).unsigned_abs();
                if u128::from(age) > OUTCOMES_COUNTED_FOR.as_millis() {
                    stored.job.open.clear();
                }
                if stored.job.open.is_empty() {
                    desk.catch_up().await?;
                    store(&mut desk, &mut stored, bus.unit_of_work()).await?;
                    return Ok(NextTurn::Never);
                }
                let is_new = self.count(&mut desk, &mut stored).await?;
                Ok(self.look_again(is_new))
            }
        }
    }

    /// Whether something was counted.
    async fn count(
        &mut self,
        desk: &mut super::super::desk::LetterDesk,
        stored: &mut StoredJob,
    ) -> Result<bool, JobError> {
        let before = (stored.job.acked, stored.job.dead, stored.job.open.len());
        self.counted_to = count(desk, stored, self.counted_to, OUTCOME_BLOCKS_AT_ONCE).await?;
        Ok(before != (stored.job.acked, stored.job.dead, stored.job.open.len()))
    }

    /// Stops or lets go on by what is known of the outcomes. Whether it changed something.
    async fn judge(
        &mut self,
        desk: &mut super::super::desk::LetterDesk,
        stored: &mut StoredJob,
    ) -> Result<bool, JobError> {
        if !judged(&mut stored.job) {
            return Ok(false);
        }
        store(desk, stored, desk.bus.unit_of_work()).await?;
        Ok(true)
    }

    fn look_again(&mut self, is_new: bool) -> NextTurn {
        self.wait = if is_new { OUTCOME_FIRST_WAIT } else { (self.wait * 2).min(OUTCOME_LONGEST_WAIT) };
        NextTurn::After(self.wait)
    }

    /// Somebody else was faster, the store has trouble, or it will never work.
    async fn failed(&mut self, letters: &LetterOffice, error: JobError) -> NextTurn {
        let is_lasting = match &error {
            JobError::Bus(Error::Closed) => return NextTurn::Never,
            JobError::Bus(Error::Conflict { .. }) => false,
            JobError::Bus(error) => !matches!(error.kind(), ErrorKind::Store | ErrorKind::Fenced),
            _ => true,
        };
        self.failures += 1;
        if is_lasting {
            let reason = error.to_string();
            if letters.stop_job(self.id, &reason).await.is_ok() {
                return NextTurn::Now;
            }
        }
        if self.failures > 3 {
            tracing::warn!(job = %self.id, %error, failures = self.failures, "a job over dead letters failed; it is tried again");
        }
        let wait = KEEPER_FIRST_RETRY.saturating_mul(1 << (self.failures - 1).min(16)).min(KEEPER_LONGEST_RETRY);
        match error {
            JobError::Bus(Error::Conflict { .. }) if self.failures < 16 => NextTurn::After(Duration::from_millis(5)),
            _ => NextTurn::After(wait),
        }
    }
}

/// How many letters the next step may take.
fn allowance(job: &LetterJob) -> usize {
    let mut most = job.order.limit.saturating_sub(job.matched).min(LETTERS_OF_STEP as u64);
    if let Some(canary) = job.order.canary.filter(|_| !job.canary_passed) {
        most = most.min(canary.saturating_sub(job.replayed));
    }
    if let (Some(rate), true) = (job.order.rate, most > 0) {
        // Ten steps a second spread what a second may have.
        most = most.min(u64::from(rate / 10).max(1));
    }
    usize::try_from(most).unwrap_or(usize::MAX)
}

/// Nothing may be handed out: either the canary has to be acked first, or it is over.
fn rest_or_canary(job: &mut LetterJob) {
    let is_canary = job.order.canary.is_some_and(|canary| !job.canary_passed && job.replayed >= canary);
    let is_over = job.matched >= job.order.limit;
    job.state = if is_canary && !is_over { LetterJobState::Canary } else { LetterJobState::Done };
}

/// Whether the outcomes change how the job stands.
fn judged(job: &mut LetterJob) -> bool {
    if job.order.work == LetterWork::Purge {
        return false;
    }
    let allowed = u64::from(job.order.stop_on_failure.unwrap_or(0));
    let decided = job.acked + job.dead;
    let is_canary = job.state == LetterJobState::Canary;
    let of = if is_canary { job.replayed } else { decided };
    let is_judged = is_canary || (job.order.stop_on_failure.is_some() && decided >= FAILURES_JUDGED_FROM);
    if is_judged && !job.is_at_rest() && job.dead * 100 > allowed * of {
        job.state = LetterJobState::Stopped;
        let what = if is_canary { "of the canary" } else { "whose outcome is known" };
        job.reason = Some(format!("{} of {of} events {what} died again, and {allowed} % may", job.dead));
        return true;
    }
    if is_canary && decided >= job.replayed {
        (job.state, job.canary_passed) = (LetterJobState::Running, true);
        return true;
    }
    false
}
