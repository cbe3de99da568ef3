//! Parking: a key that fails stops, everything of it follows in order, and it goes on when it is empty.

use super::*;

fn parking(limits: DispatchLimits) -> DispatchOptions {
    DispatchOptions { parking: Parking::On, max_attempts: 1, limits, ..key_order() }
}

fn of_keys(keys: &[u64]) -> Bench {
    let keys: Vec<Option<u64>> = keys.iter().map(|key| Some(*key)).collect();
    Bench::with(parking(DispatchLimits::default()), CursorState::default(), &keys)
}

impl Bench {
    fn fail(&mut self, leased: Leased) {
        self.nack(leased);
    }

    /// Writes the letters that are due; what each was for.
    fn bury(&mut self) -> Vec<(Offset, LetterFate)> {
        let mut buried = Vec::new();
        loop {
            let dead = self.dispatcher.take_dead();
            if dead.is_empty() {
                return buried;
            }
            for dead in dead {
                self.dispatcher.dead_letter_written(dead.offset);
                buried.push((dead.offset, dead.fate));
            }
        }
    }

    fn give_first(&mut self, key: u64, offset: Offset) {
        let event = GivenEvent { parked: Some(key), ..given(offset, Some(key)) };
        assert_eq!(self.dispatcher.give(event), GiveAnswer::Taken);
        self.dispatcher.first_found(key, FirstParked::Given);
    }
}

#[test]
fn what_waits_behind_a_parked_key_and_what_comes_later_follows_in_order() {
    let mut bench = of_keys(&[1, 1, 2, 1]);
    let leased = bench.lease(ALPHA, 9);
    assert_eq!(leased.iter().map(|one| one.offset).collect::<Vec<_>>(), [0, 2]);
    bench.fail(leased[0]);
    let dead = bench.dispatcher.take_dead();
    assert_eq!((dead[0].offset, dead[0].fate), (0, LetterFate::Parks { key: 1 }));
    assert_eq!(bench.lease_offsets(ALPHA, 9), NOTHING, "nothing passes while the letter is written");
    bench.dispatcher.dead_letter_written(0);
    assert_eq!(bench.bury(), [(1, LetterFate::Follows { key: 1 }), (3, LetterFate::Follows { key: 1 })]);
    assert_eq!(bench.dispatcher.parked_keys(), 1);
    bench.ack(leased[1]).unwrap();
    assert_eq!(bench.dispatcher.floor(), 4, "the floor goes on");
    bench.keys.extend([Some(1), Some(2)]);
    bench.bounds.next = 6;
    bench.dispatcher.bounds_moved(bench.bounds);
    assert_eq!(bench.lease_offsets(ALPHA, 9), [5]);
    assert_eq!(bench.bury(), [(4, LetterFate::Follows { key: 1 })]);
}

#[test]
fn given_back_a_key_hands_out_one_at_a_time_and_is_unparked_when_none_is_left() {
    let mut bench = of_keys(&[1, 1]);
    let leased = bench.lease(ALPHA, 9)[0];
    bench.fail(leased);
    bench.bury();
    assert!(bench.dispatcher.firsts_wanted(9).is_empty());
    bench.dispatcher.take_changes();
    bench.dispatcher.look_at_parked(1);
    assert_eq!(bench.dispatcher.firsts_wanted(9), [1]);
    bench.give_first(1, 0);
    let first = bench.lease(ALPHA, 9);
    assert_eq!((first.len(), first[0].offset, first[0].attempt), (1, 0, 1));
    bench.ack(first[0]).unwrap();
    assert_eq!(bench.dispatcher.firsts_wanted(9), [1]);
    bench.give_first(1, 1);
    let second = bench.lease(ALPHA, 9)[0];
    bench.ack(second).unwrap();
    bench.dispatcher.first_found(1, FirstParked::Nothing);
    assert_eq!(bench.dispatcher.parked_keys(), 0);
    let changes = bench.dispatcher.take_changes().unwrap();
    assert_eq!(changes.given, [(0, GivenStep::Acked), (1, GivenStep::Acked)]);
    assert_eq!(changes.unparked, [1], "in one commit with the last");
    bench.keys.push(Some(1));
    bench.bounds.next = 3;
    bench.dispatcher.bounds_moved(bench.bounds);
    assert_eq!(bench.lease_offsets(ALPHA, 9), [2]);
}

#[test]
fn a_key_is_not_unparked_while_one_of_its_events_is_on_its_way_behind_it() {
    let mut bench = of_keys(&[1]);
    let leased = bench.lease(ALPHA, 9)[0];
    bench.fail(leased);
    bench.bury();
    bench.dispatcher.look_at_parked(1);
    bench.give_first(1, 0);
    let given_back = bench.lease(ALPHA, 1)[0];
    bench.keys.push(Some(1));
    bench.bounds.next = 2;
    bench.dispatcher.bounds_moved(bench.bounds);
    bench.scan();
    assert_eq!(bench.dispatcher.take_dead().len(), 1, "its letter is on its way");
    bench.ack(given_back).unwrap();
    bench.dispatcher.first_found(1, FirstParked::Nothing);
    assert_eq!(bench.dispatcher.parked_keys(), 1);
    assert!(bench.dispatcher.firsts_wanted(9).is_empty());
    bench.dispatcher.dead_letter_written(1);
    assert_eq!(bench.dispatcher.firsts_wanted(9), [1], "now there is one");
}

#[test]
fn a_given_event_that_is_dead_again_holds_its_key() {
    let mut bench = of_keys(&[1, 1]);
    let leased = bench.lease(ALPHA, 9)[0];
    bench.fail(leased);
    bench.bury();
    bench.dispatcher.look_at_parked(1);
    bench.give_first(1, 0);
    let given_back = bench.lease(ALPHA, 1)[0];
    bench.fail(given_back);
    assert_eq!(bench.bury(), [(0, LetterFate::GivenBack { parked: Some(1) })]);
    assert!(bench.dispatcher.firsts_wanted(9).is_empty(), "it stays first until somebody gives it back");
    assert_eq!(bench.dispatcher.parked_keys(), 1);
}

#[test]
fn at_the_bound_the_event_of_another_key_waits_until_one_is_unparked() {
    let limits = DispatchLimits { parked_keys: 1, ..DispatchLimits::default() };
    let keys = [Some(1), Some(2), Some(3)];
    let mut bench = Bench::with(parking(limits), CursorState::default(), &keys);
    let leased = bench.lease(ALPHA, 9);
    leased[..2].iter().for_each(|one| bench.fail(*one));
    assert_eq!(bench.bury(), [(0, LetterFate::Parks { key: 1 })]);
    bench.ack(leased[2]).unwrap();
    let status = bench.dispatcher.status();
    assert_eq!((status.limit, status.parked_keys, status.floor), (Some(Limit::ParkedKeys), 1, 1));
    assert_eq!(status.oldest.unwrap().holdup, Holdup::WithoutRoomToPark);
    assert!(!bench.dispatcher.has_dead(), "nothing spins");
    bench.dispatcher.look_at_parked(1);
    bench.dispatcher.first_found(1, FirstParked::Nothing);
    assert_eq!(bench.bury(), [(1, LetterFate::Parks { key: 2 })]);
    assert_eq!((bench.dispatcher.floor(), bench.dispatcher.status().limit), (3, None));
}

#[test]
fn a_letter_that_fails_parks_nothing_and_is_tried_again() {
    let mut bench = of_keys(&[1, 1]);
    let leased = bench.lease(ALPHA, 9)[0];
    bench.fail(leased);
    assert_eq!(bench.dispatcher.take_dead().len(), 1);
    bench.dispatcher.dead_letter_failed(bench.now, 0);
    assert_eq!((bench.dispatcher.parked_keys(), bench.lease_offsets(ALPHA, 9)), (0, vec![]));
    bench.pass_to_next_deadline();
    assert_eq!(bench.bury(), [(0, LetterFate::Parks { key: 1 }), (1, LetterFate::Follows { key: 1 })]);
}

#[test]
fn followers_that_retention_took_are_waited_for_no_more() {
    let mut bench = of_keys(&[1, 1, 1]);
    let leased = bench.lease(ALPHA, 9)[0];
    bench.fail(leased);
    let dead = bench.dispatcher.take_dead();
    bench.dispatcher.dead_letter_written(dead[0].offset);
    bench.trim(3);
    assert_eq!((bench.bury(), bench.dispatcher.floor()), (vec![], 3));
    bench.dispatcher.look_at_parked(1);
    bench.dispatcher.first_found(1, FirstParked::Nothing);
    assert_eq!(bench.dispatcher.parked_keys(), 0);
}

#[test]
fn a_dispatcher_that_begins_with_parked_keys_parks_what_it_scans_of_them() {
    let mut bench = of_keys(&[1, 2]);
    bench.dispatcher.load_parked([1]);
    assert_eq!(bench.lease_offsets(ALPHA, 9), [1]);
    assert_eq!(bench.dispatcher.firsts_wanted(9), [1]);
    assert_eq!(bench.bury(), [(0, LetterFate::Follows { key: 1 })]);
}

#[test]
fn no_event_is_handed_out_before_an_earlier_one_that_is_still_on_its_way_behind_the_key() {
    let mut bench = of_keys(&[1, 1, 1]);
    let leased = bench.lease(ALPHA, 9)[0];
    bench.fail(leased);
    let dead = bench.dispatcher.take_dead();
    bench.dispatcher.dead_letter_written(dead[0].offset);
    assert_eq!(bench.dispatcher.take_dead().len(), 2);
    bench.dispatcher.dead_letter_failed(bench.now, 1);
    bench.dispatcher.dead_letter_written(2);
    bench.dispatcher.look_at_parked(1);
    bench.give_first(1, 0);
    let given_back = bench.lease(ALPHA, 1)[0];
    bench.ack(given_back).unwrap();
    let event = GivenEvent { parked: Some(1), ..given(2, Some(1)) };
    assert_eq!(bench.dispatcher.give(event), GiveAnswer::Behind);
    bench.dispatcher.first_found(1, FirstParked::Behind);
    assert!(bench.dispatcher.firsts_wanted(9).is_empty());
    bench.pass_to_next_deadline();
    assert_eq!(bench.bury(), [(1, LetterFate::Follows { key: 1 })]);
    assert_eq!(bench.dispatcher.firsts_wanted(9), [1]);
}

#[test]
fn after_a_restart_nothing_parked_is_handed_out_before_the_log_is_read_that_far() {
    let keys = [Some(1), Some(2), Some(1)];
    let mut cursor = CursorState::default();
    // The letter of 2 was durable, that of 0 was not.
    cursor.apply(std::slice::from_ref(&(2..3)), &[]);
    let mut bench = Bench::with(parking(DispatchLimits::default()), cursor, &keys);
    bench.dispatcher.load_parked([1]);
    let event = GivenEvent { parked: Some(1), ..given(2, Some(1)) };
    assert_eq!(bench.dispatcher.give(event.clone()), GiveAnswer::Unsettled);
    bench.dispatcher.first_found(1, FirstParked::Held { until_settled: Some(2) });
    assert!(bench.dispatcher.firsts_wanted(9).is_empty());
    assert_eq!(bench.lease_offsets(ALPHA, 9), [1]);
    assert_eq!(bench.dispatcher.firsts_wanted(9), [1]);
    assert_eq!(bench.dispatcher.give(event), GiveAnswer::Behind);
    assert_eq!(bench.bury(), [(0, LetterFate::Follows { key: 1 })]);
}
