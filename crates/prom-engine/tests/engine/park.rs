//! Parking: a key that fails stops, the others flow, and giving back hands it out in order until it is empty.

use std::collections::BTreeSet;
use std::time::Duration;

use prom_engine::{
    Bus, DroppedLetter, GivenBack, GroupChange, LetterOutcome, Mode, Order, Position, Subscribe, Subscription,
};
use serde_json::{Value, json};

use crate::support::{World, bus, floor, letter_of, letters, next, soon, stays_silent, until};

fn parking(bus: &Bus) -> Subscribe<'_> {
    bus.subscribe("orders", "g").from(Position::Earliest).order(Order::Key).park().max_attempts(1)
}

/// Publishes events with these keys; the payload is the place in the list.
async fn publish_keys(bus: &Bus, keys: &[&str]) {
    for (number, key) in keys.iter().enumerate() {
        bus.publish("orders", json!(number)).key(*key).await.unwrap();
    }
}

async fn fail_at(subscription: &mut Subscription, offset: u64) {
    let delivery = next(subscription).await;
    assert_eq!(delivery.offset(), offset);
    soon(delivery.nack("no")).await.unwrap();
}

async fn ack_at(subscription: &mut Subscription, offset: u64) {
    let delivery = next(subscription).await;
    assert_eq!(delivery.offset(), offset);
    soon(delivery.ack()).await.unwrap();
}

async fn letters_come(bus: &Bus, count: usize) {
    until(async || letters(bus, "orders").await.len() == count).await;
}

async fn parked(bus: &Bus) -> Vec<(String, Option<u64>, u64, bool)> {
    let page = bus.parked_keys("orders", "g", None, 100).await.unwrap();
    assert_eq!(page.next, None);
    page.keys.into_iter().map(|one| (one.key, one.first, one.letters, one.waiting)).collect()
}

#[tokio::test(start_paused = true)]
async fn one_poison_event_stops_its_key_and_the_rest_flows_to_the_end() {
    const EVENTS: u64 = 10_000;
    let bus = bus().await;
    let keys: Vec<String> = (0..EVENTS).map(|number| format!("key-{}", number % 100)).collect();
    publish_keys(&bus, &keys.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let mut orders = parking(&bus).start().await.unwrap();
    let poison = EVENTS / 2 + 7;
    let mut acked = 0;
    while acked < EVENTS - 50 {
        let delivery = next(&mut orders).await;
        if delivery.offset() == poison {
            let id = delivery.id();
            soon(delivery.nack("poison")).await.unwrap();
            assert_eq!(id, bus.read("orders", 0, poison, 1).await.unwrap().events[0].id());
            continue;
        }
        assert!(delivery.offset() % 100 != 7 || delivery.offset() < poison, "{} is behind it", delivery.offset());
        acked += 1;
        soon(delivery.ack()).await.unwrap();
    }
    until(async || floor(&bus, "orders", "g").await == EVENTS).await;
    assert_eq!(bus.lag("orders", "g").await.unwrap().lag_events, 0);
    let all = letters(&bus, "orders").await;
    let offsets: Vec<u64> = all.iter().map(|letter| letter.offset).collect();
    assert_eq!(offsets, (poison..EVENTS).step_by(100).collect::<Vec<_>>(), "one letter each, in order");
    let payloads: Vec<Value> = {
        let events = bus.read("dlq.orders", 0, 0, 100).await.unwrap().events;
        events.iter().map(|event| event.payload().unwrap()).collect()
    };
    assert_eq!((&payloads[0]["err"], &payloads[0]["attempts"]), (&json!("poison"), &json!(1)));
    let behind = format!("parked behind {}", all[0].event);
    assert!(payloads[1..].iter().all(|letter| letter["err"] == behind && letter["attempts"] == 0));
    assert_eq!(parked(&bus).await, [("key-7".to_owned(), Some(poison), 50, false)]);
    let why = bus.why("orders", "g").await.unwrap().partitions.remove(0);
    assert!(why.explanation.contains("everything is settled; 1 key is parked"), "{}", why.explanation);

    let outcomes = bus.letter_outcomes("orders", &all).await.unwrap();
    assert!(outcomes.iter().all(|outcome| *outcome == LetterOutcome::Parked), "{outcomes:?}");

    assert!(bus.give_back("orders", &all).await.unwrap().iter().all(|one| *one == GivenBack::Given { time: 1 }));
    bus.publish("orders", json!("later")).key("key-7").await.unwrap();
    for offset in (poison..EVENTS).step_by(100).chain([EVENTS]) {
        ack_at(&mut orders, offset).await;
    }
    until(async || parked(&bus).await.is_empty()).await;
    assert_eq!(floor(&bus, "orders", "g").await, EVENTS + 1);
    let outcomes = bus.letter_outcomes("orders", &all).await.unwrap();
    assert!(outcomes.iter().all(|outcome| matches!(outcome, LetterOutcome::Acked { time: 1, .. })), "{outcomes:?}");
}

#[tokio::test(start_paused = true)]
async fn a_given_event_that_fails_again_stays_first_and_the_rest_waits() {
    let bus = bus().await;
    publish_keys(&bus, &["a", "a", "b", "a"]).await;
    let mut orders = parking(&bus).start().await.unwrap();
    fail_at(&mut orders, 0).await;
    ack_at(&mut orders, 2).await;
    letters_come(&bus, 3).await;
    let all = letters(&bus, "orders").await;
    bus.give_back("orders", &all).await.unwrap();
    fail_at(&mut orders, 0).await;
    letters_come(&bus, 4).await;
    assert!(stays_silent(&mut orders, Duration::from_secs(60)).await, "the rest waits");
    assert_eq!(parked(&bus).await, [("a".to_owned(), Some(0), 3, false)]);
    let again = letter_of(&bus, "orders", 0).await;
    assert_eq!(again.given_back, 1);
    assert_eq!(bus.give_back("orders", &[again]).await.unwrap(), [GivenBack::Given { time: 2 }]);
    for offset in [0, 1, 3] {
        ack_at(&mut orders, offset).await;
    }
    until(async || parked(&bus).await.is_empty()).await;
    publish_keys(&bus, &["a"]).await;
    ack_at(&mut orders, 4).await;
    assert_eq!(letters(&bus, "orders").await.len(), 4, "the key is as any other again");
}

#[tokio::test(start_paused = true)]
async fn letters_of_a_key_are_handed_out_by_offset_in_whatever_order_they_are_given_back() {
    let bus = bus().await;
    publish_keys(&bus, &["a", "a", "a"]).await;
    let mut orders = parking(&bus).start().await.unwrap();
    fail_at(&mut orders, 0).await;
    letters_come(&bus, 3).await;
    bus.give_back("orders", &[letter_of(&bus, "orders", 2).await]).await.unwrap();
    assert!(stays_silent(&mut orders, Duration::from_secs(60)).await, "two are before it");
    bus.give_back("orders", &[letter_of(&bus, "orders", 0).await]).await.unwrap();
    ack_at(&mut orders, 0).await;
    assert!(stays_silent(&mut orders, Duration::from_secs(60)).await, "one is before it");
    let dropped = bus.drop_letters("orders", &[letter_of(&bus, "orders", 1).await]).await.unwrap();
    assert_eq!(dropped, [DroppedLetter::Dropped]);
    ack_at(&mut orders, 2).await;
    until(async || parked(&bus).await.is_empty()).await;
}

#[tokio::test(start_paused = true)]
async fn what_comes_while_a_key_is_given_back_goes_on_behind_it() {
    let bus = bus().await;
    publish_keys(&bus, &["a", "a"]).await;
    let mut orders = parking(&bus).start().await.unwrap();
    fail_at(&mut orders, 0).await;
    letters_come(&bus, 2).await;
    bus.give_back("orders", &letters(&bus, "orders").await).await.unwrap();
    let first = next(&mut orders).await;
    publish_keys(&bus, &["a", "b"]).await;
    ack_at(&mut orders, 3).await;
    letters_come(&bus, 3).await;
    soon(first.ack()).await.unwrap();
    ack_at(&mut orders, 1).await;
    ack_at(&mut orders, 2).await;
    until(async || parked(&bus).await.is_empty()).await;
    let last = letter_of(&bus, "orders", 2).await;
    let outcome = bus.letter_outcomes("orders", &[last]).await.unwrap();
    assert!(matches!(outcome[..], [LetterOutcome::Acked { .. }]), "{outcome:?}");
}

#[tokio::test(start_paused = true)]
async fn what_is_parked_survives_a_restart_and_goes_on_where_it_was() {
    let world = World::new();
    let bus = world.bus().await;
    publish_keys(&bus, &["a", "a", "b"]).await;
    let mut orders = parking(&bus).start().await.unwrap();
    fail_at(&mut orders, 0).await;
    ack_at(&mut orders, 2).await;
    letters_come(&bus, 2).await;
    until(async || floor(&bus, "orders", "g").await == 3).await;
    drop((orders, bus));

    let bus = world.bus().await;
    publish_keys(&bus, &["a", "b"]).await;
    let mut orders = parking(&bus).start().await.unwrap();
    ack_at(&mut orders, 4).await;
    letters_come(&bus, 3).await;
    let mut all = letters(&bus, "orders").await;
    all.reverse();
    bus.give_back("orders", &all).await.unwrap();
    let first = next(&mut orders).await;
    assert_eq!(first.offset(), 0);
    drop((first, orders, bus));
    let bus = world.bus().await;
    let mut orders = parking(&bus).start().await.unwrap();
    for offset in [0, 1, 3] {
        ack_at(&mut orders, offset).await;
    }
    until(async || parked(&bus).await.is_empty()).await;
    until(async || bus.documents("set_aside", None, 1).await.unwrap().is_empty()).await;
    assert!(bus.documents("parked_letters", None, 1).await.unwrap().is_empty());
    assert_eq!(letters(&bus, "orders").await.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn letters_of_parked_keys_are_kept_beyond_their_retention() {
    let bus = bus().await;
    publish_keys(&bus, &["old"]).await;
    let mut others = bus.subscribe("orders", "others").from(Position::Earliest).max_attempts(1).start().await.unwrap();
    soon(next(&mut others).await.nack("no")).await.unwrap();
    letters_come(&bus, 1).await;
    publish_keys(&bus, &["a", "a"]).await;
    let mut orders = parking(&bus).start().await.unwrap();
    ack_at(&mut orders, 0).await;
    fail_at(&mut orders, 1).await;
    letters_come(&bus, 3).await;
    until(async || floor(&bus, "orders", "g").await == 3).await;
    orders.unsubscribe().await;
    others.unsubscribe().await;
    tokio::time::sleep(Duration::from_secs(31 * 24 * 60 * 60)).await;
    bus.retain_now().await.unwrap();
    let kept: Vec<u64> = letters(&bus, "orders").await.iter().map(|letter| letter.offset).collect();
    assert_eq!(kept, [1, 2], "the others' letter is gone");
    let dropped = bus.drop_letters("orders", &letters(&bus, "orders").await).await.unwrap();
    assert_eq!(dropped, [DroppedLetter::Dropped; 2]);
    until(async || parked(&bus).await.is_empty()).await;
    bus.retain_now().await.unwrap();
    assert!(letters(&bus, "orders").await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn parking_needs_the_order_of_keys() {
    let bus = bus().await;
    let refused = bus.subscribe("orders", "g").park().start().await.err().unwrap().to_string();
    assert!(refused.contains("park cannot be true") && refused.contains("`order: key`"), "{refused}");
    let group = bus.subscribe("orders", "g").mode(Mode::Partitioned).park();
    let member = group.start().await.unwrap();
    let options = bus.groups().await.unwrap().remove(0).subscriptions.remove(0).options;
    assert_eq!((options.park, options.order), (true, Order::Key), "a partitioned group keeps it by itself");
    drop(member);

    let plain = bus.subscribe("orders", "plain").start().await.unwrap();
    let change = GroupChange { park: Some(true), ..GroupChange::default() };
    let refused = bus.change_group("orders", "plain", change).await.unwrap_err().to_string();
    assert!(refused.contains("park of group plain cannot be changed"), "{refused}");
    drop(plain);
}

#[tokio::test(start_paused = true)]
async fn a_live_group_begins_to_park_and_ends_it() {
    let bus = bus().await;
    publish_keys(&bus, &["a", "a", "b", "b"]).await;
    let group = bus.subscribe("orders", "g").from(Position::Earliest).order(Order::Key).max_attempts(1);
    let mut orders = group.max_in_flight(1).start().await.unwrap();
    let first = next(&mut orders).await;
    bus.change_group("orders", "g", GroupChange { park: Some(true), ..GroupChange::default() }).await.unwrap();
    soon(first.nack("no")).await.unwrap();
    let second = next(&mut orders).await;
    assert_eq!(second.offset(), 2);
    letters_come(&bus, 2).await;
    bus.change_group("orders", "g", GroupChange { park: Some(false), ..GroupChange::default() }).await.unwrap();
    soon(second.nack("no")).await.unwrap();
    ack_at(&mut orders, 3).await;
    let keys: BTreeSet<String> = parked(&bus).await.into_iter().map(|(key, ..)| key).collect();
    assert_eq!(keys, BTreeSet::from(["a".to_owned()]), "what is parked stays so");
}

#[tokio::test(start_paused = true)]
async fn a_cursor_that_is_moved_back_leaves_parked_keys_parked_and_writes_no_letter_twice() {
    let bus = bus().await;
    publish_keys(&bus, &["a", "a", "b"]).await;
    let mut orders = parking(&bus).start().await.unwrap();
    fail_at(&mut orders, 0).await;
    ack_at(&mut orders, 2).await;
    letters_come(&bus, 2).await;
    until(async || floor(&bus, "orders", "g").await == 3).await;
    bus.give_back("orders", &[letter_of(&bus, "orders", 1).await]).await.unwrap();
    bus.set_cursor("orders", 0, "g", Position::Earliest).await.unwrap();
    ack_at(&mut orders, 2).await;
    until(async || floor(&bus, "orders", "g").await == 3).await;
    assert_eq!(letters(&bus, "orders").await.len(), 2);
    assert_eq!(parked(&bus).await, [("a".to_owned(), Some(0), 2, false)]);
    bus.give_back("orders", &[letter_of(&bus, "orders", 0).await]).await.unwrap();
    ack_at(&mut orders, 0).await;
    ack_at(&mut orders, 1).await;
    until(async || parked(&bus).await.is_empty()).await;
}

#[tokio::test(start_paused = true)]
async fn an_event_without_a_key_goes_to_the_letters_and_parks_nothing() {
    let bus = bus().await;
    bus.publish("orders", json!(0)).await.unwrap();
    bus.publish("orders", json!(1)).await.unwrap();
    let mut orders = parking(&bus).start().await.unwrap();
    fail_at(&mut orders, 0).await;
    ack_at(&mut orders, 1).await;
    letters_come(&bus, 1).await;
    assert!(parked(&bus).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_event_that_the_filter_fails_on_parks_its_key_too() {
    let bus = bus().await;
    bus.publish("orders", json!("text")).key("a").await.unwrap();
    bus.publish("orders", json!(1)).key("a").await.unwrap();
    bus.publish("orders", json!(1)).key("b").await.unwrap();
    let mut orders = parking(&bus).filter(".payload + 1 > 0").start().await.unwrap();
    ack_at(&mut orders, 2).await;
    letters_come(&bus, 2).await;
    assert_eq!(parked(&bus).await, [("a".to_owned(), Some(0), 2, false)]);
}

#[tokio::test(start_paused = true)]
async fn with_owners_of_partitions_a_given_event_goes_to_the_owner_of_its_key() {
    let bus = bus().await;
    let group = || {
        let group = bus.subscribe("orders", "g").from(Position::Earliest).partitions(8).park();
        group.max_attempts(1).backoff(Duration::from_millis(1), Duration::from_millis(1))
    };
    let mut members =
        [group().member_id("one").start().await.unwrap(), group().member_id("two").start().await.unwrap()];
    publish_keys(&bus, &["a", "b", "c", "d", "a", "b", "c", "d"]).await;
    let mut owners = [0; 4];
    let mut seen = 0;
    while seen < 4 {
        for (number, member) in members.iter_mut().enumerate() {
            while let Ok(Some(delivery)) = tokio::time::timeout(Duration::from_secs(1), member.next()).await {
                owners[delivery.offset() as usize] = number;
                soon(delivery.nack("no")).await.unwrap();
                seen += 1;
            }
        }
    }
    letters_come(&bus, 8).await;
    assert_eq!(parked(&bus).await.len(), 4);
    bus.give_back("orders", &letters(&bus, "orders").await).await.unwrap();
    let mut given = [Vec::new(), Vec::new(), Vec::new(), Vec::new()];
    for (number, member) in members.iter_mut().enumerate() {
        while let Ok(Some(delivery)) = tokio::time::timeout(Duration::from_secs(5), member.next()).await {
            let key = delivery.offset() as usize % 4;
            assert_eq!(owners[key], number, "offset {}", delivery.offset());
            given[key].push(delivery.offset());
            soon(delivery.ack()).await.unwrap();
        }
    }
    assert_eq!(given, [[0, 4], [1, 5], [2, 6], [3, 7]]);
}
