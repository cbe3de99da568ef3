//! The floor: the first unsettled offset, whatever the order of settling.

use super::*;

#[test]
fn an_ack_out_of_order_keeps_the_floor_until_the_gap_is_closed() {
    let mut bench = Bench::of(4);
    let leased = bench.lease(ALPHA, 4);
    for at in [3, 1, 2] {
        assert_eq!(bench.ack(leased[at]), Ok(Settled::Now));
        assert_eq!(bench.dispatcher.floor(), 0, "after acking {at}");
    }
    assert_eq!(bench.dispatcher.status().ranges_above, 1);
    assert_eq!(bench.ack(leased[0]), Ok(Settled::Now));
    assert_eq!(bench.dispatcher.floor(), 4);
    assert_eq!(bench.dispatcher.status().ranges_above, 0);
    assert_eq!(bench.dispatcher.status().oldest, None);
}

#[test]
fn filtered_events_at_the_floor_let_it_move_and_are_not_handed_out() {
    let mut bench = Bench::of(5);
    bench.unwanted = vec![0, 1, 3];
    assert_eq!(bench.lease_offsets(ALPHA, 5), [2, 4]);
    assert_eq!(bench.dispatcher.floor(), 2);
    let changes = bench.dispatcher.take_changes().unwrap();
    assert_eq!(changes.settled, [0..2, 3..4]);
}

#[test]
fn offsets_that_do_not_exist_count_as_settled() {
    let mut bench = Bench::of(10);
    let seen = [4, 7].map(|offset| ScannedEvent { offset, key_hash: None, lane: 0, wanted: true });
    bench.dispatcher.scanned(0, 10, seen);
    assert_eq!(bench.dispatcher.floor(), 4);
    let leased = bench.lease(ALPHA, 10);
    assert_eq!(bench.ack(leased[0]), Ok(Settled::Now));
    assert_eq!(bench.dispatcher.floor(), 7);
    assert_eq!(bench.ack(leased[1]), Ok(Settled::Now));
    assert_eq!(bench.dispatcher.floor(), 10);
}

#[test]
fn retention_beyond_the_floor_moves_it_and_a_late_ack_is_fine() {
    let mut bench = Bench::of(6);
    let leased = bench.lease(ALPHA, 2);
    let waiting = bench.lease(ALPHA, 1)[0];
    bench.nack(waiting);
    bench.released();
    bench.trim(4);
    assert_eq!(bench.dispatcher.floor(), 4);
    assert_eq!(bench.dispatcher.status().waiting, 0);
    assert_eq!(bench.dispatcher.take_changes().unwrap().settled, std::slice::from_ref(&(0..4)));
    assert_eq!(bench.released(), [], "the holder still works on them");
    assert_eq!(bench.ack(leased[0]), Ok(Settled::AlreadySettled));
    assert_eq!(bench.released(), [(ALPHA, 1)]);
    assert_eq!(bench.ack(leased[0]), Ok(Settled::AlreadySettled));
    assert_eq!(bench.released(), []);
    bench.pass(ACK_TIMEOUT);
    assert_eq!(bench.released(), [(ALPHA, 1)]);
    assert_eq!(bench.dispatcher.take_changes(), None, "a lease on what is gone is no failed attempt");
    assert_eq!(bench.lease_offsets(ALPHA, 9), [4, 5]);
}

#[test]
fn an_event_that_vanished_counts_as_settled_wherever_it_was() {
    let mut bench = Bench::with(key_order(), CursorState::default(), &[Some(1), Some(1), None, None]);
    let first = bench.lease(ALPHA, 1)[0];
    bench.dispatcher.vanished(1);
    bench.dispatcher.vanished(3);
    bench.dispatcher.vanished(first.offset);
    assert_eq!(bench.released(), [(ALPHA, 1)]);
    assert_eq!(bench.dispatcher.floor(), 2);
    assert_eq!(bench.lease_offsets(ALPHA, 9), [2]);
    assert_eq!(bench.dispatcher.take_changes().unwrap().settled, [0..2, 3..4]);
}

#[test]
fn a_dispatcher_that_goes_on_skips_what_was_settled_above_the_floor() {
    let mut cursor = CursorState::at(2);
    cursor.apply(&[4..6, 7..9], &[]);
    let mut bench = Bench::with(DispatchOptions::default(), cursor, &[None; 10]);
    let leased = bench.lease(ALPHA, 9);
    assert_eq!(leased.iter().map(|leased| leased.offset).collect::<Vec<_>>(), [2, 3, 6, 9]);
    for leased in leased {
        assert_eq!(bench.ack(leased), Ok(Settled::Now));
    }
    assert_eq!(bench.dispatcher.floor(), 10);
}

#[test]
fn a_log_that_was_trimmed_without_a_dispatcher_starts_at_its_start() {
    let mut bench = Bench::with(DispatchOptions::default(), CursorState::at(1), &[None; 10]);
    bench.bounds.start = 6;
    bench.dispatcher = Dispatcher::new(DispatchOptions::default(), CursorState::at(1), bench.bounds, 1);
    bench.dispatcher.join(ALPHA, ACK_TIMEOUT);
    assert_eq!(bench.dispatcher.floor(), 6);
    assert_eq!(bench.lease_offsets(ALPHA, 2), [6, 7]);
    assert_eq!(bench.dispatcher.take_changes().unwrap().settled, std::slice::from_ref(&(1..6)));
}
