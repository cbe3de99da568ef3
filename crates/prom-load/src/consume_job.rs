//! What the consumers of one measurement have to do together: check every event that arrives, settle it, and count.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::Mutex;
use tokio::sync::watch;

use crate::seen::{Mark, Marker, SeenNumbers};
use crate::{Latencies, LoadFailures, Payload, PayloadLabel, PublishJob};

pub struct ConsumeJob {
    payload: Payload,
    sharing: Sharing,
    /// One for a group, or one for each consumer.
    seen: Mutex<Vec<Arc<SeenNumbers>>>,
    fresh: AtomicU64,
    settled: AtomicU64,
    /// What connections got that have ended.
    total: Mutex<Consumed>,
    expected: AtomicU64,
    is_over: AtomicBool,
    over: watch::Sender<Option<Instant>>,
    failures: Arc<LoadFailures>,
}

/// Which consumers get an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// One of them: they are members of one group.
    Group,
    /// All of them: they have no group.
    Each,
}

/// An event that should not have arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WrongEvent {
    #[error("event {0} was delivered twice")]
    Repeated(u64),
    #[error("an event arrived that was not sent in this measurement")]
    Foreign,
}

impl ConsumeJob {
    /// It is over when `expected` events are settled, or when it is stopped. Consumers without a group settle nothing:
    /// each has all when it has seen that many.
    pub fn new(payload_bytes: usize, sharing: Sharing, expected: u64) -> Self {
        let shared = (sharing == Sharing::Group).then(Arc::default);
        Self {
            payload: Payload::of_size(payload_bytes),
            sharing,
            seen: Mutex::new(shared.into_iter().collect()),
            fresh: AtomicU64::new(0),
            settled: AtomicU64::new(0),
            total: Mutex::default(),
            expected: AtomicU64::new(expected),
            is_over: AtomicBool::new(false),
            over: watch::Sender::new(None),
            failures: Arc::default(),
        }
    }

    pub fn with_failures(self, failures: Arc<LoadFailures>) -> Self {
        Self { failures, ..self }
    }

    /// One connection's part of the job.
    pub fn intake(self: &Arc<Self>) -> Intake {
        let mut all = self.seen.lock();
        let (seen, latencies) = match self.sharing {
            Sharing::Group => (all.first().cloned().unwrap_or_default(), Latencies::default()),
            // There may be thousands.
            Sharing::Each => {
                all.push(Arc::default());
                (all.last().cloned().unwrap_or_default(), Latencies::coarse())
            }
        };
        let consumed = Consumed { latencies, ..Consumed::default() };
        Intake { job: self.clone(), marker: seen.marker(), consumed, uncounted: 0 }
    }

    /// From now on it is known how many there will be.
    pub fn expect(&self, events: u64) {
        self.expected.store(events, Ordering::Relaxed);
        self.settled(0);
    }

    fn settled(&self, events: u64) {
        let settled = self.settled.fetch_add(events, Ordering::Relaxed) + events;
        if settled >= self.expected.load(Ordering::Relaxed) {
            self.stop();
        }
    }

    pub fn stop(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.over.send_if_modified(|over| {
            let is_first = over.is_none();
            over.get_or_insert_with(Instant::now);
            is_first
        });
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

    pub fn settled_counter(&self) -> &AtomicU64 {
        &self.settled
    }

    /// Events settled until it was over.
    pub fn settled_so_far(&self) -> u64 {
        self.settled.load(Ordering::Relaxed)
    }

    /// Different events that arrived; without a group, at each consumer.
    pub fn fresh_so_far(&self) -> u64 {
        self.fresh.load(Ordering::Relaxed)
    }

    /// How many of the events below `sent` a consumer that should have got them has not. Those in `excused`, which is in
    /// order, need not arrive.
    pub fn missing(&self, sent: u64, excused: &[Range<u64>]) -> u64 {
        let is_excused = |number: u64| {
            let after = excused.partition_point(|numbers| numbers.start <= number);
            after.checked_sub(1).is_some_and(|before| excused[before].contains(&number))
        };
        let missing_in = |seen: &Arc<SeenNumbers>| {
            (0..sent).filter(|number| !seen.contains(*number) && !is_excused(*number)).count() as u64
        };
        self.seen.lock().iter().map(missing_in).sum()
    }

    /// Events that were stored and did not arrive.
    pub fn lost(&self, published: &PublishJob) -> u64 {
        self.missing(published.sent(), &published.excused())
    }

    /// What consumers got together. Those that have not ended are not in it.
    pub fn consumed(&self) -> Consumed {
        self.total.lock().clone()
    }

    pub fn payload_bytes(&self) -> usize {
        self.payload.bytes()
    }

    pub fn failures(&self) -> &Arc<LoadFailures> {
        &self.failures
    }
}

/// What arrives on one connection. When it is dropped, the job has what it counted.
pub struct Intake {
    job: Arc<ConsumeJob>,
    marker: Marker,
    consumed: Consumed,
    /// Fresh events that the job does not count yet.
    uncounted: u64,
}

/// What consumers got.
#[derive(Debug, Clone, Default)]
pub struct Consumed {
    /// Seen for the first time.
    pub fresh: u64,
    /// Seen before.
    pub repeated: u64,
    /// Not what was published.
    pub harmed: u64,
    /// Settled, and the server said so.
    pub acked: u64,
    /// From when an event was due until it arrived.
    pub latencies: Latencies,
    /// When the last new event, or the answer to the last ack, came.
    pub last: Option<Instant>,
}

impl Intake {
    /// Call it when a handler would be called. After the end nothing is checked: what a consumer that left gave back may
    /// come again to others.
    pub fn arrived(&mut self, payload: &[u8]) -> Result<(), WrongEvent> {
        if self.job.is_over() {
            return Ok(());
        }
        self.check(payload, Instant::now)
    }

    /// Events that came together, now. What is wrong with them is only counted.
    pub fn all_arrived<P: AsRef<[u8]>>(&mut self, payloads: impl Iterator<Item = P>) {
        if self.job.is_over() {
            return;
        }
        let now = Instant::now();
        let fresh_before = self.consumed.fresh;
        for payload in payloads {
            let _counted = self.check(payload.as_ref(), || now);
        }
        if self.consumed.fresh > fresh_before {
            self.consumed.last = Some(now);
            self.count();
        }
    }

    fn check(&mut self, payload: &[u8], now: impl FnOnce() -> Instant) -> Result<(), WrongEvent> {
        let label = self.job.payload.read(payload);
        match label.map(|label| (label, self.marker.mark(label.number))) {
            Some((label, Mark::New)) => self.is_fresh(label, now),
            Some((label, Mark::Repeated)) => {
                self.consumed.repeated += 1;
                return Err(WrongEvent::Repeated(label.number));
            }
            Some((_, Mark::Foreign)) | None => {
                self.consumed.harmed += 1;
                return Err(WrongEvent::Foreign);
            }
        }
        Ok(())
    }

    fn is_fresh(&mut self, label: PayloadLabel, now: impl FnOnce() -> Instant) {
        self.consumed.fresh += 1;
        self.uncounted += 1;
        if label.is_timed() {
            self.consumed.latencies.record(label.late_at(now()));
        }
    }

    fn count(&mut self) {
        self.job.fresh.fetch_add(std::mem::take(&mut self.uncounted), Ordering::Relaxed);
    }

    /// Call it when the server has settled this many. After the end the job does not count them.
    pub fn settled(&mut self, events: u64) {
        self.consumed.acked += events;
        if !self.job.is_over() {
            self.job.settled(events);
        }
    }

    /// As [`Intake::settled`], for a batch that was answered just now.
    pub fn settled_now(&mut self, events: u64) {
        self.settled(events);
        self.consumed.last = Some(Instant::now());
    }

    /// Whether a consumer without a group has as many as are expected.
    pub fn has_all(&self) -> bool {
        self.consumed.fresh >= self.job.expected.load(Ordering::Relaxed)
    }
}

impl Drop for Intake {
    fn drop(&mut self) {
        self.count();
        self.job.total.lock().add(&self.consumed);
    }
}

impl Consumed {
    fn add(&mut self, other: &Self) {
        self.fresh += other.fresh;
        self.repeated += other.repeated;
        self.harmed += other.harmed;
        self.acked += other.acked;
        self.latencies.add(&other.latencies);
        self.last = self.last.max(other.last);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn group() -> Arc<ConsumeJob> {
        Arc::new(ConsumeJob::new(256, Sharing::Group, u64::MAX))
    }

    fn payload(number: u64) -> bytes::Bytes {
        Payload::of_size(256).make(PayloadLabel::untimed(number))
    }

    #[test]
    fn an_event_that_comes_twice_or_from_elsewhere_is_told() {
        let job = group();
        let (mut one, mut other) = (job.intake(), job.intake());
        one.arrived(&payload(99)).unwrap();
        assert_eq!(other.arrived(&payload(99)), Err(WrongEvent::Repeated(99)));
        assert_eq!(other.arrived(&payload(1 << 47)), Err(WrongEvent::Foreign));
        assert_eq!(other.arrived(b"{}"), Err(WrongEvent::Foreign));
        drop((one, other));
        let Consumed { fresh, repeated, harmed, .. } = job.consumed();
        assert_eq!((fresh, repeated, harmed, job.fresh_so_far()), (1, 1, 2, 1));
    }

    #[test]
    fn what_comes_again_after_the_end_is_not_checked() {
        let job = group();
        let mut intake = job.intake();
        intake.arrived(&payload(1)).unwrap();
        intake.settled(1);
        job.stop();
        intake.arrived(&payload(1)).unwrap();
        intake.settled(1);
        drop(intake);
        assert_eq!((job.settled_so_far(), job.consumed().acked), (1, 2));
    }

    #[tokio::test]
    async fn it_is_over_when_what_is_expected_is_settled() {
        let job = group();
        job.intake().settled(4);
        assert!(!job.is_over());
        job.expect(4);
        job.over().await;
    }

    #[test]
    fn what_was_stored_and_did_not_arrive_is_lost() {
        let published = PublishJob::new(256, 1, 6);
        let _sent = published.take_many(6);
        published.unanswered(2..3);
        for (sharing, lost) in [(Sharing::Group, 2), (Sharing::Each, 2 + 5)] {
            let job = Arc::new(ConsumeJob::new(256, sharing, 6));
            let (mut one, other) = (job.intake(), job.intake());
            one.all_arrived([0, 1, 4].map(payload).iter());
            assert!(!one.has_all() && !other.has_all());
            assert_eq!(job.lost(&published), lost, "{sharing:?}: 3 and 5, and all but 2 at one that got nothing");
        }
    }

    #[test]
    fn timed_events_are_timed_from_when_they_were_due() {
        let job = group();
        let mut intake = job.intake();
        let due = Instant::now() - Duration::from_millis(10);
        intake.arrived(&Payload::of_size(256).make(PayloadLabel::due(1, due))).unwrap();
        intake.arrived(&payload(2)).unwrap();
        drop(intake);
        assert_eq!(job.consumed().latencies.percentiles().map(|it| it.count), Some(1));
    }
}
