//! What readers without a group have to do: read so many events each, and prove that they were the right ones.

use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, ensure};

use super::payload::number_of;

pub struct TailJob {
    /// Of a reader that got the numbers 0, 1, 2… up to here, each once.
    expected: Tally,
    received: AtomicU64,
}

/// One reader's count. The order need not be that of the numbers: several publishers may have sent them.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Tally {
    count: u64,
    sum: u64,
    squares: u64,
}

impl TailJob {
    pub fn new(expected: u64) -> Self {
        let mut all = Tally::default();
        (0..expected).for_each(|number| all.add(number));
        Self { expected: all, received: AtomicU64::new(0) }
    }

    pub fn is_done(&self, tally: &Tally) -> bool {
        tally.count >= self.expected.count
    }

    pub fn arrived(&self, tally: &mut Tally, payload: &[u8]) -> anyhow::Result<()> {
        let number = number_of(payload).context("an event arrived that nobody sent")?;
        tally.add(number);
        Ok(())
    }

    /// To be called by a reader that has all of them.
    pub fn finish(&self, tally: &Tally) -> anyhow::Result<()> {
        let (got, wanted) = (tally.count, self.expected.count);
        ensure!(*tally == self.expected, "a reader got {got} events, and not each of {wanted} once");
        self.received.fetch_add(tally.count, Ordering::Relaxed);
        Ok(())
    }

    /// By all readers that have finished.
    pub fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }
}

impl Tally {
    fn add(&mut self, number: u64) {
        self.count += 1;
        self.sum = self.sum.wrapping_add(number);
        self.squares = self.squares.wrapping_add(number.wrapping_mul(number));
    }
}

#[cfg(test)]
mod tests {
    use super::super::payload::Payload;
    use super::*;

    fn read(numbers: &[u64]) -> anyhow::Result<()> {
        let (job, payload, mut tally) = (TailJob::new(4), Payload::of_size(64), Tally::default());
        numbers.iter().try_for_each(|number| job.arrived(&mut tally, &payload.of(*number)))?;
        assert!(job.is_done(&tally));
        job.finish(&tally)
    }

    #[test]
    fn each_event_once_in_any_order_is_right() {
        read(&[0, 1, 2, 3]).unwrap();
        read(&[3, 1, 0, 2]).unwrap();
    }

    #[test]
    fn a_repeated_or_missing_event_is_noticed() {
        assert!(read(&[0, 1, 2, 2]).is_err());
        assert!(read(&[0, 3, 3, 0]).is_err());
        assert!(read(&[0, 1, 2, 4]).is_err());
    }
}
