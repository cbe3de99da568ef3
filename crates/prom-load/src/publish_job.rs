//! What the publishers of one measurement have to do together, and how far they are.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::Mutex;
use prom_client::{Error, Receipt};
use tokio::sync::watch;

use crate::{Latencies, LoadFailures, Payload, PayloadLabel};

/// Publishes under way on one connection, unless told otherwise.
const IN_FLIGHT: usize = 2_000;
/// With large payloads a window of that many would only measure buffers.
const IN_FLIGHT_BYTES: usize = 4 << 20;

pub struct PublishJob {
    payload: Payload,
    timing: Timing,
    /// Publishes under way on one connection.
    pub in_flight: usize,
    /// Events in one publish, where the client can do that.
    pub batch: u64,
    topics: u64,
    quota: u64,
    next: AtomicU64,
    acked: AtomicU64,
    failed: AtomicU64,
    is_stopped: AtomicBool,
    is_abandoned: watch::Sender<bool>,
    /// Numbers that need not arrive: refused, not answered or not sent.
    excused: Mutex<Vec<Range<u64>>>,
    failures: Arc<LoadFailures>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Timing {
    Off,
    On,
}

impl PublishJob {
    /// Publishes as many events as `quota` says, to topics in turn.
    pub fn new(payload_bytes: usize, topics: usize, quota: u64) -> Self {
        let payload = Payload::of_size(payload_bytes);
        let in_flight = IN_FLIGHT.min(IN_FLIGHT_BYTES / payload.bytes()).max(1);
        Self {
            payload,
            timing: Timing::Off,
            in_flight,
            batch: 1,
            topics: topics.max(1) as u64,
            quota,
            next: AtomicU64::new(0),
            acked: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            is_stopped: AtomicBool::new(false),
            is_abandoned: watch::Sender::new(false),
            excused: Mutex::default(),
            failures: Arc::default(),
        }
    }

    /// Publishes until it is stopped.
    pub fn endless(payload_bytes: usize, topics: usize) -> Self {
        Self::new(payload_bytes, topics, u64::MAX)
    }

    pub fn with_in_flight(self, in_flight: usize) -> Self {
        Self { in_flight: in_flight.max(1), ..self }
    }

    pub fn with_batch(self, events: usize) -> Self {
        Self { batch: events.max(1) as u64, ..self }
    }

    /// Payloads say when they were handed over, so that consumers can time them.
    pub fn timed(self) -> Self {
        Self { timing: Timing::On, ..self }
    }

    /// Shares the failures of another job, and ends when those are too many.
    pub fn with_failures(self, failures: Arc<LoadFailures>) -> Self {
        Self { failures, ..self }
    }

    /// The number of the next event to publish; `None` when there is no more to do.
    pub fn take(&self) -> Option<u64> {
        self.take_many(1).map(|numbers| numbers.start)
    }

    /// The next numbers, at most `most` of them, for clients that send several at once.
    pub fn take_many(&self, most: u64) -> Option<Range<u64>> {
        // Looked at first, so that the counter does not grow beyond the quota forever.
        if self.is_stopped() || self.next.load(Ordering::Relaxed) >= self.quota {
            return None;
        }
        let first = self.next.fetch_add(most, Ordering::Relaxed);
        (first < self.quota).then(|| first..first.saturating_add(most).min(self.quota))
    }

    /// Topics take turns.
    pub fn topic_of(&self, number: u64) -> usize {
        if self.topics == 1 { 0 } else { (number % self.topics) as usize }
    }

    pub fn payload(&self) -> &Payload {
        &self.payload
    }

    /// The label of an event that leaves now, as soon as the server can take it.
    pub fn label(&self, number: u64, now: Instant) -> PayloadLabel {
        match self.timing {
            Timing::Off => PayloadLabel::untimed(number),
            Timing::On => PayloadLabel::due(number, now),
        }
    }

    pub fn acked(&self, events: u64) {
        self.acked.fetch_add(events, Ordering::Relaxed);
    }

    pub fn failed(&self, numbers: Range<u64>, error: &Error) {
        self.failures.note(error, numbers.end - numbers.start);
        self.count_failed(numbers);
    }

    pub fn unanswered(&self, numbers: Range<u64>) {
        let events = numbers.end - numbers.start;
        self.failures.note_as("unanswered", "the run ended before the hub answered", events);
        self.count_failed(numbers);
    }

    fn count_failed(&self, numbers: Range<u64>) {
        self.failed.fetch_add(numbers.end - numbers.start, Ordering::Relaxed);
        self.excused.lock().push(numbers);
    }

    /// A number that was taken and not sent.
    pub fn withdraw(&self, number: u64) {
        self.excused.lock().push(number..number + 1);
    }

    /// Nothing more is published; what is under way is waited for.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    pub fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed) || self.failures.is_hopeless()
    }

    /// Nothing is waited for any more.
    pub fn abandon(&self) {
        self.stop();
        self.is_abandoned.send_replace(true);
    }

    /// Ready when the job is abandoned.
    pub async fn abandoned(&self) {
        let mut is_abandoned = self.is_abandoned.subscribe();
        // The sender lives as long as this job.
        let _abandoned = is_abandoned.wait_for(|is_abandoned| *is_abandoned).await;
    }

    pub fn acked_counter(&self) -> &AtomicU64 {
        &self.acked
    }

    /// Events with a receipt.
    pub fn acked_so_far(&self) -> u64 {
        self.acked.load(Ordering::Relaxed)
    }

    /// Events that were refused or not answered.
    pub fn failed_so_far(&self) -> u64 {
        self.failed.load(Ordering::Relaxed)
    }

    /// Numbers below this were sent, but for those that are excused.
    pub fn sent(&self) -> u64 {
        self.next.load(Ordering::Relaxed).min(self.quota)
    }

    /// Numbers that need not arrive, in order.
    pub fn excused(&self) -> Vec<Range<u64>> {
        let mut excused = self.excused.lock().clone();
        excused.sort_unstable_by_key(|numbers| numbers.start);
        excused
    }

    pub fn failures(&self) -> &Arc<LoadFailures> {
        &self.failures
    }
}

/// What the receipts of one publisher said.
#[derive(Debug, Clone, Default)]
pub struct Published {
    pub stored: u64,
    /// How durable events are, and how many of each.
    pub durability: BTreeMap<&'static str, u64>,
    /// From when an event was due until its receipt.
    pub receipts: Latencies,
    /// From when an event was due until it was handed to the client, where there was a pace.
    pub late: Latencies,
    /// When the last receipt came.
    pub last: Option<Instant>,
}

impl Published {
    pub fn stored(&mut self, receipt: &Receipt, events: u64) {
        self.stored += events;
        *self.durability.entry(receipt.durability.as_str()).or_default() += events;
    }

    /// What another publisher did as well.
    pub fn add(&mut self, other: &Self) {
        self.stored += other.stored;
        for (durability, events) in &other.durability {
            *self.durability.entry(durability).or_default() += events;
        }
        self.receipts.add(&other.receipts);
        self.late.add(&other.late);
        self.last = self.last.max(other.last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_is_handed_out_once_and_then_nothing() {
        let job = PublishJob::new(256, 3, 5);
        assert_eq!(job.take_many(3), Some(0..3));
        assert_eq!((job.topic_of(2), job.topic_of(3)), (2, 0));
        assert_eq!(job.take_many(9), Some(3..5));
        assert_eq!((job.take(), job.sent()), (None, 5));
    }

    #[test]
    fn a_stopped_job_has_nothing_more_to_do() {
        let job = PublishJob::endless(256, 1);
        assert_eq!(job.take(), Some(0));
        job.stop();
        assert_eq!((job.take(), job.sent()), (None, 1));
    }

    #[test]
    fn large_payloads_make_the_window_small() {
        assert_eq!(PublishJob::endless(256, 1).in_flight, IN_FLIGHT);
        assert!(PublishJob::endless(10_240, 1).in_flight < 500);
    }

    #[tokio::test]
    async fn failures_are_excused_and_too_many_end_the_job() {
        let job = PublishJob::endless(256, 1);
        let _sent = job.take_many(3_000);
        job.unanswered(5..7);
        job.unanswered(0..2);
        assert_eq!((job.failed_so_far(), job.excused()), (4, vec![0..2, 5..7]));
        assert!(!job.is_stopped());
        job.unanswered(1_000..2_000);
        assert!(job.is_stopped() && job.take().is_none());
        job.abandon();
        job.abandoned().await;
    }
}
