//! What publishers have to do, shared by all of one measurement, and how far they are.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;

use super::payload::Payload;

/// Events that wait for their receipt at most, on one connection.
pub const IN_FLIGHT: usize = 2_000;
/// Nor more bytes than this: with large payloads a window of events would only measure buffers.
const IN_FLIGHT_BYTES: usize = 4 << 20;

pub struct PublishJob {
    pub payload: Payload,
    /// Of one connection.
    pub in_flight: usize,
    topics: u64,
    quota: u64,
    next: AtomicU64,
    acked: AtomicU64,
    stopped: AtomicBool,
}

impl PublishJob {
    /// Publishes until it is stopped.
    pub fn endless(payload_bytes: usize, topics: usize) -> Self {
        Self::of(payload_bytes, topics, u64::MAX)
    }

    /// Publishes so many.
    pub fn of(payload_bytes: usize, topics: usize, quota: u64) -> Self {
        let payload = Payload::of_size(payload_bytes);
        let in_flight = IN_FLIGHT.min(IN_FLIGHT_BYTES / payload.bytes()).max(1);
        Self {
            payload,
            in_flight,
            topics: topics as u64,
            quota,
            next: AtomicU64::new(0),
            acked: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
        }
    }

    pub fn with_in_flight(mut self, events: usize) -> Self {
        self.in_flight = events;
        self
    }

    /// The number of the next event to publish; `None` when there is no more to do.
    pub fn take(&self) -> Option<u64> {
        if self.stopped.load(Ordering::Relaxed) || self.next.load(Ordering::Relaxed) >= self.quota {
            return None;
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        (number < self.quota).then_some(number)
    }

    /// As many numbers as are left, at most `most`, for clients that send several at once.
    #[cfg(any(test, feature = "peers"))]
    pub fn take_many(&self, most: usize) -> Vec<u64> {
        std::iter::from_fn(|| self.take()).take(most).collect()
    }

    pub fn payload_of(&self, number: u64) -> Bytes {
        self.payload.of(number)
    }

    /// Topics take turns.
    pub fn topic_of(&self, number: u64) -> usize {
        match self.topics {
            1 => 0,
            many => usize::try_from(number % many).unwrap_or(0),
        }
    }

    pub fn acked(&self, events: u64) {
        self.acked.fetch_add(events, Ordering::Relaxed);
    }

    /// Receipts so far.
    pub fn acked_so_far(&self) -> &AtomicU64 {
        &self.acked
    }

    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// How many were published, once all publishers have ended.
    pub fn published(&self) -> u64 {
        self.acked.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_is_handed_out_once_and_then_nothing() {
        let job = PublishJob::of(256, 3, 5);
        assert_eq!(job.take_many(3), [0, 1, 2]);
        assert_eq!((job.topic_of(2), job.topic_of(3)), (2, 0));
        assert_eq!(job.take_many(9), [3, 4]);
        assert_eq!(job.take(), None);
    }

    #[test]
    fn a_stopped_job_has_nothing_more_to_do() {
        let job = PublishJob::endless(256, 1);
        assert_eq!(job.take(), Some(0));
        job.stop();
        assert_eq!(job.take(), None);
    }

    #[test]
    fn large_payloads_make_the_window_small() {
        assert_eq!(PublishJob::endless(256, 1).in_flight, IN_FLIGHT);
        assert!(PublishJob::endless(10_240, 1).in_flight < 500);
    }
}
