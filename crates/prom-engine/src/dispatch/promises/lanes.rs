//! Lanes: each event to the owner of its lane, and a clean cut when that changes.

use std::num::NonZeroU32;
use std::time::Duration;

use prom_store::{Bounds, CursorState};
use prom_types::Offset;

use crate::dispatch::{
    Backoff, DispatchLimits, DispatchOptions, Dispatcher, LeaseId, Leased, Limit, NotLeased, Order, Parking,
    ScannedEvent, Settled, SubscriberId,
};

const ALPHA: SubscriberId = 1;
const BETA: SubscriberId = 2;
const TIMEOUT: Duration = Duration::from_secs(30);

/// Event *n* is in lane *n* modulo the lanes.
fn laned(lanes: u32, events: u64, limits: DispatchLimits) -> Dispatcher {
    let options = DispatchOptions {
        lanes: NonZeroU32::new(lanes),
        limits,
        order: Order::None,
        max_attempts: 5,
        backoff: Backoff::default(),
        parking: Parking::Off,
    };
    let mut dispatcher = Dispatcher::new(options, CursorState::at(0), Bounds { start: 0, next: events }, 1);
    dispatcher.join(ALPHA, TIMEOUT);
    dispatcher.join(BETA, TIMEOUT);
    dispatcher
}

fn scan(dispatcher: &mut Dispatcher, lanes: u64, events: u64) {
    while let Some(scan) = dispatcher.wants_scan() {
        let next = events.min(scan.from + scan.events as u64);
        let seen = |offset| ScannedEvent { offset, key_hash: None, lane: (offset % lanes) as u32, wanted: true };
        dispatcher.scanned(scan.from, next, (scan.from..next).map(seen).collect::<Vec<_>>());
    }
}

fn lease(dispatcher: &mut Dispatcher, subscriber: SubscriberId, room: usize) -> Vec<Leased> {
    let mut leased = Vec::new();
    dispatcher.lease(Duration::ZERO, subscriber, room, &mut leased);
    leased
}

fn offsets(leased: &[Leased]) -> Vec<Offset> {
    leased.iter().map(|one| one.offset).collect()
}

fn leases(leased: &[Leased]) -> Vec<(Offset, LeaseId)> {
    leased.iter().map(|one| (one.offset, one.lease)).collect()
}

#[test]
fn each_owner_gets_the_events_of_its_lanes_in_order_and_those_of_a_free_one_wait() {
    let mut dispatcher = laned(3, 12, DispatchLimits::default());
    dispatcher.assign(0, ALPHA);
    dispatcher.assign(1, BETA);
    scan(&mut dispatcher, 3, 12);
    assert_eq!(offsets(&lease(&mut dispatcher, ALPHA, 100)), [0, 3, 6, 9]);
    assert_eq!(offsets(&lease(&mut dispatcher, BETA, 100)), [1, 4, 7, 10]);
    assert!(lease(&mut dispatcher, ALPHA, 100).is_empty());
    let status = dispatcher.status();
    assert_eq!((status.ready, status.lanes[2].owner, status.lanes[2].ready), (4, None, 4));
}

#[test]
fn the_lanes_of_a_subscriber_take_turns() {
    let mut dispatcher = laned(2, 8, DispatchLimits::default());
    dispatcher.assign(0, ALPHA);
    dispatcher.assign(1, ALPHA);
    scan(&mut dispatcher, 2, 8);
    let leased = offsets(&lease(&mut dispatcher, ALPHA, 4));
    assert_eq!(leased.iter().filter(|offset| *offset % 2 == 0).count(), 2, "{leased:?}");
}

#[test]
fn an_owner_that_was_told_to_stop_keeps_what_it_holds_and_gets_nothing_more() {
    let mut dispatcher = laned(2, 8, DispatchLimits::default());
    dispatcher.assign(0, ALPHA);
    scan(&mut dispatcher, 2, 8);
    let held = lease(&mut dispatcher, ALPHA, 2);
    dispatcher.revoke(0);
    assert!(lease(&mut dispatcher, ALPHA, 2).is_empty());
    assert_eq!(dispatcher.lane_in_flight(0), 2);
    for one in &held {
        assert_eq!(dispatcher.ack(ALPHA, one.offset, one.lease), Ok(Settled::Now));
    }
    assert_eq!((dispatcher.lane_in_flight(0), dispatcher.owns_a_lane(ALPHA)), (0, true));
    dispatcher.fence(0);
    dispatcher.assign(0, BETA);
    assert_eq!(offsets(&lease(&mut dispatcher, BETA, 9)), [4, 6]);
    assert!(!dispatcher.owns_a_lane(ALPHA));
}

#[test]
fn what_is_fenced_goes_to_the_next_owner_first_uncounted_and_is_no_longer_the_old_ones_to_settle() {
    let mut dispatcher = laned(2, 8, DispatchLimits::default());
    dispatcher.assign(0, ALPHA);
    scan(&mut dispatcher, 2, 8);
    let held = lease(&mut dispatcher, ALPHA, 2);
    dispatcher.fence(0);
    dispatcher.assign(0, BETA);
    let next = lease(&mut dispatcher, BETA, 9);
    assert_eq!(offsets(&next), [0, 2, 4, 6]);
    assert!(next.iter().all(|one| one.attempt == 1));
    for (offset, lease) in leases(&held) {
        assert_eq!(dispatcher.ack(ALPHA, offset, lease), Err(NotLeased));
        assert!(dispatcher.is_fenced(ALPHA, lease));
    }
    assert!(!dispatcher.is_fenced(BETA, next[0].lease), "its lease is alive, and was never fenced");
    assert!(dispatcher.is_fenced(99, 1), "a subscriber that is no member any more is fenced");
    let mut released = Vec::new();
    dispatcher.released(&mut released);
    assert_eq!(released, [(ALPHA, 2)], "its window has room again");
    assert_eq!(dispatcher.take_changes(), None, "nothing was counted");
}

#[test]
fn a_lane_whose_owner_does_not_take_holds_back_no_other_up_to_the_look_ahead() {
    let limits = DispatchLimits { look_ahead: 100, ready: 8, ..DispatchLimits::default() };
    let mut dispatcher = laned(2, 1000, limits);
    dispatcher.assign(0, ALPHA);
    dispatcher.assign(1, BETA);
    let mut taken = 0;
    loop {
        scan(&mut dispatcher, 2, 1000);
        let leased = lease(&mut dispatcher, BETA, 10);
        if leased.is_empty() {
            break;
        }
        for one in leased {
            assert_eq!(dispatcher.ack(BETA, one.offset, one.lease), Ok(Settled::Now));
            taken += 1;
        }
    }
    assert!((90..=110).contains(&taken), "{taken}: as far as the look-ahead goes");
    let status = dispatcher.status();
    assert_eq!(status.limit, Some(Limit::LookAhead));
    let oldest = status.oldest.expect("something is unsettled");
    assert_eq!((oldest.offset, oldest.lane), (0, Some(0)), "and it shows which member blocks the group");
    assert_eq!(offsets(&lease(&mut dispatcher, ALPHA, 3)), [0, 2, 4]);
}

#[test]
fn retention_and_leaving_free_lanes_as_they_free_everything_else() {
    let mut dispatcher = laned(2, 8, DispatchLimits::default());
    dispatcher.assign(0, ALPHA);
    dispatcher.assign(1, ALPHA);
    scan(&mut dispatcher, 2, 8);
    let held = lease(&mut dispatcher, ALPHA, 2);
    assert_eq!(held.len(), 2);
    dispatcher.bounds_moved(Bounds { start: 5, next: 8 });
    assert_eq!((dispatcher.floor(), dispatcher.status().ready), (5, 3));
    dispatcher.leave(Duration::ZERO, ALPHA, crate::dispatch::Leaving::Returned);
    assert_eq!((dispatcher.lane_in_flight(0), dispatcher.lane_in_flight(1)), (0, 0));
    assert!(!dispatcher.owns_a_lane(ALPHA));
    dispatcher.assign(1, BETA);
    assert_eq!(offsets(&lease(&mut dispatcher, BETA, 9)), [5, 7]);
}
