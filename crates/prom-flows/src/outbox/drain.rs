//! The loop of one drainer: hold buckets, claim their rows, publish them, mark them, and wait for more.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use prom_engine::Bus;
use prom_types::EpochMs;
use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout};

use super::buckets::{self, BucketSet};
use super::error::SourceError;
use super::held::{HeldKeys, TooManyFailing};
use super::limits::{
    ASK_FOR_BUCKETS, CALL, CLAIM_BYTES, CLAIM_GROWTH, ERROR_CHARS, EXPIRE_EVERY, FAILING_ROWS, FIRST_POLL,
    FIRST_ROW_RETRY, LONGEST_ROW_RETRY, LOOK_AFRESH, LOOK_AT_FAILING,
};
use super::meters::OutboxMeters;
use super::options::OutboxOptions;
use super::publish::{RowFate, RowRules, publish};
use super::row::OutboxRow;
use super::source::{BucketWish, Expired, FailedRow, HubPresence, Look, OutboxSource, RowClaim, Settlement};

/// Why a drainer ended.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages name variants and fields")]
pub enum DrainError {
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error("the bus cannot publish: {0}")]
    Bus(String),
    #[error(
        "more than {FAILING_ROWS} rows failed, so it cannot be known which keys they hold; requeue or drop some \
         (prom outbox requeue, prom outbox drop), and restart it"
    )]
    TooManyFailing,
    /// As it was asked to, with nothing in hand.
    #[error("it was ended")]
    Ended,
}

/// What a drainer needs to work.
pub struct DrainerParts {
    pub bus: Bus,
    pub options: Arc<OutboxOptions>,
    /// This hub, among those that drain the same rows.
    pub holder: String,
    pub source: Arc<dyn OutboxSource>,
    pub meters: Arc<OutboxMeters>,
    /// Told when an operator changed rows.
    pub news: Arc<Notify>,
    /// True once nothing more may be claimed.
    pub ending: watch::Receiver<bool>,
}

/// One life of a drainer. After a failure a new one begins; nothing of this has to survive.
pub struct Drainer {
    parts: DrainerParts,
    held: BucketSet,
    /// By the monotonic clock: from then on others may have the buckets.
    held_until: Duration,
    next_renewal: Duration,
    failing: HeldKeys,
    next_look_at_failing: Duration,
    /// Retries up to this time were looked for.
    retried: EpochMs,
    look: Look,
    next_look_afresh: Duration,
    next_expiry: Duration,
    /// Of the next claim.
    rows: usize,
    poll: Duration,
}

impl Drainer {
    pub fn new(parts: DrainerParts) -> Self {
        let rows = parts.options.batch;
        Self {
            parts,
            held: BucketSet::NONE,
            held_until: Duration::ZERO,
            next_renewal: Duration::ZERO,
            failing: HeldKeys::default(),
            next_look_at_failing: Duration::ZERO,
            retried: EpochMs::MIN,
            look: Look::Afresh,
            next_look_afresh: Duration::ZERO,
            next_expiry: Duration::ZERO,
            rows,
            poll: FIRST_POLL,
        }
    }

    /// Drains until something fails.
    pub async fn drain(&mut self) -> Result<Infallible, DrainError> {
        while !*self.parts.ending.borrow() {
            self.renew_when_due().await?;
            if self.held.is_empty() {
                self.parts.meters.is_well(0);
                self.wait_for_buckets().await;
                continue;
            }
            self.look_at_failing_when_due().await?;
            self.expire_when_due().await?;
            let rows = self.claim().await?;
            // A claim that took long may have outlived the lease; then the rows are read again.
            if rows.is_empty() {
                self.parts.meters.is_well(self.held.len());
                self.rest().await?;
            } else if self.still_holds() {
                self.poll = FIRST_POLL;
                self.publish(&rows).await?;
                self.parts.meters.is_well(self.held.len());
            } else {
                let outbox = self.parts.options.name.as_str();
                tracing::warn!(outbox, "a claim took longer than the lease and is made again; make the lease longer");
                self.look = Look::Afresh;
            }
        }
        Err(DrainError::Ended)
    }

    fn now(&self) -> Duration {
        self.parts.bus.clock().monotonic()
    }

    fn now_ms(&self) -> EpochMs {
        self.parts.bus.clock().now_ms()
    }

    /// With some time left to publish.
    fn still_holds(&self) -> bool {
        self.now() + self.parts.options.lease / 6 < self.held_until
    }

    async fn renew_when_due(&mut self) -> Result<(), DrainError> {
        let begin = self.now();
        if begin < self.next_renewal && self.still_holds() {
            return Ok(());
        }
        let holder = self.parts.holder.clone();
        let mut parts = self.ask(self.held, BucketSet::NONE).await?;
        let (take, give) = buckets::share(&holder, &parts);
        if !take.is_empty() || !give.is_empty() {
            let held = buckets::held_by(&holder, &parts);
            let wanted = held.iter().chain(take.iter()).collect::<BucketSet>().without(give);
            parts = self.ask(wanted, give).await?;
        }
        let held = buckets::held_by(&holder, &parts);
        if held != self.held {
            tracing::info!(outbox = self.parts.options.name, buckets = held.len(), "the share of this hub changed");
            self.look = Look::Afresh;
            self.next_look_at_failing = Duration::ZERO;
        }
        self.held = held;
        self.held_until = begin + self.parts.options.lease;
        let third = self.parts.options.lease / 3;
        self.next_renewal = begin + if held == BucketSet::ALL { third } else { third.min(ASK_FOR_BUCKETS) };
        Ok(())
    }

    async fn ask(&self, take: BucketSet, give: BucketSet) -> Result<Vec<buckets::ClaimedPart>, SourceError> {
        let lease = self.parts.options.lease;
        let wish = BucketWish { holder: &self.parts.holder, lease, take, give, presence: HubPresence::Here };
        within("taking buckets", self.parts.source.buckets(&wish)).await
    }

    async fn look_at_failing_when_due(&mut self) -> Result<(), DrainError> {
        let now = self.now();
        if now < self.next_look_at_failing {
            return Ok(());
        }
        let rows = within("reading failing rows", self.parts.source.failing(FAILING_ROWS + 1)).await?;
        let failing =
            HeldKeys::of(&rows, self.parts.options.on_error).map_err(|TooManyFailing| DrainError::TooManyFailing)?;
        if failing.let_go_of(&self.failing) {
            self.look = Look::Afresh;
        }
        self.failing = failing;
        let quiet = LOOK_AT_FAILING * if self.failing.is_empty() { 5 } else { 1 };
        self.next_look_at_failing = now + quiet;
        Ok(())
    }

    async fn claim(&mut self) -> Result<Vec<OutboxRow>, DrainError> {
        let (begin, now) = (self.now(), self.now_ms());
        let is_retry_due = self.failing.next_retry(self.retried).is_some_and(|at| at <= now);
        if is_retry_due || begin >= self.next_look_afresh {
            self.look = Look::Afresh;
        }
        if self.look == Look::Afresh {
            self.retried = now;
        }
        let held = self.failing.at(now);
        let claim = RowClaim { buckets: self.held, held: &held, now, rows: self.rows, look: self.look };
        let rows = within("claiming rows", self.parts.source.claim(&claim)).await?;
        let took = self.now().saturating_sub(begin);
        if self.look == Look::Afresh {
            // Where a look at everything takes long, it is done less often.
            self.next_look_afresh = begin + LOOK_AFRESH.max(took * 50);
        }
        self.look = Look::Onward;
        self.parts.meters.claimed(rows.len(), u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
        let bytes: usize = rows.iter().map(OutboxRow::bytes).sum();
        let is_full = rows.len() >= self.rows && bytes < CLAIM_BYTES;
        let batch = self.parts.options.batch;
        self.rows = if is_full { (self.rows * 2).min(batch * CLAIM_GROWTH) } else { batch };
        Ok(rows)
    }

    async fn publish(&mut self, rows: &[OutboxRow]) -> Result<(), DrainError> {
        let options = &self.parts.options;
        let rules = RowRules { on_error: options.on_error, max_attempts: options.max_attempts };
        let published = publish(&self.parts.bus, rules, &options.name, rows).await;
        let now = self.now_ms();
        let (mut sent, mut failed) = (Vec::new(), Vec::new());
        let mut before = 0;
        for (row, fate) in rows.iter().zip(published.fates) {
            match fate {
                RowFate::Sent => sent.push(row),
                RowFate::SentBefore => {
                    before += 1;
                    sent.push(row);
                }
                RowFate::Refused { reason, chance } => {
                    let wait = FIRST_ROW_RETRY.saturating_mul(1 << row.attempts.min(16)).min(LONGEST_ROW_RETRY);
                    let retry_at = (!rules.is_final(row, chance)).then(|| now + millis(wait));
                    failed.push(FailedRow { row, reason: shortened(reason), retry_at });
                }
                RowFate::Waits => self.look = Look::Afresh,
            }
        }
        let settlement =
            Settlement { holder: &self.parts.holder, now, keep_sent: options.keep_sent, sent: &sent, failed: &failed };
        within("marking rows", self.parts.source.settle(&settlement)).await?;
        let meters = &self.parts.meters;
        meters.published(sent.iter().map(|row| now.saturating_sub(row.ts).max(0).unsigned_abs()).skip(before));
        meters.published_before(before);
        meters.in_error(failed.iter().filter(|row| row.retry_at.is_none()).count());
        for FailedRow { row, reason, retry_at } in &failed {
            let outbox = options.name.as_str();
            tracing::warn!(outbox, row = row.id.text, topic = row.topic, reason, ?retry_at, "a row was not published");
        }
        if !failed.is_empty() {
            self.next_look_at_failing = Duration::ZERO;
        }
        published.trouble.map_or(Ok(()), |reason| Err(DrainError::Bus(reason)))
    }

    /// One hub does it: the one that has the first bucket.
    async fn expire_when_due(&mut self) -> Result<(), DrainError> {
        let now = self.now();
        if now < self.next_expiry || !self.held.iter().any(|bucket| bucket == 0) {
            return Ok(());
        }
        let sent_before = self.now_ms() - millis(self.parts.options.keep_sent);
        self.next_expiry = match within("removing sent rows", self.parts.source.expire(sent_before)).await? {
            Expired::All => now + EXPIRE_EVERY,
            Expired::Some => now,
        };
        Ok(())
    }

    async fn wait_for_buckets(&mut self) {
        let due = self.next_renewal.saturating_sub(self.now());
        tokio::select! {
            () = sleep(due) => {}
            () = is_true(&mut self.parts.ending) => {}
            () = self.parts.news.notified() => self.next_look_at_failing = Duration::ZERO,
        }
    }

    /// Waits for rows, for an operator, or until something is due.
    async fn rest(&mut self) -> Result<(), DrainError> {
        let due = self.next_renewal.saturating_sub(self.now());
        let retry = self.failing.next_retry(self.retried).map(|at| at.saturating_sub(self.now_ms()).max(0));
        let retry = retry.map(|ms| Duration::from_millis(ms.unsigned_abs()));
        let at_most = retry.map_or(due, |retry| retry.min(due)).max(FIRST_POLL);
        let poll = self.poll.min(self.parts.options.poll);
        self.poll = (self.poll * 2).min(self.parts.options.poll);
        tokio::select! {
            // A timeout says that something else is due.
            arrived = timeout(at_most, self.parts.source.arrived(poll)) => arrived.unwrap_or(Ok(()))?,
            () = is_true(&mut self.parts.ending) => {}
            () = self.parts.news.notified() => self.next_look_at_failing = Duration::ZERO,
        }
        Ok(())
    }
}

async fn is_true(ending: &mut watch::Receiver<bool>) {
    // Without its sender nothing can end any more.
    if ending.wait_for(|ending| *ending).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Gives everything back, so that another hub need not wait for the lease to run out.
pub async fn leave(source: &dyn OutboxSource, holder: &str, lease: Duration) -> Result<(), SourceError> {
    let wish =
        BucketWish { holder, lease, take: BucketSet::NONE, give: BucketSet::ALL, presence: HubPresence::Leaving };
    within("giving buckets back", source.buckets(&wish)).await.map(drop)
}

/// No call waits without a deadline.
pub async fn within<T>(what: &str, call: impl Future<Output = Result<T, SourceError>>) -> Result<T, SourceError> {
    timeout(CALL, call).await.unwrap_or_else(|_| Err(SourceError::silent(what, CALL)))
}

fn millis(duration: Duration) -> EpochMs {
    EpochMs::try_from(duration.as_millis()).unwrap_or(EpochMs::MAX)
}

fn shortened(reason: String) -> String {
    match reason.char_indices().nth(ERROR_CHARS) {
        Some((end, _)) => format!("{}…", &reason[..end]),
        None => reason,
    }
}
