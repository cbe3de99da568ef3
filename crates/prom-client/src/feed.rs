//! Between the connection and a subscription: what came and was not taken yet.
//!
//! ```text
//!   connection ──push──▶ queue ──take──▶ application ──hold──▶ held (handlers that run)
//!        └──────────────── renewals at half time ◀──────────────┘
//! ```
//!
//! Promises: the connection never waits here, so a slow application does not hold up answers; the
//! queue holds no more than the hub's window allows, and for tails, which have none, the connection
//! asks the hub to pause before it is too much.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use parking_lot::Mutex;
use prom_protocol::frame::SubscriptionName;
use prom_protocol::frame::event::LeaseTerms;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::assignment::{AssignmentChange, AssignmentListener, Assignments};
use crate::limits::{GAPS, LONGEST_WAIT, OVERFULL, TAIL_BYTES, TAIL_EVENTS};
use crate::settle::DeliveryLease;
use crate::{Error, Gap, StoredEvent};

pub(crate) struct Feed {
    pub number: u64,
    pub name: SubscriptionName,
    pub kind: FeedKind,
    listener: AssignmentListener,
    state: Mutex<FeedState>,
    arrived: Notify,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum FeedKind {
    Group { max_in_flight: usize, ack_timeout: Duration },
    Tail,
}

/// An event that came, with its lease if it has one.
pub(crate) struct Received {
    pub event: StoredEvent,
    pub epoch: u64,
    pub attempt: u32,
    pub max_attempts: u32,
    pub deadline: Instant,
    renew_at: Instant,
    pub came_at: Instant,
}

/// What a handler works on.
struct Held {
    lease: DeliveryLease,
    renew_at: Instant,
}

#[derive(Default)]
struct FeedState {
    queue: VecDeque<Received>,
    queue_bytes: usize,
    held: HashMap<u64, Held>,
    next_held: u64,
    gaps: VecDeque<Gap>,
    assignments: Assignments,
    /// The connection was lost and the subscription re-created; not told yet.
    resubscribed: bool,
    /// The hub was asked to pause because the queue is full.
    is_throttled: bool,
    ended: Option<Ended>,
}

enum Ended {
    Quietly,
    /// Until the application asks why.
    Failed(Option<Error>),
}

/// How full a push left the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fill {
    Room,
    /// The hub has to pause.
    Full,
    /// The hub does not keep to the window.
    Overfull,
}

/// What a taken event is followed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    Nothing,
    /// There is room again, and the hub waits to be told.
    Refill,
}

impl Received {
    pub fn new(event: StoredEvent, lease: Option<LeaseTerms>, epoch: u64, now: Instant) -> Self {
        let lease = lease.unwrap_or(LeaseTerms { attempt: 1, max_attempts: 0, ack_deadline_ms: 0 });
        // No hub leases for longer than a day; an absurd number must not overflow.
        let time = Duration::from_millis(lease.ack_deadline_ms).min(Duration::from_secs(7 * 24 * 3600));
        Self {
            event,
            epoch,
            attempt: lease.attempt,
            max_attempts: lease.max_attempts,
            deadline: now + time,
            renew_at: now + time / 2,
            came_at: now,
        }
    }

    pub fn renew_at(&self) -> Instant {
        self.renew_at
    }
}

impl Feed {
    pub fn new(number: u64, name: SubscriptionName, kind: FeedKind, listener: AssignmentListener) -> Self {
        Self { number, name, kind, listener, state: Mutex::default(), arrived: Notify::new() }
    }

    pub fn is_tail(&self) -> bool {
        matches!(self.kind, FeedKind::Tail)
    }

    // What the connection does.

    pub fn push(&self, received: impl IntoIterator<Item = Received>) -> Fill {
        let mut state = self.state.lock();
        if state.ended.is_some() {
            return Fill::Room;
        }
        for one in received {
            state.queue_bytes += one.event.text().len();
            state.queue.push_back(one);
        }
        let fill = self.fill(&mut state);
        drop(state);
        self.arrived.notify_one();
        fill
    }

    fn fill(&self, state: &mut FeedState) -> Fill {
        match self.kind {
            FeedKind::Group { max_in_flight, .. } => {
                if state.queue.len() > max_in_flight {
                    // The hub is free to lease these again.
                    let now = Instant::now();
                    state.drop_where(|received| received.deadline <= now);
                }
                if state.queue.len() > max_in_flight.saturating_mul(2) { Fill::Overfull } else { Fill::Room }
            }
            FeedKind::Tail
                if state.queue.len() > TAIL_EVENTS * OVERFULL || state.queue_bytes > TAIL_BYTES * OVERFULL =>
            {
                Fill::Overfull
            }
            FeedKind::Tail if state.queue.len() > TAIL_EVENTS || state.queue_bytes > TAIL_BYTES => {
                state.is_throttled = true;
                Fill::Full
            }
            FeedKind::Tail => Fill::Room,
        }
    }

    pub fn push_gap(&self, gap: Gap) {
        let mut state = self.state.lock();
        if state.gaps.len() >= GAPS {
            state.gaps.pop_front();
        }
        state.gaps.push_back(gap);
        drop(state);
        self.arrived.notify_one();
    }

    /// Partitions came or went.
    pub fn push_assignment(&self, change: AssignmentChange) {
        self.state.lock().assignments.note(change.clone(), self.listener.items);
        self.arrived.notify_one();
        self.listener.call(&change);
    }

    /// The connection is gone, and with it every lease. Events of a tail have none and stay.
    pub fn interrupt(&self) {
        let mut state = self.state.lock();
        state.held.clear();
        if !self.is_tail() {
            state.queue.clear();
            state.queue_bytes = 0;
        }
        let lost = state.assignments.all_lost(self.listener.items);
        drop(state);
        if !lost.is_empty() {
            self.arrived.notify_one();
            lost.iter().for_each(|change| self.listener.call(change));
        }
    }

    pub fn resumed(&self) {
        self.state.lock().resubscribed = true;
        self.arrived.notify_one();
    }

    /// Nothing more comes. What was not taken is given back by the hub.
    pub fn end(&self, failure: Option<Error>) {
        let mut state = self.state.lock();
        if state.ended.is_none() {
            state.ended = Some(match failure {
                Some(error) => Ended::Failed(Some(error)),
                None => Ended::Quietly,
            });
            if !self.is_tail() {
                state.queue.clear();
                state.queue_bytes = 0;
            }
        }
        let lost = state.assignments.all_lost(self.listener.items);
        drop(state);
        self.arrived.notify_one();
        lost.iter().for_each(|change| self.listener.call(change));
    }

    /// Leases to be renewed now, and when to look again at the latest. Renewing is taken for done.
    pub fn take_due_renewals(
        &self,
        now: Instant,
        mut lease_of: impl FnMut(&Received) -> DeliveryLease,
    ) -> (Vec<DeliveryLease>, Option<Instant>) {
        let FeedKind::Group { ack_timeout, .. } = self.kind else {
            return (Vec::new(), None);
        };
        // Those that are nearly due come along, so that they share a frame.
        let soon = now + ack_timeout / 8;
        let (renewed_at, deadline) = (now + ack_timeout / 2, now + ack_timeout);
        let mut state = self.state.lock();
        state.drop_where(|received| received.deadline <= now);
        let mut due = Vec::new();
        let mut next: Option<Instant> = None;
        for received in &mut state.queue {
            let waits_too_long = now.saturating_duration_since(received.came_at) > LONGEST_WAIT;
            if received.renew_at <= soon && !waits_too_long {
                due.push(lease_of(received));
                (received.renew_at, received.deadline) = (renewed_at, deadline);
            }
            let look = if waits_too_long { received.deadline } else { received.renew_at };
            next = Some(next.map_or(look, |next| next.min(look)));
        }
        for held in state.held.values_mut() {
            if held.renew_at <= soon {
                due.push(held.lease.clone());
                held.renew_at = renewed_at;
            }
            next = Some(next.map_or(held.renew_at, |next| next.min(held.renew_at)));
        }
        (due, next)
    }

    /// The hub says that this lease has ended. A later one on the same event stays.
    pub fn forget(&self, lease: &DeliveryLease) {
        let mut state = self.state.lock();
        state.drop_where(|received| {
            received.came_at == lease.came_at
                && received.event.offset() == lease.offset
                && received.event.partition() == lease.partition
                && received.event.topic() == &lease.topic
        });
        let is_it =
            |held: &DeliveryLease| (held.came_at, held.offset, held.id) == (lease.came_at, lease.offset, lease.id);
        state.held.retain(|_, held| !is_it(&held.lease));
    }

    /// Handlers that have not finished.
    pub fn held(&self) -> usize {
        self.state.lock().held.len()
    }

    // What the application does.

    /// The next event that is still leased.
    pub fn take(&self) -> Option<(Received, After)> {
        let mut state = self.state.lock();
        loop {
            let received = state.queue.pop_front()?;
            state.queue_bytes = state.queue_bytes.saturating_sub(received.event.text().len());
            if !self.is_tail() && received.deadline <= Instant::now() {
                continue;
            }
            let has_room = state.queue.len() < TAIL_EVENTS / 4 && state.queue_bytes < TAIL_BYTES / 4;
            let after = if state.is_throttled && has_room {
                state.is_throttled = false;
                After::Refill
            } else {
                After::Nothing
            };
            return Some((received, after));
        }
    }

    /// What is there and still leased, in order, up to `most`.
    pub fn take_many(&self, most: usize) -> Vec<Received> {
        let mut state = self.state.lock();
        let count = state.queue.len().min(most);
        if count == 0 {
            return Vec::new();
        }
        let now = Instant::now();
        let mut bytes = 0;
        let mut taken: Vec<Received> = state.queue.drain(..count).collect();
        taken.retain(|received| {
            bytes += received.event.text().len();
            received.deadline > now
        });
        state.queue_bytes = state.queue_bytes.saturating_sub(bytes);
        taken
    }

    pub fn take_gap(&self) -> Option<Gap> {
        self.state.lock().gaps.pop_front()
    }

    pub fn take_assignment(&self) -> Option<AssignmentChange> {
        self.state.lock().assignments.take()
    }

    /// True once after each time the subscription was re-created.
    pub fn take_resubscribed(&self) -> bool {
        std::mem::take(&mut self.state.lock().resubscribed)
    }

    pub fn take_failure(&self) -> Option<Error> {
        match &mut self.state.lock().ended {
            Some(Ended::Failed(error)) => error.take(),
            _ => None,
        }
    }

    pub fn is_ended(&self) -> bool {
        self.state.lock().ended.is_some()
    }

    /// Something waits to be taken.
    pub fn has_some(&self) -> bool {
        !self.state.lock().queue.is_empty()
    }

    pub async fn arrived(&self) {
        self.arrived.notified().await;
    }

    /// Its lease is renewed until [`Feed::release`].
    pub fn hold(&self, lease: DeliveryLease, renew_at: Instant) -> u64 {
        let mut state = self.state.lock();
        state.next_held += 1;
        let number = state.next_held;
        state.held.insert(number, Held { lease, renew_at });
        number
    }

    /// Unless the connection was lost meanwhile.
    pub fn held_lease(&self, number: u64) -> Option<DeliveryLease> {
        self.state.lock().held.get(&number).map(|held| held.lease.clone())
    }

    pub fn release(&self, number: u64) {
        self.state.lock().held.remove(&number);
    }
}

impl FeedState {
    fn drop_where(&mut self, gone: impl Fn(&Received) -> bool) {
        let bytes = &mut self.queue_bytes;
        self.queue.retain(|received| {
            let goes = gone(received);
            if goes {
                *bytes = bytes.saturating_sub(received.event.text().len());
            }
            !goes
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;

    use super::*;
    use crate::subscription::lease_of;

    fn received(now: Instant) -> Received {
        let text = r#"{"id":"01890000-0000-7000-8000-000000000001","ts":1,"stored_ts":1,"topic":"orders","partition":0,"offset":7,"payload":1}"#;
        let event = StoredEvent::read(Bytes::from_static(text.as_bytes()), &mut None).unwrap();
        Received::new(event, Some(LeaseTerms { attempt: 1, max_attempts: 5, ack_deadline_ms: 30_000 }), 1, now)
    }

    #[tokio::test]
    async fn a_lease_that_ended_takes_no_later_one_of_the_same_event_with_it() {
        let name = SubscriptionName { topic: "orders".to_owned(), group: Some("stock".to_owned()) };
        let kind = FeedKind::Group { max_in_flight: 10, ack_timeout: Duration::from_secs(30) };
        let feed = Arc::new(Feed::new(1, name, kind, AssignmentListener::default()));
        let (first, again) = (Instant::now(), Instant::now() + Duration::from_millis(1));
        let ended = lease_of(&feed, &received(first));
        feed.push([received(first), received(again)]);
        feed.forget(&ended);
        let left = feed.take_many(10);
        assert_eq!(left.iter().map(|one| one.came_at).collect::<Vec<_>>(), [again]);
    }
}
