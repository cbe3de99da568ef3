//! What the dispatcher promises, one test each. The bench sets up a log with a number of events, one
//! subscriber or more, and a clock that moves only when told.

mod changes;
mod fencing;
mod floor;
mod given_back;
mod key_order;
mod lanes;
mod limits;
mod park;
mod redelivery;

use std::time::Duration;

use prom_store::{Bounds, CursorState};
use prom_types::Offset;

use super::*;

const ALPHA: SubscriberId = 1;
const BRAVO: SubscriberId = 2;
const ACK_TIMEOUT: Duration = Duration::from_secs(30);
const NOTHING: [Offset; 0] = [];

/// A dispatcher with a clock, and a log whose events carry the keys they are appended with.
struct Bench {
    dispatcher: Dispatcher,
    now: Duration,
    bounds: Bounds,
    keys: Vec<Option<u64>>,
    unwanted: Vec<Offset>,
}

impl Bench {
    /// Alpha has joined a log with this many events without keys.
    fn of(events: u64) -> Self {
        Self::with(DispatchOptions::default(), CursorState::default(), &vec![None; events as usize])
    }

    fn with_options(options: DispatchOptions, events: u64) -> Self {
        Self::with(options, CursorState::default(), &vec![None; events as usize])
    }

    fn with(options: DispatchOptions, cursor: CursorState, keys: &[Option<u64>]) -> Self {
        let bounds = Bounds { start: 0, next: keys.len() as u64 };
        let mut dispatcher = Dispatcher::new(options, cursor, bounds, 1);
        dispatcher.join(ALPHA, ACK_TIMEOUT);
        Self { dispatcher, now: Duration::ZERO, bounds, keys: keys.to_vec(), unwanted: Vec::new() }
    }

    fn scan(&mut self) {
        while let Some(scan) = self.dispatcher.wants_scan() {
            let next = self.bounds.next.min(scan.from + scan.events as u64);
            let seen: Vec<ScannedEvent> = (scan.from..next)
                .map(|offset| ScannedEvent {
                    offset,
                    key_hash: self.keys[offset as usize],
                    lane: 0,
                    wanted: !self.unwanted.contains(&offset),
                })
                .collect();
            self.dispatcher.scanned(scan.from, next, seen);
        }
    }

    /// Scans what it may and leases to a subscriber until `room` is used or nothing comes.
    fn lease(&mut self, subscriber: SubscriberId, room: usize) -> Vec<Leased> {
        let mut leased = Vec::new();
        loop {
            self.scan();
            let before = leased.len();
            self.dispatcher.lease(self.now, subscriber, room - before, &mut leased);
            if leased.len() == before {
                return leased;
            }
        }
    }

    fn lease_offsets(&mut self, subscriber: SubscriberId, room: usize) -> Vec<Offset> {
        self.lease(subscriber, room).iter().map(|leased| leased.offset).collect()
    }

    fn ack(&mut self, leased: Leased) -> Result<Settled, NotLeased> {
        self.dispatcher.ack(ALPHA, leased.offset, leased.lease)
    }

    fn nack(&mut self, leased: Leased) {
        let nacked = self.dispatcher.nack(self.now, ALPHA, leased.offset, leased.lease, Some("boom".into()), None);
        assert_eq!(nacked, Ok(Settled::Now));
    }

    fn trim(&mut self, start: Offset) {
        self.bounds.start = start;
        self.dispatcher.bounds_moved(self.bounds);
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
        self.dispatcher.tick(self.now);
    }

    /// Lets time pass until something waits no longer.
    fn pass_to_next_deadline(&mut self) {
        let next = self.dispatcher.next_deadline().expect("something is timed");
        self.pass(next.saturating_sub(self.now));
    }

    fn released(&mut self) -> Vec<(SubscriberId, usize)> {
        let mut released = Vec::new();
        self.dispatcher.released(&mut released);
        released
    }
}

/// An event to be given back.
fn given(offset: Offset, key_hash: Option<u64>) -> GivenEvent {
    GivenEvent { offset, key_hash, lane: 0, failures: prom_store::Failures::default(), parked: None }
}

fn key_order() -> DispatchOptions {
    DispatchOptions { order: Order::Key, ..DispatchOptions::default() }
}
