//! Only the holder of the live lease settles an event.

use super::*;

#[test]
fn an_ack_under_an_expired_lease_is_refused_before_and_after_the_redelivery() {
    let mut bench = Bench::of(1);
    let old = bench.lease(ALPHA, 1)[0];
    bench.pass(ACK_TIMEOUT);
    assert_eq!(bench.ack(old), Err(NotLeased));
    bench.pass(Duration::from_millis(200));
    let new = bench.lease(ALPHA, 1)[0];
    assert_ne!(new.lease, old.lease);
    assert_eq!(bench.ack(old), Err(NotLeased));
    assert_eq!(bench.dispatcher.floor(), 0);
    assert_eq!(bench.ack(new), Ok(Settled::Now));
    assert_eq!(bench.ack(old), Ok(Settled::AlreadySettled));
}

#[test]
fn a_late_ack_counts_as_long_as_the_lease_was_not_ended() {
    let mut bench = Bench::of(1);
    let leased = bench.lease(ALPHA, 1)[0];
    bench.now += ACK_TIMEOUT * 2;
    assert_eq!(bench.ack(leased), Ok(Settled::Now));
}

#[test]
fn another_subscriber_can_neither_settle_nor_extend() {
    let mut bench = Bench::of(2);
    bench.dispatcher.join(BRAVO, ACK_TIMEOUT);
    let mine = bench.lease(ALPHA, 1)[0];
    let (dispatcher, now) = (&mut bench.dispatcher, bench.now);
    assert_eq!(dispatcher.ack(BRAVO, mine.offset, mine.lease), Err(NotLeased));
    assert_eq!(dispatcher.nack(now, BRAVO, mine.offset, mine.lease, None, None), Err(NotLeased));
    assert_eq!(dispatcher.modack(now, BRAVO, mine.offset, mine.lease, ACK_TIMEOUT), Err(NotLeased));
    assert_eq!(dispatcher.ack(ALPHA, 1, mine.lease), Err(NotLeased), "another event");
    assert_eq!(bench.lease_offsets(BRAVO, 9), [1], "an event has one holder");
    assert_eq!(bench.ack(mine), Ok(Settled::Now));
}

#[test]
fn a_modack_extends_a_live_lease_and_revives_none() {
    let mut bench = Bench::of(1);
    let leased = bench.lease(ALPHA, 1)[0];
    bench.now += ACK_TIMEOUT - Duration::from_secs(1);
    let extend = |bench: &mut Bench| bench.dispatcher.modack(bench.now, ALPHA, 0, leased.lease, ACK_TIMEOUT);
    assert_eq!(extend(&mut bench), Ok(()));
    bench.pass(ACK_TIMEOUT - Duration::from_nanos(1));
    assert_eq!(bench.dispatcher.status().in_flight, 1);
    bench.now += Duration::from_nanos(1);
    assert_eq!(extend(&mut bench), Err(NotLeased), "its deadline has come, tick or not");
    bench.pass(Duration::ZERO);
    assert_eq!(bench.dispatcher.status().in_flight, 0);
    assert_eq!(extend(&mut bench), Err(NotLeased));
    assert_eq!(bench.dispatcher.status().waiting, 1);
}

#[test]
fn a_modack_may_also_shorten() {
    let mut bench = Bench::of(1);
    let leased = bench.lease(ALPHA, 1)[0];
    bench.dispatcher.modack(bench.now, ALPHA, 0, leased.lease, Duration::from_secs(1)).unwrap();
    assert_eq!(bench.dispatcher.next_deadline(), Some(Duration::from_secs(1)));
    bench.pass(Duration::from_secs(1));
    assert_eq!(bench.dispatcher.status().in_flight, 0);
}

#[test]
fn a_reset_fences_what_is_in_flight_and_gives_the_room_back() {
    let mut bench = Bench::of(6);
    let leased = bench.lease(ALPHA, 4);
    bench.ack(leased[0]).unwrap();
    bench.ack(leased[1]).unwrap();
    bench.released();
    let bounds = bench.bounds;
    bench.dispatcher.reset(1, bounds);
    assert_eq!(bench.dispatcher.floor(), 1);
    assert_eq!(bench.released(), [(ALPHA, 2)]);
    assert_eq!(bench.ack(leased[2]), Err(NotLeased));
    let again = bench.lease(ALPHA, 9);
    assert_eq!(again.iter().map(|leased| leased.offset).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    assert_eq!(bench.ack(leased[3]), Err(NotLeased), "leased again, under another lease");
    assert_eq!(bench.ack(again[2]), Ok(Settled::Now));
}

#[test]
fn a_paused_subscriber_keeps_its_leases_and_gets_no_more() {
    let mut bench = Bench::of(4);
    let leased = bench.lease(ALPHA, 1)[0];
    bench.dispatcher.pause(ALPHA);
    assert_eq!(bench.lease_offsets(ALPHA, 9), NOTHING);
    assert_eq!(bench.dispatcher.status().paused_subscribers, 1);
    assert_eq!(bench.ack(leased), Ok(Settled::Now));
    bench.dispatcher.resume(ALPHA);
    assert_eq!(bench.lease_offsets(ALPHA, 9), [1, 2, 3]);
}

#[test]
fn a_stranger_gets_nothing() {
    let mut bench = Bench::of(4);
    assert_eq!(bench.lease_offsets(BRAVO, 9), NOTHING);
}
