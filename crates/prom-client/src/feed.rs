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

mod leases;

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use parking_lot::Mutex;
use prom_protocol::frame::SubscriptionName;
use prom_protocol::frame::event::LeaseTerms;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::assignment::{AssignmentChange, AssignmentListener, Assignments};
use crate::core::ClientCore;
use crate::limits::{GAPS, OVERFULL, TAIL_BYTES, TAIL_EVENTS};
use crate::mailbox::ClientCommand;
use crate::settle::DeliveryLease;
use crate::window::Window;
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
    Group {
        /// At the beginning.
        window: Window,
        ack_timeout: Duration,
        /// How many run at the same time, where the client settles what they are done with.
        handlers: Option<usize>,
    },
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

struct FeedState {
    window: Window,
    queue: VecDeque<Received>,
    queue_bytes: usize,
    held: HashMap<u64, Held>,
    /// Taken by a loop and not settled, as far as it is known.
    in_hand: usize,
    /// What the loop works on: since when, and how many events.
    handed_out: Option<(Instant, usize)>,
    /// When the application last asked for something.
    asked_at: Option<Instant>,
    next_held: u64,
    gaps: VecDeque<Gap>,
    assignments: Assignments,
    /// The connection was lost and the subscription re-created; not told yet.
    resubscribed: bool,
    /// The hub was asked to pause: the queue is full, or was given back because nothing was taken from it.
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

/// What asking for an event is followed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    Nothing,
    /// There is room again, or another window.
    TellHub,
}

impl After {
    pub fn follow(self, core: &ClientCore, feed: &Feed) {
        if self == Self::TellHub {
            let command = ClientCommand::TellHub { name: feed.name.clone(), number: feed.number };
            let _closed_before = core.mailbox.command(command);
        }
    }
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
        let window = match kind {
            FeedKind::Group { window, .. } => window,
            FeedKind::Tail => Window::told(TAIL_EVENTS),
        };
        let state = FeedState {
            window,
            queue: VecDeque::new(),
            queue_bytes: 0,
            held: HashMap::new(),
            in_hand: 0,
            handed_out: None,
            asked_at: None,
            next_held: 0,
            gaps: VecDeque::new(),
            assignments: Assignments::default(),
            resubscribed: false,
            is_throttled: false,
            ended: None,
        };
        Self { number, name, kind, listener, state: Mutex::new(state), arrived: Notify::new() }
    }

    pub fn is_tail(&self) -> bool {
        matches!(self.kind, FeedKind::Tail)
    }

    /// How many events the hub may lease to it at once; none for a tail.
    pub fn max_in_flight(&self) -> Option<usize> {
        (!self.is_tail()).then(|| self.state.lock().window.size())
    }

    /// The hub should send nothing more for now.
    pub fn is_throttled(&self) -> bool {
        self.state.lock().is_throttled
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
            FeedKind::Group { .. } => {
                if state.queue.len() > state.window.size() {
                    // The hub is free to lease these again.
                    let now = Instant::now();
                    state.drop_where(|received| received.deadline <= now);
                }
                if state.queue.len() > state.window.most().saturating_mul(2) { Fill::Overfull } else { Fill::Room }
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
        state.in_hand = 0;
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

    // What the application does.

    /// The next event that is still leased.
    pub fn take(&self) -> (Option<Received>, After) {
        let now = Instant::now();
        let mut state = self.state.lock();
        state.note_asked(now);
        let taken = loop {
            let Some(received) = state.queue.pop_front() else {
                break None;
            };
            state.queue_bytes = state.queue_bytes.saturating_sub(received.event.text().len());
            if self.is_tail() || received.deadline > now {
                break Some(received);
            }
        };
        let after = state.note_taken(usize::from(taken.is_some()), now);
        (taken, after)
    }

    /// What is there and still leased, in order, up to `most`.
    pub fn take_many(&self, most: usize) -> (Vec<Received>, After) {
        let now = Instant::now();
        let mut state = self.state.lock();
        state.note_asked(now);
        let count = state.queue.len().min(most);
        let mut bytes = 0;
        let mut taken: Vec<Received> = state.queue.drain(..count).collect();
        taken.retain(|received| {
            bytes += received.event.text().len();
            received.deadline > now
        });
        state.queue_bytes = state.queue_bytes.saturating_sub(bytes);
        let after = state.note_taken(taken.len(), now);
        (taken, after)
    }

    /// A handler has finished after this time.
    pub fn worked(&self, took: Duration) -> After {
        let mut state = self.state.lock();
        state.window.note(1, took);
        state.resize(Instant::now())
    }

    /// A loop has settled so many of what it took.
    pub fn settled(&self, events: usize) {
        let mut state = self.state.lock();
        state.in_hand = state.in_hand.saturating_sub(events);
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
}

impl FeedState {
    /// The application asks for the next: it is done with what it got before.
    fn note_asked(&mut self, now: Instant) {
        self.asked_at = Some(now);
        if let Some((since, events)) = self.handed_out.take() {
            self.window.note(events, now.saturating_duration_since(since));
        }
    }

    fn note_taken(&mut self, events: usize, now: Instant) -> After {
        let has_room = self.queue.len() < TAIL_EVENTS / 4 && self.queue_bytes < TAIL_BYTES / 4;
        let refill = self.is_throttled && has_room;
        self.is_throttled &= !refill;
        let resized = self.resize(now);
        if self.window.follows_a_loop() && events > 0 {
            self.in_hand += events;
            self.handed_out = Some((now, events));
        }
        if refill { After::TellHub } else { resized }
    }

    fn resize(&mut self, now: Instant) -> After {
        let is_resized = self.window.resize(self.queue.len(), self.in_hand, now);
        if is_resized { After::TellHub } else { After::Nothing }
    }

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
        let kind = FeedKind::Group { window: Window::told(10), ack_timeout: Duration::from_secs(30), handlers: None };
        let feed = Arc::new(Feed::new(1, name, kind, AssignmentListener::default()));
        let (first, again) = (Instant::now(), Instant::now() + Duration::from_millis(1));
        let ended = lease_of(&feed, &received(first));
        feed.push([received(first), received(again)]);
        feed.forget(&ended);
        let left = feed.take_many(10).0;
        assert_eq!(left.iter().map(|one| one.came_at).collect::<Vec<_>>(), [again]);
    }
}
