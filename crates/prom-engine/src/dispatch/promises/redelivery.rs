//! Failing, returning, waiting, and the end of patience.

use super::*;

#[test]
fn a_nacked_event_stalls_nothing_and_holds_no_room() {
    let mut bench = Bench::of(10);
    let first = bench.lease(ALPHA, 1)[0];
    bench.nack(first);
    assert_eq!(bench.released(), [(ALPHA, 1)]);
    assert_eq!(bench.lease_offsets(ALPHA, 3), [1, 2, 3]);
    bench.pass(Duration::from_millis(200));
    let again = bench.lease(ALPHA, 2);
    assert_eq!(again[0].offset, 0, "due redeliveries go first");
    assert_eq!(again[0].attempt, 2);
    assert_eq!((again[1].offset, again[1].attempt), (4, 1));
}

#[test]
fn bare_nacks_do_not_use_up_the_attempts_in_milliseconds() {
    let mut bench = Bench::of(1);
    for attempt in 1..=5 {
        let leased = bench.lease(ALPHA, 1)[0];
        assert_eq!(leased.attempt, attempt);
        bench.nack(leased);
        assert!(bench.lease(ALPHA, 1).is_empty(), "handed out again at once");
        if attempt < 5 {
            bench.pass_to_next_deadline();
        }
    }
    let shortest = Duration::from_millis((200 + 400 + 800 + 1600) * 3 / 4);
    assert!(bench.now >= shortest, "five attempts in {:?}", bench.now);
    assert_eq!(bench.dispatcher.take_dead().len(), 1);
}

#[test]
fn a_nack_with_a_delay_waits_for_that_long() {
    let mut bench = Bench::of(1);
    let leased = bench.lease(ALPHA, 1)[0];
    let delay = Some(Duration::from_secs(7));
    let nacked = bench.dispatcher.nack(bench.now, ALPHA, 0, leased.lease, None, delay);
    assert_eq!(nacked, Ok(Settled::Now));
    bench.pass(Duration::from_millis(6999));
    assert_eq!(bench.lease_offsets(ALPHA, 1), NOTHING);
    bench.pass(Duration::from_millis(1));
    assert_eq!(bench.lease_offsets(ALPHA, 1), [0]);
}

#[test]
fn an_expired_lease_is_a_failed_attempt_with_a_reason() {
    let mut bench = Bench::of(1);
    bench.lease(ALPHA, 1);
    bench.pass(ACK_TIMEOUT - Duration::from_nanos(1));
    assert_eq!(bench.dispatcher.status().in_flight, 1);
    bench.pass(Duration::from_nanos(1));
    assert_eq!(bench.released(), [(ALPHA, 1)]);
    let failures = bench.dispatcher.take_changes().unwrap().failures;
    assert_eq!((failures[0].0, failures[0].1.attempts, failures[0].1.returns), (0, 1, 0));
    assert!(failures[0].1.reason.as_ref().unwrap().contains("deadline"));
}

#[test]
fn returns_are_redelivered_at_once_are_no_attempts_and_become_poison_in_the_end() {
    let mut bench = Bench::of(2);
    for returns in 1..=20 {
        let leased = bench.lease(ALPHA, 1);
        assert_eq!((leased[0].offset, leased[0].attempt), (0, 1), "after {} returns", returns - 1);
        bench.dispatcher.leave(bench.now, ALPHA, Leaving::Returned);
        bench.dispatcher.join(ALPHA, ACK_TIMEOUT);
    }
    assert_eq!(bench.lease_offsets(ALPHA, 2), [1]);
    let dead = bench.dispatcher.take_dead();
    assert_eq!((dead[0].offset, dead[0].attempts, dead[0].returns), (0, 0, 20));
    assert!(dead[0].reason.as_ref().unwrap().contains("connection"));
}

#[test]
fn a_shutdown_counts_as_neither_attempt_nor_return() {
    let mut bench = Bench::of(1);
    for _ in 0..100 {
        assert_eq!(bench.lease(ALPHA, 1)[0].attempt, 1);
        bench.dispatcher.leave(bench.now, ALPHA, Leaving::Shutdown);
        bench.dispatcher.join(ALPHA, ACK_TIMEOUT);
    }
    assert_eq!(bench.dispatcher.take_changes(), None);
}

#[test]
fn who_leaves_after_its_deadline_has_failed_and_not_returned() {
    let mut bench = Bench::of(1);
    bench.lease(ALPHA, 1);
    bench.now += ACK_TIMEOUT;
    bench.dispatcher.leave(bench.now, ALPHA, Leaving::Returned);
    let failures = bench.dispatcher.take_changes().unwrap().failures;
    assert_eq!((failures[0].1.attempts, failures[0].1.returns), (1, 0));
}

#[test]
fn at_the_limit_an_event_waits_for_its_letter_and_stays_if_that_fails() {
    let options = DispatchOptions { max_attempts: 1, ..DispatchOptions::default() };
    let mut bench = Bench::with_options(options, 2);
    let leased = bench.lease(ALPHA, 1)[0];
    bench.nack(leased);
    let dead = bench.dispatcher.take_dead();
    assert_eq!((dead[0].offset, dead[0].attempts, dead[0].reason.as_deref()), (0, 1, Some("boom")));
    assert_eq!(bench.dispatcher.take_dead(), [], "one letter at a time");

    bench.dispatcher.dead_letter_failed(bench.now, 0);
    let status = bench.dispatcher.status();
    assert_eq!((status.dead_letters_pending, status.dead_letters_failing), (1, 1));
    let holdup = status.oldest.unwrap().holdup;
    assert!(matches!(holdup, Holdup::DeadLetterFailing { failed_writes: 1, .. }), "{holdup:?}");
    assert_eq!(bench.dispatcher.take_dead(), [], "not before its backoff");
    assert_eq!(bench.lease_offsets(ALPHA, 2), [1], "the group goes on");

    bench.pass(Duration::from_millis(200));
    assert_eq!(bench.dispatcher.take_dead().len(), 1);
    assert_eq!(bench.dispatcher.floor(), 0);
    bench.dispatcher.take_changes();
    bench.dispatcher.dead_letter_written(0);
    assert_eq!(bench.dispatcher.floor(), 1);
    assert_eq!(bench.dispatcher.take_changes(), None, "its settlement was in the letter's commit");
}

#[test]
fn attempts_of_a_stored_cursor_go_on_counting() {
    let mut cursor = CursorState::default();
    let failures = |attempts| prom_store::Failures { attempts, returns: 3, reason: Some("before".into()) };
    cursor.apply(&[], &[(0, failures(3)), (1, failures(5))]);
    let mut bench = Bench::with(DispatchOptions::default(), cursor, &[None; 2]);
    let leased = bench.lease(ALPHA, 2);
    assert_eq!(leased.len(), 1, "the one at its limit is not handed out again");
    assert_eq!((leased[0].offset, leased[0].attempt), (0, 4));
    assert_eq!(bench.dispatcher.take_dead()[0].attempts, 5);
    bench.nack(leased[0]);
    let failures = &bench.dispatcher.take_changes().unwrap().failures[0].1;
    assert_eq!((failures.attempts, failures.returns), (4, 3));
}

#[test]
fn a_long_reason_is_cut_at_a_character() {
    let mut bench = Bench::of(1);
    let leased = bench.lease(ALPHA, 1)[0];
    let reason = Some(format!("a{}", "ü".repeat(4000)));
    bench.dispatcher.nack(bench.now, ALPHA, 0, leased.lease, reason, None).unwrap();
    let kept = bench.dispatcher.take_changes().unwrap().failures[0].1.reason.clone().unwrap();
    assert_eq!(kept.len(), 1023);
}
