//! What has to become durable does, at least once.

use super::*;

#[test]
fn changes_are_merged_and_taken_once() {
    let mut bench = Bench::of(6);
    let leased = bench.lease(ALPHA, 6);
    for at in [4, 0, 2, 1] {
        bench.ack(leased[at]).unwrap();
    }
    bench.nack(leased[3]);
    let changes = bench.dispatcher.take_changes().unwrap();
    assert_eq!(changes.settled, [0..3, 4..5]);
    assert_eq!((changes.failures[0].0, changes.failures[0].1.attempts), (3, 1));
    assert_eq!(bench.dispatcher.take_changes(), None);
}

#[test]
fn restored_changes_are_carried_again_with_what_came_since() {
    let mut bench = Bench::of(4);
    let leased = bench.lease(ALPHA, 4);
    bench.ack(leased[1]).unwrap();
    bench.nack(leased[0]);
    let lost = bench.dispatcher.take_changes().unwrap();
    bench.ack(leased[2]).unwrap();
    bench.dispatcher.restore_changes(lost);
    let changes = bench.dispatcher.take_changes().unwrap();
    assert_eq!(changes.settled, std::slice::from_ref(&(1..3)));
    assert_eq!((changes.failures[0].0, changes.failures[0].1.attempts), (0, 1));
}

#[test]
fn the_failures_of_what_was_settled_meanwhile_are_not_carried_again() {
    let mut bench = Bench::of(1);
    let leased = bench.lease(ALPHA, 1)[0];
    bench.nack(leased);
    let lost = bench.dispatcher.take_changes().unwrap();
    bench.pass(Duration::from_secs(1));
    let again = bench.lease(ALPHA, 1)[0];
    bench.ack(again).unwrap();
    bench.dispatcher.restore_changes(lost);
    assert_eq!(bench.dispatcher.take_changes().unwrap().failures, []);
}

#[test]
fn changes_from_before_a_reset_do_not_come_back() {
    let mut bench = Bench::of(4);
    let leased = bench.lease(ALPHA, 2);
    bench.ack(leased[0]).unwrap();
    let lost = bench.dispatcher.take_changes().unwrap();
    bench.ack(leased[1]).unwrap();
    let bounds = bench.bounds;
    bench.dispatcher.reset(0, bounds);
    bench.dispatcher.restore_changes(lost);
    assert_eq!(bench.dispatcher.take_changes(), None);
}

#[test]
fn a_long_wait_for_a_commit_keeps_few_ranges() {
    let mut bench = Bench::of(20_000);
    let leased = bench.lease(ALPHA, 20_000);
    for leased in leased.iter().step_by(2).chain(leased.iter().skip(1).step_by(2)) {
        bench.ack(*leased).unwrap();
    }
    assert_eq!(bench.dispatcher.take_changes().unwrap().settled, std::slice::from_ref(&(0..20_000)));
}
