//! How many events a subscriber leases at once, unless it is told: as many as its handlers run, and what they work off in a
//! moment. Slow handlers hold no event that another subscriber could begin; fast ones do not wait for the hub.

use std::time::Duration;

use tokio::time::Instant;

use crate::limits::{LOOK_AHEAD, MAX_IN_FLIGHT, RESIZE_AFTER_EVENTS, RESIZE_EVERY};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    size: usize,
    pace: Pace,
    /// Handlers that run at the same time.
    concurrency: usize,
    /// Of the last events: how many, and how long they took together.
    events: f64,
    busy: Duration,
    resize_from: Option<Instant>,
}

/// What the size follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pace {
    /// Nothing: the application said what it is.
    Told,
    /// How long handlers take.
    Handlers,
    /// How long a loop takes from one event to the next, and how many it takes before it settles the first.
    Loop,
}

impl Window {
    pub fn told(size: usize) -> Self {
        Self { size, pace: Pace::Told, concurrency: 1, events: 0.0, busy: Duration::ZERO, resize_from: None }
    }

    pub fn of_handlers(concurrency: usize) -> Self {
        Self { pace: Pace::Handlers, concurrency, ..Self::told(concurrency) }
    }

    /// It begins with as many events as show how fast the loop is.
    pub fn of_a_loop() -> Self {
        Self { pace: Pace::Loop, ..Self::told(RESIZE_AFTER_EVENTS) }
    }

    pub fn size(&self) -> usize {
        self.size
    }

    /// More than this never waits here, unless the hub does not keep to the window.
    pub fn most(&self) -> usize {
        match self.pace {
            Pace::Told => self.size,
            Pace::Handlers | Pace::Loop => self.size.max(MAX_IN_FLIGHT),
        }
    }

    pub fn follows_a_loop(&self) -> bool {
        self.pace == Pace::Loop
    }

    /// So many events took so long.
    pub fn note(&mut self, events: usize, took: Duration) {
        self.events += events as f64;
        self.busy += took;
        if self.events >= (RESIZE_AFTER_EVENTS * 8) as f64 {
            // Older times count less and less.
            self.events /= 2.0;
            self.busy /= 2;
        }
    }

    /// Changes the size if that is worth telling the hub. `waiting` events have come and were not taken, `in_hand` were
    /// taken and are not settled.
    pub fn resize(&mut self, waiting: usize, in_hand: usize, now: Instant) -> bool {
        if self.pace == Pace::Told {
            return false;
        }
        // The loop asks for more than it may have: it would wait for ever if it settles only after that.
        let is_crowded = self.pace == Pace::Loop && waiting == 0 && in_hand >= self.size;
        if is_crowded && self.size < MAX_IN_FLIGHT {
            self.size = (self.size * 2).min(MAX_IN_FLIGHT);
            return true;
        }
        if self.events < RESIZE_AFTER_EVENTS as f64 || self.resize_from.is_some_and(|from| now < from) {
            return false;
        }
        let wanted = self.wanted().max(in_hand);
        let is_too_small = waiting == 0 && wanted >= self.size * 2;
        let is_too_large = waiting > wanted * 4 && wanted < self.size;
        if is_too_small || is_too_large {
            self.size = wanted;
            self.resize_from = Some(now + RESIZE_EVERY);
        }
        is_too_small || is_too_large
    }

    fn wanted(&self) -> usize {
        let of_one = self.events * LOOK_AHEAD.as_secs_f64() / self.busy.as_secs_f64().max(f64::MIN_POSITIVE);
        let ahead = self.concurrency as f64 * of_one.min(MAX_IN_FLIGHT as f64);
        let all = self.concurrency.saturating_add(ahead as usize);
        all.min(MAX_IN_FLIGHT).max(self.concurrency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resized(window: &mut Window, took: Duration, waiting: usize, in_hand: usize) -> Option<usize> {
        window.note(RESIZE_AFTER_EVENTS, took * RESIZE_AFTER_EVENTS as u32);
        window.resize(waiting, in_hand, Instant::now()).then_some(window.size())
    }

    #[test]
    fn it_holds_what_handlers_run_and_work_off_in_a_moment() {
        let slow = Duration::from_millis(200);
        assert_eq!(
            resized(&mut Window::of_handlers(3), slow, 0, 0),
            None,
            "three handlers, and no event ahead of them"
        );
        assert_eq!(resized(&mut Window::of_handlers(3), Duration::from_millis(10), 0, 0), Some(33));
        assert_eq!(resized(&mut Window::of_handlers(1), Duration::from_micros(1), 0, 0), Some(MAX_IN_FLIGHT));
        assert_eq!(resized(&mut Window::of_handlers(2000), Duration::ZERO, 0, 0), None, "no fewer than handlers");
        assert_eq!(resized(&mut Window::told(5), Duration::ZERO, 0, 5), None);
    }

    #[test]
    fn it_shrinks_when_much_waits_for_handlers_that_have_become_slow() {
        let mut window = Window { size: 800, ..Window::of_handlers(1) };
        assert_eq!(resized(&mut window, Duration::from_millis(50), 4, 0), None);
        assert_eq!(resized(&mut window, Duration::from_millis(50), 700, 0), Some(3));
    }

    #[test]
    fn a_loop_that_settles_only_after_many_gets_as_many() {
        let mut window = Window::of_a_loop();
        let mut sizes = Vec::new();
        for in_hand in std::iter::successors(Some(RESIZE_AFTER_EVENTS), |_| Some(MAX_IN_FLIGHT)).take(20) {
            sizes.extend(resized(&mut window, Duration::from_secs(1), 0, in_hand));
        }
        assert_eq!((sizes.first(), sizes.last()), (Some(&(RESIZE_AFTER_EVENTS * 2)), Some(&MAX_IN_FLIGHT)));
    }
}
