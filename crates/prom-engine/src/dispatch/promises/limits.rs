//! Memory is bounded, and a limit that is reached can be left again.

use super::*;

fn limited(limits: DispatchLimits, events: u64) -> Bench {
    Bench::with_options(DispatchOptions { limits, ..DispatchOptions::default() }, events)
}

#[test]
fn too_many_waiting_events_stop_fresh_ones_and_not_redeliveries() {
    let limits = DispatchLimits { waiting: 3, ..DispatchLimits::default() };
    let mut bench = limited(limits, 10);
    for leased in bench.lease(ALPHA, 3) {
        bench.nack(leased);
    }
    assert_eq!(bench.lease_offsets(ALPHA, 9), NOTHING);
    assert_eq!(bench.dispatcher.status().limit, Some(Limit::Waiting));
    bench.pass(Duration::from_millis(200));
    assert_eq!(bench.lease_offsets(ALPHA, 4), [0, 1, 2, 3]);
    assert_eq!(bench.dispatcher.status().limit, None);
}

#[test]
fn letters_that_cannot_be_written_stop_fresh_events_at_the_same_limit() {
    let limits = DispatchLimits { waiting: 2, ..DispatchLimits::default() };
    let mut bench = limited(limits, 10);
    bench.dispatcher.options.max_attempts = 1;
    for leased in bench.lease(ALPHA, 2) {
        bench.nack(leased);
    }
    for dead in bench.dispatcher.take_dead() {
        bench.dispatcher.dead_letter_failed(bench.now, dead.offset);
    }
    assert_eq!(bench.lease_offsets(ALPHA, 9), NOTHING);
    bench.pass(Duration::from_secs(1));
    for dead in bench.dispatcher.take_dead() {
        bench.dispatcher.dead_letter_written(dead.offset);
    }
    assert_eq!(bench.lease_offsets(ALPHA, 1), [2]);
}

#[test]
fn too_many_ranges_above_the_floor_stop_the_scan_until_the_floor_moves() {
    let limits = DispatchLimits { ranges_above: 2, ready: 4, ..DispatchLimits::default() };
    let mut bench = limited(limits, 100);
    let leased = bench.lease(ALPHA, 4);
    bench.ack(leased[1]).unwrap();
    bench.ack(leased[3]).unwrap();
    assert_eq!(bench.dispatcher.status().limit, Some(Limit::RangesAbove));
    assert_eq!(bench.dispatcher.wants_scan(), None);
    bench.ack(leased[0]).unwrap();
    assert_eq!(bench.dispatcher.status().limit, None);
    assert_eq!(bench.lease_offsets(ALPHA, 1), [4]);
}

#[test]
fn more_ranges_than_the_limit_in_a_stored_cursor_do_not_stop_the_group() {
    let limits = DispatchLimits { ranges_above: 2, ready: 2, ..DispatchLimits::default() };
    let mut cursor = CursorState::default();
    cursor.apply(&[1..2, 3..4, 5..6, 7..8], &[]);
    let options = DispatchOptions { limits, ..DispatchOptions::default() };
    let mut bench = Bench::with(options, cursor, &[None; 10]);
    assert_eq!(bench.lease_offsets(ALPHA, 9), [0, 2, 4, 6]);
}

#[test]
fn little_is_scanned_ahead_of_what_is_handed_out_and_nothing_without_subscribers() {
    let mut bench = limited(DispatchLimits { ready: 10, ..DispatchLimits::default() }, 1000);
    bench.scan();
    assert_eq!(bench.dispatcher.status().ready, 10);
    bench.dispatcher.leave(bench.now, ALPHA, Leaving::Shutdown);
    bench.dispatcher.reset(500, bench.bounds);
    assert_eq!(bench.dispatcher.wants_scan(), None);
}

#[test]
fn timers_of_acked_leases_do_not_pile_up() {
    let mut bench = Bench::of(20_000);
    let straggler = bench.lease(ALPHA, 1)[0];
    for round in 0..1000 {
        // Now and then two extensions to the very same deadline.
        bench.now += Duration::from_millis(round % 3);
        for leased in bench.lease(ALPHA, 10) {
            bench.ack(leased).unwrap();
        }
        bench.dispatcher.modack(bench.now, ALPHA, 0, straggler.lease, ACK_TIMEOUT).unwrap();
        assert!(bench.dispatcher.unsettled.deadline_entries() < 128);
    }
    bench.pass(ACK_TIMEOUT);
    assert_eq!(bench.ack(straggler), Err(NotLeased), "its own timer was not lost");
}

#[test]
fn an_idle_dispatcher_has_nothing_to_wake_up_for() {
    let mut bench = Bench::of(10);
    for leased in bench.lease(ALPHA, 10) {
        bench.ack(leased).unwrap();
    }
    assert_eq!(bench.dispatcher.next_deadline(), None);
}
