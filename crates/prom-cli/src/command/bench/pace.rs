//! Publishing at a steady pace, whatever the hub does: an open loop.
//!
//! A thread of its own hands each event over when it is due: timers of the runtime are too coarse for spans of a
//! tenth of a millisecond. It sleeps most of the time and waits awake for the last moment. If it is held up, the
//! events that became due meanwhile follow at once, and their time counts from when they were due.

use std::sync::Arc;
use std::time::{Duration, Instant};

use prom_client::{Client, Publishing};
use tokio::sync::mpsc;

use super::meter::Meter;
use super::plan::Amount;
use super::publish::{Published, Source};
use super::stop::Stop;
use crate::exit::Failure;

/// Sleeping may take so much longer than it should; this is waited for awake.
const AWAKE: Duration = Duration::from_micros(120);
/// Part of the time between two events that is waited for awake at most: other threads need the processor too.
const AWAKE_SHARE: u32 = 8;
/// Answers that are waited for when the run is to end.
const GRACE: Duration = Duration::from_secs(5);
/// The first event is due so much later, when everybody is ready.
const HEAD_START: Duration = Duration::from_millis(5);

/// One connection that publishes at a pace.
pub struct Pacer {
    pub client: Client,
    pub source: Source,
    pub amount: Amount,
    pub every: Duration,
    /// Where between two events of the others this one's are.
    pub shift: Duration,
    pub in_flight: usize,
    pub meter: Arc<Meter>,
    pub stop: Stop,
}

struct HandedOver {
    number: u64,
    due: Instant,
    at: Instant,
    publishing: Publishing,
}

impl Pacer {
    pub async fn run(self) -> Result<Published, Failure> {
        let (meter, stop) = (self.meter.clone(), self.stop.clone());
        let (handed_over, mut answers) = mpsc::channel(self.in_flight);
        let thread = std::thread::Builder::new().name("bench-pace".to_owned());
        let pacing = thread.spawn(move || self.pace(&handed_over));
        pacing.map_err(|error| Failure::no(format!("no thread: {error}")))?;
        let mut published = Published::new();
        while let Some(HandedOver { number, due, at, publishing }) = answers.recv().await {
            published.sent = number + 1;
            published.late.record(at.duration_since(due));
            let answer = tokio::select! {
                answer = publishing => Some(answer),
                () = async { stop.asked().await; tokio::time::sleep(GRACE).await } => None,
            };
            let now = Instant::now();
            match answer {
                Some(Ok(receipt)) => {
                    published.receipts.record(now.duration_since(due));
                    published.stored(&receipt, 1);
                    published.last = Some(now);
                    meter.add_published(1);
                }
                Some(Err(error)) => {
                    meter.note(&error, 1);
                    published.failed(number, 1);
                }
                None => {
                    meter.note_as("unanswered", "the run ended before the hub answered", 1);
                    published.failed(number, 1);
                }
            }
        }
        Ok(published)
    }

    /// Ends when everything was handed over, or nobody wants more.
    fn pace(mut self, handed_over: &mpsc::Sender<HandedOver>) {
        let begin = Instant::now() + HEAD_START + self.shift;
        let events = match self.amount {
            Amount::Events(events) => events,
            Amount::Duration(duration) => (duration.as_nanos() / self.every.as_nanos().max(1)) as u64,
        };
        for number in 0..events {
            let due = begin + Duration::from_nanos(self.every.as_nanos() as u64 * number);
            wait_until(due, AWAKE.min(self.every / AWAKE_SHARE));
            if self.stop.is_asked() || self.meter.is_hopeless() {
                return;
            }
            let event = self.source.make(self.meter.nanos(due));
            let at = Instant::now();
            let publishing = self.client.publish_event(event);
            // Waits where too many are under way; what is due meanwhile is late, and counted as late.
            if handed_over.blocking_send(HandedOver { number, due, at, publishing }).is_err() {
                return;
            }
        }
    }
}

fn wait_until(due: Instant, awake: Duration) {
    loop {
        let left = due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        match left.checked_sub(awake) {
            Some(asleep) if !asleep.is_zero() => std::thread::sleep(asleep),
            _ => std::hint::spin_loop(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leaves_before_it_is_due() {
        let due = Instant::now() + Duration::from_millis(3);
        wait_until(due, AWAKE);
        assert!(Instant::now() >= due);
        wait_until(due, AWAKE);
    }
}
