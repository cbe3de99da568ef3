//! A steady pace, whatever the server does: an open loop.
//!
//! The pacer has a thread, because timers of the runtime are too coarse for tenths of a millisecond. It sleeps most of
//! the time and waits awake for the last moment. If it is held up, the events that became due meanwhile follow at once,
//! and their time counts from when they were due.

use std::time::{Duration, Instant};

use crate::PublishJob;

/// A sleep may take this much longer than asked for, so the last of a wait is spent awake.
const AWAKE: Duration = Duration::from_micros(70);
/// The part of the time between two events that is spent awake at most: other threads need the processor too.
const AWAKE_SHARE: u32 = 8;
/// The first event is due this much later, when every connection is ready.
const HEAD_START: Duration = Duration::from_millis(5);
/// How often a long wait looks whether the job has been stopped.
const LOOK: Duration = Duration::from_millis(100);

/// When each event is due.
#[derive(Debug, Clone, Copy)]
pub struct Schedule {
    begin: Instant,
    per_second: u64,
}

impl Schedule {
    /// Begins in a moment.
    pub fn per_second(events: u64) -> Self {
        Self { begin: Instant::now() + HEAD_START, per_second: events.max(1) }
    }

    pub fn due(&self, number: u64) -> Instant {
        let nanos = u128::from(number) * 1_000_000_000 / u128::from(self.per_second);
        self.begin + Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX / 2))
    }

    /// How many events are due in this time.
    pub fn events_in(per_second: u64, span: Duration) -> u64 {
        u64::try_from(span.as_nanos() * u128::from(per_second) / 1_000_000_000).unwrap_or(u64::MAX)
    }

    fn between(&self) -> Duration {
        Duration::from_nanos(1_000_000_000 / self.per_second)
    }
}

/// Hands over the job's events when they are due, until the job has no more or `hand_over` returns false. It gets an
/// event's number and when it was due.
///
/// Blocks the thread. Several may do one job together.
pub fn run(job: &PublishJob, schedule: Schedule, mut hand_over: impl FnMut(u64, Instant) -> bool) {
    let awake = AWAKE.min(schedule.between() / AWAKE_SHARE);
    while let Some(number) = job.take() {
        let due = schedule.due(number);
        wait_until(due, awake, || job.is_stopped());
        if job.is_stopped() {
            job.withdraw(number);
            return;
        }
        if !hand_over(number, due) {
            return;
        }
    }
}

fn wait_until(due: Instant, awake: Duration, is_stopped: impl Fn() -> bool) {
    loop {
        let left = due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        match left.checked_sub(awake) {
            Some(asleep) if !asleep.is_zero() => {
                std::thread::sleep(asleep.min(LOOK));
                if is_stopped() {
                    return;
                }
            }
            _ => std::hint::spin_loop(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SMALLEST_PAYLOAD;

    #[test]
    fn events_leave_in_order_and_none_before_it_is_due() {
        let (job, schedule) = (PublishJob::new(SMALLEST_PAYLOAD, 1, 5), Schedule::per_second(2_000));
        let mut numbers = Vec::new();
        run(&job, schedule, |number, due| {
            assert!(Instant::now() >= due && due == schedule.due(number));
            numbers.push(number);
            true
        });
        assert_eq!(numbers, [0, 1, 2, 3, 4]);
        assert_eq!(schedule.due(2_000) - schedule.due(0), Duration::from_secs(1));
        assert_eq!(Schedule::events_in(500, Duration::from_millis(2_500)), 1_250);
    }

    #[test]
    fn a_stopped_job_does_not_wait_for_what_is_due_later() {
        let job = PublishJob::new(SMALLEST_PAYLOAD, 1, 100);
        std::thread::scope(|scope| {
            // The second is due a second after the first; the test would wait for it and see it leave.
            scope.spawn(|| run(&job, Schedule::per_second(1), |_, _| true));
            while job.sent() < 2 {
                std::thread::yield_now();
            }
            job.stop();
        });
        assert_eq!((job.sent(), job.excused().first()), (2, Some(&(1..2))), "the second was taken and did not leave");
    }
}
