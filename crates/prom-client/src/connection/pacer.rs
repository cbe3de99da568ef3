//! How fast to publish to a hub that said "not so fast".
//!
//! After a refusal nothing is published for as long as the hub asked for; then one event goes first,
//! and as long as events are taken twice as many follow. So a limit is neither hammered nor missed.

use std::time::Duration;

use tokio::time::Instant;

use crate::limits::SLOWED_EVERY;

pub(super) struct PublishPacer {
    hold_until: Option<Instant>,
    /// Events that may be under way; none after a refusal that was long ago.
    window: Option<usize>,
    under_way: usize,
    /// When the application last heard of a refusal.
    told_at: Option<Instant>,
}

/// A window this large holds nothing back any more.
const WIDE: usize = 4096;

impl PublishPacer {
    pub fn new() -> Self {
        Self { hold_until: None, window: None, under_way: 0, told_at: None }
    }

    /// How many events may leave now.
    pub fn allowance(&mut self, now: Instant) -> usize {
        // What leaves from now on tells about the pace, whether or not the timer has looked.
        self.release(now);
        match (self.hold_until, self.window) {
            (Some(_), _) => 0,
            (_, Some(window)) => window.saturating_sub(self.under_way),
            (_, None) => usize::MAX,
        }
    }

    /// When to look again, if that is a matter of time.
    pub fn hold_until(&self) -> Option<Instant> {
        self.hold_until
    }

    pub fn sent(&mut self, events: usize) {
        self.under_way += events;
    }

    pub fn accepted(&mut self, events: usize) {
        self.under_way = self.under_way.saturating_sub(events);
        // What was sent before a refusal says nothing about the pace after it.
        if self.hold_until.is_none() {
            self.window = self.window.map(|window| window + events).filter(|window| *window < WIDE);
        }
    }

    /// Refused for good, and not because of the pace.
    pub fn failed(&mut self, events: usize) {
        self.under_way = self.under_way.saturating_sub(events);
    }

    pub fn refused(&mut self, events: usize, wait: Duration, now: Instant) {
        self.under_way = self.under_way.saturating_sub(events);
        self.hold_until = self.hold_until.max(Some(now + wait));
        self.window = Some(1);
    }

    /// Whether the application should hear of a refusal: not of each.
    pub fn is_to_be_told(&mut self, now: Instant) -> bool {
        let is_due = self.told_at.is_none_or(|told_at| now.saturating_duration_since(told_at) >= SLOWED_EVERY);
        if is_due {
            self.told_at = Some(now);
        }
        is_due
    }

    /// The wait is over.
    pub fn release(&mut self, now: Instant) {
        self.hold_until = self.hold_until.filter(|until| *until > now);
    }

    /// Nothing is under way over a connection that is gone.
    pub fn disconnected(&mut self) {
        self.under_way = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_refusal_it_waits_then_probes_then_doubles() {
        let now = Instant::now();
        let mut pacer = PublishPacer::new();
        assert_eq!(pacer.allowance(now), usize::MAX);
        pacer.sent(10);
        pacer.refused(10, Duration::from_secs(1), now);
        assert_eq!(pacer.allowance(now), 0);
        pacer.accepted(0);
        let later = now + Duration::from_secs(2);
        assert_eq!(pacer.allowance(later), 1);
        pacer.sent(1);
        assert_eq!(pacer.allowance(later), 0, "one probe at a time");
        pacer.accepted(1);
        assert_eq!(pacer.allowance(later), 2);
        pacer.sent(2);
        pacer.accepted(2);
        assert_eq!(pacer.allowance(later), 4);
        pacer.sent(WIDE);
        pacer.accepted(WIDE);
        assert_eq!(pacer.allowance(later), usize::MAX, "the refusal is forgotten");
    }
}
