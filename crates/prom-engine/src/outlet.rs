//! Where dispatchers put what a subscriber takes: a queue with a window.
//!
//! ```text
//!   dispatcher ──reserve──▶ room? ──lease──▶ push ──▶ queue ──▶ next()
//!        ▲                                              │         │
//!        ├──────── overdue: withdrawn, uncounted ◀──────┘         │
//!        └────────────── release ◀── ack, nack, expiry ◀──────────┘
//! ```
//!
//! The window spans all dispatchers of the subscriber. Promises: no dispatcher leases what cannot be handed over;
//! events held by the window and waiting in the queue never exceed it; a dispatcher that found no room is woken
//! when room comes back, in turn with the others, and takes no more than its share while others wait.
//!
//! The queue is bounded in bytes as well: beyond that no dispatcher gets room until something is taken. So are all queues
//! together, see [`crate::held_bytes`].
//!
//! A lease costs an attempt only once the application has taken the delivery. Its time to settle begins then;
//! while the delivery lies in the queue the same span bounds how long it may lie there. When that is over the
//! dispatcher withdraws all it has in the queue (all, so that the rest does not overtake it), and the subscriber
//! gets nothing until it takes again: one that is stuck holds nothing back from others. So every delivery in the
//! queue has a live lease, provided that a dispatcher calls [`Outlet::take_overdue`] before it lets leases expire,
//! and with the same time.

mod assignments;
mod member;
mod options;
mod queue;
mod state;
mod window;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use prom_store::LogName;
use prom_types::{EpochMs, Offset};
use tokio::sync::Notify;

pub use self::assignments::AssignmentChange;
pub(crate) use self::options::{EventForm, SubscriberOptions, TellAssignments};
use self::queue::DeliveryQueue;
use self::state::OutletState;
use crate::deliver::{Delivery, Ticket};
use crate::dispatch::{DispatcherWake, SubscriberId};
use crate::event::EventOrigin;
use crate::held_bytes::DeliveryMemory;
use crate::limits::{FREE_WAIT_SHARE, GAPS};
use crate::meters::count_taken;
use crate::ownership::HubLife;
use crate::{Error, Gap};

/// One subscriber, as its dispatchers see it.
pub(crate) struct Outlet {
    pub id: SubscriberId,
    pub options: SubscriberOptions,
    /// Among several hubs: whether this one may still hand out what lies in the queue.
    life: Option<HubLife>,
    paused: AtomicBool,
    ended: AtomicBool,
    /// When it was last known to be alive, in microseconds of the monotonic clock.
    heard_micros: AtomicU64,
    /// When this was last checked; 0 where it is not.
    watched_micros: AtomicU64,
    state: Mutex<OutletState>,
    /// For the subscriber: something is in the queue, or it ended.
    arrived: Notify,
    /// Wakes those that wait until nothing is in flight or no dispatcher is left.
    eased: Notify,
}

/// Everything that waits for a subscriber.
#[derive(Debug, Default)]
pub struct Arrivals {
    /// To be heard first.
    pub assignments: Vec<AssignmentChange>,
    /// Events that are gone.
    pub gaps: Vec<Gap>,
    /// Events to handle.
    pub deliveries: Vec<Delivery>,
}

impl Arrivals {
    /// Nothing came.
    pub fn is_empty(&self) -> bool {
        self.assignments.is_empty() && self.gaps.is_empty() && self.deliveries.is_empty()
    }
}

impl Outlet {
    pub fn new(
        id: SubscriberId,
        options: SubscriberOptions,
        life: Option<HubLife>,
        memory: &Arc<DeliveryMemory>,
    ) -> Self {
        let state = OutletState::new(options.max_in_flight, DeliveryQueue::new(memory));
        Self {
            id,
            options,
            life,
            paused: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            heard_micros: AtomicU64::new(0),
            watched_micros: AtomicU64::new(0),
            state: Mutex::new(state),
            arrived: Notify::new(),
            eased: Notify::new(),
        }
    }

    // What dispatchers do.

    /// True the first time a log is attached.
    pub fn attach(&self, log: &LogName, wake: &Arc<DispatcherWake>) -> bool {
        let mut state = self.state.lock();
        if state.dispatchers.contains_key(log) {
            return false;
        }
        state.dispatchers.insert(log.clone(), Some(wake.clone()));
        state.attached += 1;
        true
    }

    /// The dispatcher of a log lets the subscriber go.
    pub fn detach(&self, log: &LogName, wake: &Arc<DispatcherWake>) {
        let mut state = self.state.lock();
        state.waiting_for_room.leave(wake);
        if let Some(Some(_)) = state.dispatchers.insert(log.clone(), None) {
            state.attached -= 1;
        }
        if state.attached == 0 {
            // Whatever was leased went back with the last dispatcher.
            state.in_flight = 0;
        }
        self.feed(&mut state);
        drop(state);
        self.eased.notify_waiters();
    }

    /// Up to `want` places in the window, for this dispatcher. One that gets fewer is woken later.
    pub fn reserve(&self, wake: &Arc<DispatcherWake>, want: usize) -> usize {
        if self.is_ended() || want == 0 {
            return 0;
        }
        let mut state = self.state.lock();
        if !state.waiting_for_room.is_turn_of(wake) {
            // Others were here before: queue up, and let the first of them go on.
            state.waiting_for_room.join(wake);
            self.feed(&mut state);
            return 0;
        }
        let share = self.room(&state).div_ceil(state.waiting_for_room.len().max(1));
        let granted = want.min(share);
        state.in_flight += granted;
        state.waiting_for_room.leave(wake);
        if granted < want {
            state.waiting_for_room.join(wake);
            if state.waiting_for_room.is_turn_of(wake) {
                // Alone, and what is granted takes up its bytes only when it is pushed: being woken
                // before that would be for nothing, again and again.
                return granted;
            }
        }
        self.feed(&mut state);
        granted
    }

    /// Gives back places that were reserved and not used; the dispatcher no longer waits for room.
    pub fn give_back(&self, wake: &Arc<DispatcherWake>, unused: usize) {
        let mut state = self.state.lock();
        state.in_flight = state.in_flight.saturating_sub(unused);
        state.waiting_for_room.leave(wake);
        self.feed(&mut state);
    }

    /// Leases ended: their places are free.
    pub fn release(&self, ended: usize) {
        let mut state = self.state.lock();
        state.in_flight = state.in_flight.saturating_sub(ended);
        self.feed(&mut state);
        drop(state);
        self.eased.notify_waiters();
    }

    /// Hands deliveries over; places for them were reserved.
    pub fn push(&self, batch: impl IntoIterator<Item = Delivery>, wall_origin_ms: EpochMs) {
        let mut state = self.state.lock();
        state.wall_origin_ms = wall_origin_ms;
        if self.is_ended() {
            state.unseen.extend(batch.into_iter().map(|delivery| delivery.ticket()));
            drop(state);
            self.wake_all();
            return;
        }
        state.queue.push(batch);
        self.feed(&mut state);
        drop(state);
        self.arrived.notify_one();
    }

    /// Deliveries from this origin that the application will not see.
    pub fn take_unseen(&self, origin: &Arc<EventOrigin>) -> Vec<Ticket> {
        let unseen = &mut self.state.lock().unseen;
        unseen.extract_if(.., |ticket| Arc::ptr_eq(&ticket.origin, origin)).collect()
    }

    /// Takes everything of this origin out of the queue if something of it has lain there too long;
    /// the subscriber gets nothing more until the application comes back for it.
    pub fn take_overdue(&self, now: Duration, origin: &Arc<EventOrigin>) -> Vec<Ticket> {
        let mut state = self.state.lock();
        let overdue = state.queue.take_overdue(now, origin);
        state.full |= !overdue.is_empty();
        overdue
    }

    /// Deliveries from this origin that the application took after a wait, with their new deadlines.
    pub fn take_taken_late(&self, origin: &Arc<EventOrigin>) -> Vec<(Ticket, Duration)> {
        let taken_late = &mut self.state.lock().taken_late;
        taken_late.extract_if(.., |(ticket, _)| Arc::ptr_eq(&ticket.origin, origin)).collect()
    }

    /// Drops from the queue what was fenced or settled.
    pub fn forget_queued(&self, origin: &Arc<EventOrigin>, offsets: Range<Offset>) -> Vec<Ticket> {
        let mut state = self.state.lock();
        let forgotten = state.queue.take_within(origin, &offsets);
        self.feed(&mut state);
        forgotten
    }

    /// Everything of a dispatcher that failed is void.
    pub fn forget(&self, origin: &Arc<EventOrigin>) {
        self.forget_queued(origin, 0..Offset::MAX);
        drop(self.take_unseen(origin));
        drop(self.take_taken_late(origin));
    }

    pub fn tell_gap(&self, gap: Gap) {
        let mut state = self.state.lock();
        if state.gaps.len() >= GAPS {
            state.gaps.pop_front();
        }
        state.gaps.push_back(gap);
        drop(state);
        self.arrived.notify_one();
    }

    /// A dispatcher had to stop: the subscription ends and can say why.
    pub fn fail(&self, failure: Error) {
        self.state.lock().failure.get_or_insert(failure);
        self.end();
    }

    pub fn is_paused(&self) -> bool {
        self.paused.load(Ordering::Relaxed)
    }

    pub fn is_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    // What the subscriber does.

    /// The next delivery in the queue; its time to be settled begins now.
    pub fn take(&self, now: Duration) -> Option<Delivery> {
        let mut state = self.state.lock();
        let taken = if self.allowed(now, 1) == 1 { self.pop(&mut state, now) } else { None };
        let now_ms = state.wall_ms(now);
        self.note_demand(&mut state);
        drop(state);
        count_taken(taken.as_slice(), now_ms);
        taken
    }

    /// As [`Outlet::take`], many at once.
    pub fn take_many(&self, now: Duration, most: usize) -> Vec<Delivery> {
        let mut state = self.state.lock();
        let most = self.allowed(now, most);
        let mut taken = Vec::with_capacity(most.min(state.queue.len()));
        while taken.len() < most
            && let Some(delivery) = self.pop(&mut state, now)
        {
            taken.push(delivery);
        }
        let now_ms = state.wall_ms(now);
        self.note_demand(&mut state);
        drop(state);
        count_taken(&taken, now_ms);
        taken
    }

    /// Deliveries up to `most`, and every notice; of one moment, so that a caller that writes
    /// the notices first tells of no partition too late.
    pub fn take_arrivals(&self, now: Duration, most: usize) -> Arrivals {
        let mut state = self.state.lock();
        let gaps = state.gaps.drain(..).collect();
        let assignments = state.assignments.take();
        let most = self.allowed(now, most);
        let mut deliveries = Vec::with_capacity(most.min(state.queue.len()));
        while deliveries.len() < most
            && let Some(delivery) = self.pop(&mut state, now)
        {
            deliveries.push(delivery);
        }
        let now_ms = state.wall_ms(now);
        self.note_demand(&mut state);
        drop(state);
        count_taken(&deliveries, now_ms);
        Arrivals { assignments, gaps, deliveries }
    }

    pub fn take_gap(&self) -> Option<Gap> {
        self.state.lock().gaps.pop_front()
    }

    pub fn take_failure(&self) -> Option<Error> {
        self.state.lock().failure.take()
    }

    /// Ready when there may be something to take.
    pub async fn arrived(&self) {
        self.arrived.notified().await;
    }

    pub fn pause(&self) {
        self.paused.store(true, Ordering::Relaxed);
        self.wake_all();
    }

    pub fn resume(&self) {
        self.paused.store(false, Ordering::Relaxed);
        self.wake_all();
    }

    /// Nothing more comes. What the application has not seen yet is withdrawn, without counting for anything.
    pub fn end(&self) {
        let mut state = self.state.lock();
        self.ended.store(true, Ordering::Release);
        let unseen = state.queue.clear();
        state.unseen.extend(unseen);
        drop(state);
        self.wake_all();
        self.arrived.notify_one();
    }

    /// Ready when no dispatcher knows the subscriber any more.
    pub async fn detached(&self) {
        self.until(|state| state.attached == 0).await;
    }

    /// Ready when nothing is leased to the subscriber any more.
    pub async fn drained(&self) {
        self.until(|state| state.in_flight == 0).await;
    }

    async fn until(&self, condition: impl Fn(&OutletState) -> bool) {
        loop {
            let eased = self.eased.notified();
            tokio::pin!(eased);
            // Registered before looking, so that nothing is missed in between.
            eased.as_mut().enable();
            if condition(&self.state.lock()) {
                return;
            }
            eased.await;
        }
    }

    fn wake_all(&self) {
        let state = self.state.lock();
        state.dispatchers.values().flatten().for_each(|wake| wake.notify_one());
        state.coordinators.iter().for_each(|(_, wake)| wake.notify_one());
    }

    /// One delivery out of the queue. Most are taken at once and keep their deadline: telling the
    /// dispatcher of each would cost more than the little time it gives.
    fn pop(&self, state: &mut OutletState, now: Duration) -> Option<Delivery> {
        let mut delivery = state.queue.pop()?;
        let deadline = now.saturating_add(self.options.ack_timeout);
        let waited = deadline.saturating_sub(delivery.deadline());
        if waited > self.options.ack_timeout / FREE_WAIT_SHARE {
            delivery.extended_to(deadline);
            state.taken_late.push((delivery.ticket(), deadline));
        }
        Some(delivery)
    }

    /// The application asks for deliveries: it is not stuck. What it took is out of the queue.
    fn note_demand(&self, state: &mut OutletState) {
        state.full = false;
        state.queue.tell_bytes();
        self.feed(state);
    }

    #[cfg(test)]
    pub fn in_flight(&self) -> usize {
        self.state.lock().in_flight
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn outlet(max_in_flight: usize) -> Outlet {
        let ack_timeout = Duration::from_secs(1);
        let options = SubscriberOptions { batch_size: 10, max_in_flight, ack_timeout, ..SubscriberOptions::default() };
        let outlet = Outlet::new(1, options, None, &Arc::default());
        outlet.state.lock().queue.expect_no_bytes();
        outlet
    }

    #[test]
    fn the_window_is_never_exceeded_and_room_goes_round_in_turn() {
        let outlet = outlet(10);
        let [a, b, c] = std::array::from_fn(|_| Arc::<DispatcherWake>::default());
        assert_eq!(outlet.reserve(&a, 100), 10);
        assert_eq!(outlet.reserve(&b, 100), 0);
        assert_eq!(outlet.reserve(&c, 100), 0);
        outlet.release(6);
        assert_eq!(outlet.in_flight(), 4);
        // In the order in which they came, each its share.
        assert_eq!(outlet.reserve(&b, 100), 0, "a is first");
        assert_eq!(outlet.reserve(&a, 100), 2);
        assert_eq!(outlet.reserve(&b, 100), 2);
        assert_eq!(outlet.reserve(&c, 1), 1);
        assert_eq!(outlet.reserve(&a, 100), 1);
        assert_eq!(outlet.in_flight(), 10);
        outlet.release(10);
        outlet.give_back(&b, 0);
        assert_eq!(outlet.reserve(&a, 3), 3, "b wants nothing any more");
    }

    #[tokio::test]
    async fn a_dispatcher_that_waits_is_woken_when_room_comes_back() {
        let outlet = outlet(1);
        let wake = Arc::<DispatcherWake>::default();
        assert_eq!(outlet.reserve(&Arc::<DispatcherWake>::default(), 1), 1);
        assert_eq!(outlet.reserve(&wake, 1), 0);
        outlet.release(1);
        tokio::time::timeout(Duration::from_secs(5), wake.notified()).await.expect("woken");
        assert_eq!(outlet.reserve(&wake, 1), 1);
    }

    #[tokio::test]
    async fn events_of_unknown_size_are_taken_for_large_and_asking_without_success_wakes_no_task() {
        let outlet = outlet(1000);
        outlet.state.lock().queue = DeliveryQueue::new(&Arc::default());
        let (idle, other) = (Arc::<DispatcherWake>::default(), Arc::<DispatcherWake>::default());
        assert_eq!(outlet.reserve(&idle, 100), 8);
        outlet.give_back(&idle, 8);
        assert!(idle.notified().now_or_never().is_none(), "it would ask again, and again");
        assert_eq!(outlet.reserve(&other, 100), 8);
        assert_eq!(outlet.reserve(&idle, 100), 0, "others are first");
        outlet.give_back(&other, 8);
        assert!(idle.notified().now_or_never().is_some());
    }

    #[test]
    fn an_ended_subscriber_gets_no_room() {
        let outlet = outlet(10);
        outlet.end();
        assert_eq!(outlet.reserve(&Arc::<DispatcherWake>::default(), 5), 0);
    }
}
