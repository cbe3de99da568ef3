//! What the consumers of a group have to do, shared by all of one measurement: note every event that arrives, settle
//! it, and count. An event that comes twice, or that nobody sent, makes the measurement fail.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use anyhow::{Context, bail, ensure};
use tokio::sync::watch;

use super::payload::number_of;

const WORD_BITS: u64 = 64;

pub struct ConsumeJob {
    begun: Instant,
    /// One bit for each number that has arrived.
    seen: Box<[AtomicU64]>,
    /// Nanoseconds after `begun` at which a number arrived, where that is asked for.
    arrivals: Box<[AtomicU64]>,
    settled: AtomicU64,
    expected: AtomicU64,
    is_over: AtomicBool,
    over: watch::Sender<Option<Instant>>,
    failure: OnceLock<String>,
}

/// Whether to note when each event arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clocked {
    Yes,
    No,
}

impl ConsumeJob {
    /// Numbers are below `numbers`; it is over when `expected` are settled, or when it is stopped.
    pub fn new(numbers: u64, expected: u64, clocked: Clocked) -> Self {
        let zeros = |count: u64| (0..count).map(|_| AtomicU64::new(0)).collect();
        Self {
            begun: Instant::now(),
            seen: zeros(numbers.div_ceil(WORD_BITS)),
            arrivals: zeros(if clocked == Clocked::Yes { numbers } else { 0 }),
            settled: AtomicU64::new(0),
            expected: AtomicU64::new(expected),
            is_over: AtomicBool::new(false),
            over: watch::Sender::new(None),
            failure: OnceLock::new(),
        }
    }

    /// To be called for each event, when the handler would be. Once it is over, what a member that left gave back comes
    /// again to others, rightly, and is not looked at.
    pub fn arrived(&self, payload: &[u8]) -> anyhow::Result<()> {
        if self.is_over() {
            return Ok(());
        }
        let number = number_of(payload).context("an event arrived that nobody sent")?;
        let (word, bit) = (usize::try_from(number / WORD_BITS)?, 1 << (number % WORD_BITS));
        let word = self.seen.get(word).with_context(|| format!("event {number} was not sent in this measurement"))?;
        ensure!(word.fetch_or(bit, Ordering::Relaxed) & bit == 0, "event {number} was delivered twice");
        if let Some(arrival) = self.arrivals.get(usize::try_from(number)?) {
            arrival.store(u64::try_from(self.begun.elapsed().as_nanos())?, Ordering::Relaxed);
        }
        Ok(())
    }

    /// To be called when so many were settled. After the end nothing counts.
    pub fn settled(&self, events: u64) {
        if self.is_over() {
            return;
        }
        let settled = self.settled.fetch_add(events, Ordering::Relaxed) + events;
        if settled >= self.expected.load(Ordering::Relaxed) {
            self.stop();
        }
    }

    /// From now on it is known how many there will be.
    pub fn expect(&self, events: u64) {
        self.expected.store(events, Ordering::Relaxed);
        self.settled(0);
    }

    pub fn stop(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.over.send_if_modified(|over| {
            let first = over.is_none();
            over.get_or_insert_with(Instant::now);
            first
        });
    }

    /// For consumers that cannot return an error from where they see it.
    pub fn fail(&self, wrong: anyhow::Error) {
        let _the_first_counts = self.failure.set(format!("{wrong:#}"));
        self.stop();
    }

    /// The first failure, if there was one; to be asked when all have ended.
    pub fn sound(&self) -> anyhow::Result<()> {
        self.failure.get().map_or(Ok(()), |wrong| bail!("{wrong}"))
    }

    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Ready when it is over, with when that was.
    pub async fn over(&self) -> Instant {
        let mut over = self.over.subscribe();
        let ended = over.wait_for(Option::is_some).await.ok().and_then(|ended| *ended);
        ended.unwrap_or_else(Instant::now)
    }

    pub fn settled_so_far(&self) -> &AtomicU64 {
        &self.settled
    }

    /// How many different events arrived.
    pub fn distinct(&self) -> u64 {
        self.seen.iter().map(|word| u64::from(word.load(Ordering::Relaxed).count_ones())).sum()
    }

    pub fn begun(&self) -> Instant {
        self.begun
    }

    /// Nanoseconds after [`ConsumeJob::begun`] for each number; 0 for what did not arrive.
    pub fn arrivals(&self) -> impl Iterator<Item = u64> {
        self.arrivals.iter().map(|arrival| arrival.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::super::payload::Payload;
    use super::*;

    #[test]
    fn an_event_that_comes_twice_or_from_elsewhere_is_an_error() {
        let (job, payload) = (ConsumeJob::new(100, 100, Clocked::No), Payload::of_size(256));
        job.arrived(&payload.of(99)).unwrap();
        assert!(job.arrived(&payload.of(99)).unwrap_err().to_string().contains("twice"));
        assert!(job.arrived(&payload.of(1_000)).is_err());
        assert!(job.arrived(b"{}").is_err());
        assert_eq!(job.distinct(), 1);
    }

    #[test]
    fn what_comes_again_after_the_end_is_not_looked_at() {
        let (job, payload) = (ConsumeJob::new(100, 100, Clocked::No), Payload::of_size(256));
        job.arrived(&payload.of(1)).unwrap();
        job.settled(1);
        job.stop();
        job.arrived(&payload.of(1)).unwrap();
        job.settled(1);
        assert_eq!((job.distinct(), job.settled_so_far().load(Ordering::Relaxed)), (1, 1));
    }

    #[tokio::test]
    async fn it_is_over_when_what_is_expected_is_settled() {
        let job = ConsumeJob::new(10, u64::MAX, Clocked::Yes);
        job.settled(4);
        assert!(!job.is_over());
        job.expect(4);
        job.over().await;
    }
}
