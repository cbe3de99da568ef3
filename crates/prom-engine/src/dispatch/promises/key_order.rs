//! Per-key order: one unsettled event of a key at a time, other keys flow.

use super::*;

const A: Option<u64> = Some(0xA);
const B: Option<u64> = Some(0xB);

fn bench(keys: &[Option<u64>]) -> Bench {
    Bench::with(key_order(), CursorState::default(), keys)
}

#[test]
fn no_event_of_a_key_is_handed_out_while_an_earlier_one_is_unsettled() {
    let mut bench = bench(&[A, A, B, None, A, None]);
    let leased = bench.lease(ALPHA, 9);
    assert_eq!(leased.iter().map(|leased| leased.offset).collect::<Vec<_>>(), [0, 2, 3, 5]);
    bench.nack(leased[0]);
    assert_eq!(bench.lease_offsets(ALPHA, 9), NOTHING, "waiting keeps the key blocked");
    bench.pass(Duration::from_millis(200));
    let again = bench.lease(ALPHA, 9);
    assert_eq!(again.len(), 1);
    assert_eq!((again[0].offset, again[0].attempt), (0, 2));
    bench.ack(again[0]).unwrap();
    let next = bench.lease(ALPHA, 9);
    assert_eq!(next.len(), 1);
    assert_eq!(next[0].offset, 1);
    bench.ack(next[0]).unwrap();
    assert_eq!(bench.lease_offsets(ALPHA, 9), [4]);
}

#[test]
fn a_key_stays_blocked_until_the_dead_letter_is_written() {
    let mut bench = bench(&[A, A]);
    bench.dispatcher.options.max_attempts = 1;
    let leased = bench.lease(ALPHA, 9)[0];
    bench.nack(leased);
    bench.dispatcher.take_dead();
    bench.dispatcher.dead_letter_failed(bench.now, 0);
    assert_eq!(bench.lease_offsets(ALPHA, 9), NOTHING);
    bench.pass(Duration::from_secs(1));
    bench.dispatcher.take_dead();
    assert_eq!(bench.lease_offsets(ALPHA, 9), NOTHING);
    bench.dispatcher.dead_letter_written(0);
    assert_eq!(bench.lease_offsets(ALPHA, 9), [1]);
}

#[test]
fn retention_frees_the_keys_of_what_it_takes() {
    let mut bench = bench(&[A, A, B, A, B]);
    assert_eq!(bench.lease_offsets(ALPHA, 1), [0]);
    bench.trim(3);
    assert_eq!(bench.lease_offsets(ALPHA, 9), [3, 4]);
    assert_eq!(bench.dispatcher.status().blocked_events, 0);
}

#[test]
fn order_survives_a_handover_to_another_subscriber() {
    let mut bench = bench(&[A, A]);
    bench.dispatcher.join(BRAVO, ACK_TIMEOUT);
    bench.lease(ALPHA, 9);
    bench.dispatcher.leave(bench.now, ALPHA, Leaving::Returned);
    assert_eq!(bench.lease_offsets(BRAVO, 9), [0]);
}

#[test]
fn the_look_ahead_past_blocked_keys_is_bounded_and_its_end_is_visible() {
    let mut keys = vec![A; 20];
    keys.extend([B; 2]);
    let mut bench = bench(&keys);
    bench.dispatcher.options.limits.look_ahead = 8;
    let head = bench.lease(ALPHA, 9);
    assert_eq!(head.len(), 1);
    let status = bench.dispatcher.status();
    assert_eq!(status.limit, Some(Limit::LookAhead));
    assert_eq!((status.blocked_keys, status.blocked_events, status.scan_next), (1, 8, 9));
    assert_eq!(bench.dispatcher.wants_scan(), None);
    bench.ack(head[0]).unwrap();
    assert_eq!(bench.dispatcher.wants_scan(), Some(ScanRequest { from: 9, events: 1 }));
    assert_eq!(bench.dispatcher.status().limit, None);
}

#[test]
fn without_key_order_keys_mean_nothing() {
    let mut bench = Bench::with(DispatchOptions::default(), CursorState::default(), &[A, A, A]);
    assert_eq!(bench.lease_offsets(ALPHA, 9), [0, 1, 2]);
}
