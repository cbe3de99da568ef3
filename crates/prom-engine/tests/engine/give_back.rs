//! Letters that are given back come to their group again, to no other, and what became of them is known.

use std::time::Duration;

use prom_engine::{Bus, DroppedLetter, GivenBack, LetterOutcome, Position, Subscribe, Subscription, TopicSettings};
use prom_types::{EventId, GroupName};
use serde_json::{Value, json};

use crate::support::{
    World, bus, floor, letter_of, letters, next, publish_numbers, soon, stays_silent, take_acked, until,
};

/// One attempt for each event.
fn group<'b>(bus: &'b Bus, name: &str) -> Subscribe<'b> {
    bus.subscribe("orders", name).from(Position::Earliest).max_attempts(1)
}

async fn fail_next(subscription: &mut Subscription) {
    let delivery = next(subscription).await;
    soon(delivery.nack("no")).await.unwrap();
}

/// Waits until so many letters of `orders` are there.
async fn letters_come(bus: &Bus, count: usize) {
    until(async || letters(bus, "orders").await.len() == count).await;
}

#[tokio::test(start_paused = true)]
async fn a_letter_comes_back_to_its_group_alone_as_it_was_and_no_floor_moves() {
    let bus = bus().await;
    let receipt = bus.publish("orders", json!({"n": 1})).key("k").header("x-a", "b").await.unwrap();
    let mut orders = group(&bus, "g").start().await.unwrap();
    let mut others = group(&bus, "others").start().await.unwrap();
    take_acked_one(&mut others).await;
    fail_next(&mut orders).await;
    publish_numbers(&bus, "orders", 0..3).await;
    take_acked(&mut orders, 3).await;
    take_acked(&mut others, 3).await;
    letters_come(&bus, 1).await;

    let letter = letter_of(&bus, "orders", 0).await;
    assert_eq!((letter.event, letter.key.as_deref()), (receipt.id, Some("k")));
    let given = bus.give_back("orders", std::slice::from_ref(&letter)).await.unwrap();
    assert_eq!(given, [GivenBack::Given { time: 1 }]);
    let outcome = async || bus.letter_outcomes("orders", std::slice::from_ref(&letter)).await.unwrap().remove(0);
    assert_eq!(outcome().await, LetterOutcome::Waiting { time: 1, failed_attempts: 0 });

    let again = next(&mut orders).await;
    assert_eq!((again.id(), again.offset(), again.attempt()), (receipt.id, 0, 1));
    assert_eq!((again.key(), again.payload::<Value>().unwrap()), (Some("k"), json!({"n": 1})));
    assert_eq!(floor(&bus, "orders", "g").await, 4, "the floor is far above");
    soon(again.ack()).await.unwrap();
    assert!(matches!(outcome().await, LetterOutcome::Acked { time: 1, .. }), "known with the ack's answer");
    assert_eq!(floor(&bus, "orders", "g").await, 4);
    assert!(stays_silent(&mut others, Duration::from_secs(60)).await, "it is nobody else's");
    assert!(stays_silent(&mut orders, Duration::from_secs(60)).await, "once");
}

async fn take_acked_one(subscription: &mut Subscription) {
    soon(next(subscription).await.ack()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_letter_is_given_back_once_however_often_that_is_asked() {
    let bus = bus().await;
    publish_numbers(&bus, "orders", 0..1).await;
    let mut orders = group(&bus, "g").start().await.unwrap();
    fail_next(&mut orders).await;
    letters_come(&bus, 1).await;
    let letter = letter_of(&bus, "orders", 0).await;
    let twice = bus.give_back("orders", &[letter.clone(), letter.clone()]).await.unwrap();
    let waiting = LetterOutcome::Waiting { time: 1, failed_attempts: 0 };
    assert_eq!(twice, [GivenBack::Given { time: 1 }, GivenBack::Already(waiting)]);
    take_acked(&mut orders, 1).await;
    let [GivenBack::Already(LetterOutcome::Acked { time: 1, .. })] =
        bus.give_back("orders", &[letter]).await.unwrap()[..]
    else {
        panic!("it was acked");
    };
    assert!(stays_silent(&mut orders, Duration::from_secs(60)).await);
}

#[tokio::test(start_paused = true)]
async fn an_event_that_fails_again_gets_a_new_letter_and_the_old_one_tells_so() {
    let bus = bus().await;
    publish_numbers(&bus, "orders", 0..1).await;
    let mut orders = group(&bus, "g").start().await.unwrap();
    fail_next(&mut orders).await;
    letters_come(&bus, 1).await;
    let first = letter_of(&bus, "orders", 0).await;
    bus.give_back("orders", std::slice::from_ref(&first)).await.unwrap();
    fail_next(&mut orders).await;
    letters_come(&bus, 2).await;
    let second = letter_of(&bus, "orders", 0).await;
    assert_eq!((second.given_back, second.event), (1, first.event));
    assert_eq!(second.letter, EventId::derived("dlq:g:orders:0:0:1"));
    let both = [first.clone(), second.clone()];
    let outcomes = bus.letter_outcomes("orders", &both).await.unwrap();
    assert_eq!(outcomes[0], LetterOutcome::DeadAgain { time: 1, letter: second.letter });
    assert_eq!(outcomes[1], LetterOutcome::NotGivenBack);

    let given = bus.give_back("orders", &both).await.unwrap();
    assert_eq!(given[0], GivenBack::Already(LetterOutcome::DeadAgain { time: 1, letter: second.letter }));
    assert_eq!(given[1], GivenBack::Given { time: 2 });
    take_acked(&mut orders, 1).await;
    let outcomes = bus.letter_outcomes("orders", &both).await.unwrap();
    assert!(matches!(outcomes[1], LetterOutcome::Acked { time: 2, .. }), "{outcomes:?}");
    assert_eq!(letters(&bus, "orders").await.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn attempts_begin_anew_are_counted_and_survive_a_restart() {
    let world = World::new();
    let bus = world.bus().await;
    publish_numbers(&bus, "orders", 0..2).await;
    let mut orders = group(&bus, "g").max_attempts(3).start().await.unwrap();
    let good = async |orders: &mut Subscription| loop {
        let delivery = next(orders).await;
        if delivery.offset() == 0 {
            return delivery;
        }
        soon(delivery.ack()).await.unwrap();
    };
    for attempt in 1..=3 {
        let delivery = good(&mut orders).await;
        assert_eq!(delivery.attempt(), attempt);
        soon(delivery.nack("no")).await.unwrap();
    }
    letters_come(&bus, 1).await;
    let letter = letter_of(&bus, "orders", 0).await;
    bus.give_back("orders", std::slice::from_ref(&letter)).await.unwrap();
    let delivery = next(&mut orders).await;
    assert_eq!(delivery.attempt(), 1, "fresh attempts");
    soon(delivery.nack("no")).await.unwrap();
    drop((delivery, orders, bus));

    let bus = world.bus().await;
    let outcome = bus.letter_outcomes("orders", std::slice::from_ref(&letter)).await.unwrap();
    assert_eq!(outcome, [LetterOutcome::Waiting { time: 1, failed_attempts: 1 }]);
    let mut orders = group(&bus, "g").max_attempts(3).start().await.unwrap();
    let delivery = next(&mut orders).await;
    assert_eq!((delivery.offset(), delivery.attempt()), (0, 2), "nothing else wakes the group");
    soon(delivery.ack()).await.unwrap();
    assert!(bus.store_document("set_aside").await.is_none(), "nothing is left to look for");
}

trait Documents {
    async fn store_document(&self, collection: &str) -> Option<String>;
}

impl Documents for Bus {
    /// Any document of a collection, once the dispatchers had time to clear up.
    async fn store_document(&self, collection: &str) -> Option<String> {
        tokio::time::sleep(Duration::from_secs(1)).await;
        self.documents(collection, None, 1).await.unwrap().pop().map(|document| document.key)
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_given_back_without_a_subscriber_waits_for_one() {
    let bus = bus().await;
    publish_numbers(&bus, "orders", 0..1).await;
    let mut orders = group(&bus, "g").start().await.unwrap();
    fail_next(&mut orders).await;
    letters_come(&bus, 1).await;
    until(async || floor(&bus, "orders", "g").await == 1).await;
    orders.unsubscribe().await;
    let letter = letter_of(&bus, "orders", 0).await;
    assert_eq!(bus.give_back("orders", &[letter]).await.unwrap(), [GivenBack::Given { time: 1 }]);
    tokio::time::sleep(Duration::from_secs(60)).await;
    let mut orders = group(&bus, "g").start().await.unwrap();
    assert_eq!(take_acked(&mut orders, 1).await, [0]);
}

#[tokio::test(start_paused = true)]
async fn an_event_that_retention_took_comes_back_from_its_letter() {
    let world = World::new();
    let bus = world.bus().await;
    bus.create_topic(TopicSettings::new("orders").unwrap().retain_for(Duration::from_secs(10))).await.unwrap();
    let receipt = bus.publish("orders", json!({"n": 1.50})).key("k").header("x-a", "b").tag("t").await.unwrap();
    let mut orders = group(&bus, "g").start().await.unwrap();
    fail_next(&mut orders).await;
    letters_come(&bus, 1).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    bus.retain_now().await.unwrap();
    assert_eq!(bus.topic("orders").await.unwrap().partitions[0].bounds.start, 1);
    let letter = letter_of(&bus, "orders", 0).await;
    bus.give_back("orders", std::slice::from_ref(&letter)).await.unwrap();
    let again = next(&mut orders).await;
    let headers = again.headers();
    assert_eq!((again.id(), again.key(), headers.get("x-a")), (receipt.id, Some("k"), Some("b")));
    assert_eq!((again.offset(), again.stored_ts()), (0, receipt.stored_ts));
    assert_eq!(again.json().as_str(), r#"{"n":1.5}"#);
    soon(again.nack("still no")).await.unwrap();
    letters_come(&bus, 2).await;
    assert_eq!(letter_of(&bus, "orders", 0).await.given_back, 1, "it dies as any other");
}

#[tokio::test(start_paused = true)]
async fn letters_that_wait_to_be_handed_out_are_kept_beyond_their_retention() {
    let world = World::new();
    let bus = world.bus().await;
    publish_numbers(&bus, "orders", 0..1).await;
    let mut orders = group(&bus, "g").start().await.unwrap();
    fail_next(&mut orders).await;
    letters_come(&bus, 1).await;
    until(async || floor(&bus, "orders", "g").await == 1).await;
    orders.unsubscribe().await;
    let letter = letter_of(&bus, "orders", 0).await;
    bus.give_back("orders", std::slice::from_ref(&letter)).await.unwrap();
    tokio::time::sleep(Duration::from_secs(31 * 24 * 60 * 60)).await;
    bus.retain_now().await.unwrap();
    assert_eq!(letters(&bus, "orders").await.len(), 1);
    let mut orders = group(&bus, "g").start().await.unwrap();
    take_acked(&mut orders, 1).await;
    until(async || bus.documents("set_aside", None, 1).await.unwrap().is_empty()).await;
    bus.retain_now().await.unwrap();
    assert_eq!(letters(&bus, "orders").await.len(), 0, "and go when they are done");
}

#[tokio::test(start_paused = true)]
async fn many_letters_are_taken_in_by_and_by_and_fresh_events_have_their_share() {
    const DEAD: u64 = 3000;
    let bus = bus().await;
    publish_numbers(&bus, "orders", 0..DEAD).await;
    let mut orders = group(&bus, "g").start().await.unwrap();
    for _ in 0..DEAD {
        let delivery = next(&mut orders).await;
        soon(delivery.nack("no")).await.unwrap();
    }
    letters_come(&bus, DEAD as usize).await;
    until(async || floor(&bus, "orders", "g").await == DEAD).await;
    orders.unsubscribe().await;
    let all = letters(&bus, "orders").await;
    for some in all.chunks(1000) {
        let given = bus.give_back("orders", some).await.unwrap();
        assert!(given.iter().all(|one| *one == GivenBack::Given { time: 1 }));
    }
    assert!(bus.give_back("orders", &all).await.is_err(), "more than a thousand at once");
    publish_numbers(&bus, "orders", DEAD..DEAD + 500).await;

    let mut orders = group(&bus, "g").batch_size(10).max_in_flight(10).start().await.unwrap();
    let mut taken = Vec::new();
    while taken.len() < 3500 {
        let delivery = next(&mut orders).await;
        taken.push(delivery.offset());
        soon(delivery.ack()).await.unwrap();
        let status = bus.why("orders", "g").await.unwrap().partitions.remove(0).status.unwrap();
        assert!(status.given < 1000 + 256, "one page beyond the bound at the most: {status:?}");
    }
    let fresh = taken.iter().take(1500).filter(|offset| **offset >= DEAD).count();
    assert!(fresh > 200, "{fresh} fresh ones among the first 1500");
    let outcomes = bus.letter_outcomes("orders", &all[..1000]).await.unwrap();
    assert!(outcomes.iter().all(|outcome| matches!(outcome, LetterOutcome::Acked { .. })));
    let mut given: Vec<u64> = taken.into_iter().filter(|offset| *offset < DEAD).collect();
    given.sort_unstable();
    assert_eq!(given, (0..DEAD).collect::<Vec<_>>(), "each once");
}

#[tokio::test(start_paused = true)]
async fn with_order_by_key_a_given_event_takes_its_keys_turn() {
    let bus = bus().await;
    for number in 0..3 {
        bus.publish("orders", json!(number)).key("k").await.unwrap();
    }
    let mut orders = group(&bus, "g").order(prom_engine::Order::Key).start().await.unwrap();
    fail_next(&mut orders).await;
    let second = next(&mut orders).await;
    assert_eq!(second.offset(), 1);
    letters_come(&bus, 1).await;
    let letter = letter_of(&bus, "orders", 0).await;
    bus.give_back("orders", &[letter]).await.unwrap();
    assert!(stays_silent(&mut orders, Duration::from_secs(5)).await, "one of the key is out");
    soon(second.ack()).await.unwrap();
    let given = next(&mut orders).await;
    assert_eq!(given.offset(), 0, "before the next of its key");
    assert!(stays_silent(&mut orders, Duration::from_secs(5)).await);
    soon(given.ack()).await.unwrap();
    assert_eq!(next(&mut orders).await.offset(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_letter_comes_no_more_and_one_that_does_not_wait_is_left_alone() {
    let bus = bus().await;
    publish_numbers(&bus, "orders", 0..2).await;
    let mut orders = group(&bus, "g").start().await.unwrap();
    fail_next(&mut orders).await;
    fail_next(&mut orders).await;
    letters_come(&bus, 2).await;
    until(async || floor(&bus, "orders", "g").await == 2).await;
    orders.unsubscribe().await;
    let (first, second) = (letter_of(&bus, "orders", 0).await, letter_of(&bus, "orders", 1).await);
    bus.give_back("orders", &[first.clone(), second.clone()]).await.unwrap();
    let dropped = bus.drop_letters("orders", std::slice::from_ref(&first)).await.unwrap();
    assert_eq!(dropped, [DroppedLetter::Dropped]);
    let again = bus.drop_letters("orders", std::slice::from_ref(&first)).await.unwrap();
    assert_eq!(again, [DroppedLetter::NotSetAside]);
    let mut orders = group(&bus, "g").start().await.unwrap();
    assert_eq!(take_acked(&mut orders, 1).await, [1]);
    assert!(stays_silent(&mut orders, Duration::from_secs(60)).await);
    let outcome = bus.letter_outcomes("orders", &[first]).await.unwrap();
    assert!(matches!(outcome[..], [LetterOutcome::Dropped { .. }]), "{outcome:?}");
}

#[tokio::test(start_paused = true)]
async fn a_cursor_that_is_moved_back_delivers_the_event_by_itself_first() {
    let bus = bus().await;
    publish_numbers(&bus, "orders", 0..2).await;
    let mut orders = group(&bus, "g").start().await.unwrap();
    fail_next(&mut orders).await;
    take_acked(&mut orders, 1).await;
    letters_come(&bus, 1).await;
    until(async || floor(&bus, "orders", "g").await == 2).await;
    let letter = letter_of(&bus, "orders", 0).await;
    bus.give_back("orders", std::slice::from_ref(&letter)).await.unwrap();
    bus.set_cursor("orders", 0, "g", Position::Earliest).await.unwrap();
    let mut seen = Vec::new();
    for _ in 0..3 {
        let delivery = next(&mut orders).await;
        seen.push(delivery.offset());
        soon(delivery.ack()).await.unwrap();
    }
    seen.sort_unstable();
    assert_eq!(seen, [0, 0, 1], "once for the cursor, once for the letter");
    assert!(stays_silent(&mut orders, Duration::from_secs(60)).await);
    until(async || floor(&bus, "orders", "g").await == 2).await;
}

#[tokio::test(start_paused = true)]
async fn letters_of_a_group_that_is_gone_and_events_that_are_no_letters_are_told_apart() {
    let bus = bus().await;
    publish_numbers(&bus, "orders", 0..1).await;
    let mut orders = group(&bus, "g").start().await.unwrap();
    fail_next(&mut orders).await;
    letters_come(&bus, 1).await;
    let letter = letter_of(&bus, "orders", 0).await;
    bus.delete_group("g").await.unwrap();
    assert_eq!(bus.give_back("orders", std::slice::from_ref(&letter)).await.unwrap(), [GivenBack::NoGroup]);
    let stranger = prom_engine::LetterRef { group: GroupName::parse("stranger").unwrap(), ..letter };
    assert_eq!(bus.give_back("orders", &[stranger]).await.unwrap(), [GivenBack::NoGroup]);
    let event = bus.read("orders", 0, 0, 1).await.unwrap().events.remove(0);
    assert!(prom_engine::LetterRef::of(&event).unwrap_err().to_string().contains("holds no dead letter"));
}

#[tokio::test(start_paused = true)]
async fn a_group_that_is_deleted_takes_what_was_given_back_with_it() {
    let bus = bus().await;
    publish_numbers(&bus, "orders", 0..1).await;
    let mut orders = group(&bus, "g").start().await.unwrap();
    fail_next(&mut orders).await;
    letters_come(&bus, 1).await;
    until(async || floor(&bus, "orders", "g").await == 1).await;
    orders.unsubscribe().await;
    let letter = letter_of(&bus, "orders", 0).await;
    bus.give_back("orders", &[letter]).await.unwrap();
    bus.delete_group("g").await.unwrap();
    let mut orders = bus.subscribe("orders", "g").start().await.unwrap();
    assert!(stays_silent(&mut orders, Duration::from_secs(60)).await);
    for collection in ["set_aside", "given_back"] {
        assert!(bus.store_document(collection).await.is_none(), "{collection}");
    }
}
