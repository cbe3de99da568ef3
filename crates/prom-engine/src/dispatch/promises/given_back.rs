//! Giving back: below the floor, once more, and settled beside the cursor.

use super::*;

/// Everything is settled, and nothing of it is pending.
fn settled(keys: &[Option<u64>], options: DispatchOptions) -> Bench {
    let cursor = CursorState::at(keys.len() as u64);
    Bench::with(options, cursor, keys)
}

#[test]
fn a_given_event_is_leased_below_the_floor_and_its_ack_settles_no_offset() {
    let mut bench = settled(&[None; 3], DispatchOptions::default());
    assert_eq!(bench.dispatcher.give(given(1, None)), GiveAnswer::Taken);
    assert_eq!(bench.dispatcher.give(given(1, None)), GiveAnswer::Known);
    let leased = bench.lease(ALPHA, 9)[0];
    assert_eq!((leased.offset, leased.attempt), (1, 1));
    assert_eq!(bench.ack(leased), Ok(Settled::Now));
    assert_eq!(bench.released(), [(ALPHA, 1)]);
    assert_eq!(bench.dispatcher.give(given(1, None)), GiveAnswer::Known, "its end is not durable yet");
    let changes = bench.dispatcher.take_changes().unwrap();
    assert_eq!((changes.settled.len(), changes.given.as_slice()), (0, [(1, GivenStep::Acked)].as_slice()));
    bench.dispatcher.restore_changes(changes);
    let changes = bench.dispatcher.take_changes().unwrap();
    assert_eq!(changes.given, [(1, GivenStep::Acked)], "it travels with the next commit");
    bench.dispatcher.given_is_durable(&changes.given);
    assert!(bench.dispatcher.has_given_all());
    assert_eq!((bench.dispatcher.floor(), bench.dispatcher.take_changes()), (3, None));
}

#[test]
fn its_failures_are_counted_from_none_and_lead_to_a_letter_of_its_own() {
    let options = DispatchOptions { max_attempts: 2, ..DispatchOptions::default() };
    let mut bench = settled(&[None; 2], options);
    bench.dispatcher.give(given(0, None));
    let leased = bench.lease(ALPHA, 1)[0];
    bench.nack(leased);
    let changes = bench.dispatcher.take_changes().unwrap();
    assert!(matches!(&changes.given[..], [(0, GivenStep::Failed(failures))] if failures.attempts == 1), "{changes:?}");
    bench.pass_to_next_deadline();
    let leased = bench.lease(ALPHA, 1)[0];
    assert_eq!(leased.attempt, 2);
    bench.nack(leased);
    let dead = bench.dispatcher.take_dead();
    assert_eq!((dead[0].offset, dead[0].attempts, dead[0].fate), (0, 2, LetterFate::GivenBack { parked: None }));
    assert_eq!(bench.dispatcher.take_changes(), None, "the letter's commit says all of it");
    bench.dispatcher.dead_letter_written(0);
    assert!(bench.dispatcher.has_given_all());
    assert_eq!(bench.dispatcher.give(given(0, None)), GiveAnswer::Taken, "and may be given back again");
}

#[test]
fn an_old_lease_of_a_given_event_settles_nothing() {
    let mut bench = settled(&[None; 1], DispatchOptions::default());
    bench.dispatcher.give(given(0, None));
    let leased = bench.lease(ALPHA, 1)[0];
    bench.pass(ACK_TIMEOUT);
    assert_eq!(bench.ack(leased), Err(NotLeased));
    bench.pass_to_next_deadline();
    let again = bench.lease(ALPHA, 1)[0];
    assert_eq!((again.offset, again.attempt), (0, 2));
    assert_eq!(bench.ack(again), Ok(Settled::Now));
}

#[test]
fn an_event_that_is_not_settled_is_not_given() {
    let mut bench = Bench::of(2);
    assert_eq!(bench.dispatcher.give(given(0, None)), GiveAnswer::Unsettled);
    let leased = bench.lease(ALPHA, 2);
    bench.ack(leased[1]).unwrap();
    assert_eq!(bench.dispatcher.give(given(1, None)), GiveAnswer::Taken, "also above the floor");
    let given_back = bench.lease(ALPHA, 1)[0];
    bench.ack(given_back).unwrap();
    bench.ack(leased[0]).unwrap();
    assert_eq!(bench.dispatcher.floor(), 2);
}

#[test]
fn a_given_event_waits_for_its_key_and_goes_before_the_next_of_it() {
    let keys = [Some(7), Some(7), Some(7), Some(7)];
    let mut bench = Bench::with(key_order(), CursorState::at(1), &keys);
    let first = bench.lease(ALPHA, 9);
    assert_eq!((first.len(), first[0].offset), (1, 1));
    assert_eq!(bench.dispatcher.give(given(0, Some(7))), GiveAnswer::Taken);
    assert_eq!(bench.lease_offsets(ALPHA, 9), NOTHING);
    bench.ack(first[0]).unwrap();
    let next = bench.lease(ALPHA, 9);
    assert_eq!((next.len(), next[0].offset), (1, 0));
    bench.ack(next[0]).unwrap();
    assert_eq!(bench.lease_offsets(ALPHA, 9), [2]);
}

#[test]
fn a_reset_takes_given_events_back_and_forgets_none_that_is_done() {
    let mut bench = settled(&[None; 3], DispatchOptions::default());
    bench.dispatcher.give(given(0, None));
    bench.dispatcher.give(given(1, None));
    let leased = bench.lease(ALPHA, 2);
    bench.ack(leased[0]).unwrap();
    bench.dispatcher.reset(3, bench.bounds);
    assert_eq!(bench.ack(leased[1]), Ok(Settled::AlreadySettled), "fenced, and given again");
    assert_eq!(bench.dispatcher.give(given(0, None)), GiveAnswer::Known);
    assert_eq!(bench.dispatcher.give(given(1, None)), GiveAnswer::Taken);
    assert_eq!(bench.dispatcher.take_changes().unwrap().given, [(0, GivenStep::Acked)]);
}

#[test]
fn a_dropped_event_frees_its_holders_room() {
    let mut bench = settled(&[None; 1], DispatchOptions::default());
    bench.dispatcher.give(given(0, None));
    let leased = bench.lease(ALPHA, 1)[0];
    assert!(bench.dispatcher.drop_given(0) && !bench.dispatcher.drop_given(0));
    assert_eq!(bench.released(), [(ALPHA, 1)]);
    assert_eq!(bench.ack(leased), Ok(Settled::AlreadySettled));
    assert_eq!(bench.dispatcher.take_changes(), None);
}
