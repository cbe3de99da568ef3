//! Subscribing: sharing, windows, patterns and topics that come later, pausing, leaving.

use std::collections::HashSet;
use std::time::Duration;

use prom_engine::{Error, Position, TopicSettings, ack_all};
use serde_json::json;

use crate::support::{World, bus, floor, next, publish_numbers, soon, stays_silent, take_acked, until};

const SHORT: Duration = Duration::from_millis(100);

#[tokio::test]
async fn an_append_wakes_a_waiting_subscriber() {
    let bus = bus().await;
    let mut numbers = bus.subscribe("numbers", "g").start().await.unwrap();
    let publisher = bus.clone();
    tokio::spawn(async move { publish_numbers(&publisher, "numbers", 0..3).await });
    assert_eq!(take_acked(&mut numbers, 3).await, [0, 1, 2]);
}

#[tokio::test]
async fn latest_begins_after_what_is_there_and_earliest_at_the_beginning() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..5).await;
    let mut late = bus.subscribe("numbers", "late").start().await.unwrap();
    let mut early = bus.subscribe("numbers", "early").from(Position::Earliest).start().await.unwrap();
    publish_numbers(&bus, "numbers", 5..6).await;
    assert_eq!(take_acked(&mut late, 1).await, [5]);
    assert_eq!(take_acked(&mut early, 6).await, [0, 1, 2, 3, 4, 5]);
}

#[tokio::test(start_paused = true)]
async fn a_group_can_begin_at_a_time_at_an_offset_and_after_an_event() {
    let world = World::new();
    let bus = world.bus().await;
    publish_numbers(&bus, "numbers", 0..3).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let third = bus.publish("numbers", json!(3)).await.unwrap();
    publish_numbers(&bus, "numbers", 4..5).await;

    let at_time = bus.subscribe("numbers", "t").from(Position::StoredAt(third.stored_ts));
    assert_eq!(take_acked(&mut at_time.start().await.unwrap(), 2).await, [3, 4]);
    let at_offset = bus.subscribe("numbers", "o").from(Position::Offset(4));
    assert_eq!(take_acked(&mut at_offset.start().await.unwrap(), 1).await, [4]);
    let after = bus.subscribe("numbers", "i").from(Position::AfterId(third.id));
    assert_eq!(take_acked(&mut after.start().await.unwrap(), 1).await, [4]);

    let beyond = bus.subscribe("numbers", "b").from(Position::Offset(6)).start().await;
    assert!(matches!(beyond.err(), Some(Error::CursorBeyondEnd { asked: 6, next: 5, .. })));
    let unknown =
        bus.subscribe("numbers", "u").from(Position::AfterId(prom_types::EventId::derived("?"))).start().await;
    assert!(matches!(unknown.err(), Some(Error::UnknownEvent { .. })));
    let groups: Vec<_> = bus.groups().await.unwrap().into_iter().map(|group| group.name.to_string()).collect();
    assert_eq!(groups, ["i", "o", "t"], "a refused subscriber makes no group");
}

#[tokio::test]
async fn two_subscribers_share_a_group_without_duplicates() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..1000).await;
    let shared = bus.subscribe("numbers", "g").from(Position::Earliest).max_in_flight(10);
    let (mut one, mut other) = (shared.clone().start().await.unwrap(), shared.start().await.unwrap());
    let mut seen = HashSet::new();
    let mut counts = [0, 0];
    while seen.len() < 1000 {
        let (batch, who) = tokio::select! {
            batch = one.next_batch() => (batch, 0),
            batch = other.next_batch() => (batch, 1),
        };
        counts[who] += batch.len();
        for delivery in &batch {
            assert!(seen.insert(delivery.payload::<u64>().unwrap()), "{delivery:?} came twice");
        }
        ack_all(batch).await.unwrap();
    }
    assert!(counts[0] > 0 && counts[1] > 0, "{counts:?}");
    assert_eq!(floor(&bus, "numbers", "g").await, 1000);
}

#[tokio::test(start_paused = true)]
async fn the_window_is_respected_over_all_topics_and_partitions() {
    let bus = bus().await;
    bus.create_topic(TopicSettings::new("w.a").unwrap().partitions(3)).await.unwrap();
    for number in 0..30 {
        bus.publish("w.a", json!(number)).await.unwrap();
        bus.publish("w.b", json!(number)).await.unwrap();
        bus.publish("w.c", json!(number)).await.unwrap();
    }
    let mut all = bus.subscribe("w.*", "g").from(Position::Earliest).max_in_flight(7).start().await.unwrap();
    let mut held = Vec::new();
    for _ in 0..7 {
        held.push(next(&mut all).await);
    }
    assert!(stays_silent(&mut all, SHORT).await, "an eighth event was handed out");
    let mut done = 0;
    while done < 90 {
        let oldest: prom_engine::Delivery = held.remove(0);
        soon(oldest.ack()).await.unwrap();
        done += 1;
        if done + held.len() < 90 {
            held.push(next(&mut all).await);
        }
    }
    assert_eq!(bus.lag("w.a", "g").await.unwrap().lag_events, 0);
    assert_eq!(bus.lag("w.c", "g").await.unwrap().lag_events, 0);
}

#[tokio::test]
async fn a_busy_topic_does_not_starve_the_others_of_a_subscriber() {
    let bus = bus().await;
    publish_numbers(&bus, "busy", 0..2000).await;
    publish_numbers(&bus, "calm", 0..5).await;
    let both = bus.subscribe("busy", "g").topics(["calm"]).from(Position::Earliest).max_in_flight(4).batch_size(4);
    let mut both = both.start().await.unwrap();
    let mut calm = 0;
    let mut before = 0;
    while calm < 5 {
        let delivery = next(&mut both).await;
        calm += u32::from(delivery.topic().as_str() == "calm");
        before += 1;
        delivery.ack().await.unwrap();
    }
    assert!(before < 200, "the calm topic was served only after {before} events");
}

#[tokio::test]
async fn a_pattern_picks_up_later_topics_from_their_beginning() {
    let bus = bus().await;
    publish_numbers(&bus, "orders.old", 0..3).await;
    let mut orders = bus.subscribe("orders.*", "g").start().await.unwrap();
    publish_numbers(&bus, "orders.new", 10..13).await;
    publish_numbers(&bus, "other.new", 20..21).await;
    assert_eq!(take_acked(&mut orders, 3).await, [10, 11, 12]);
    orders.unsubscribe().await;

    // Also topics that came while there was no subscriber.
    publish_numbers(&bus, "orders.newer", 30..32).await;
    let mut orders = bus.subscribe("orders.*", "g").start().await.unwrap();
    assert_eq!(take_acked(&mut orders, 2).await, [30, 31]);
}

#[tokio::test]
async fn a_plain_topic_may_be_subscribed_to_before_it_exists() {
    let bus = bus().await;
    let mut soon_there = bus.subscribe("soon.there", "g").start().await.unwrap();
    publish_numbers(&bus, "soon.there", 0..2).await;
    assert_eq!(take_acked(&mut soon_there, 2).await, [0, 1]);
}

#[tokio::test]
async fn partitions_added_later_are_delivered_too() {
    let bus = bus().await;
    bus.create_topic(TopicSettings::new("p").unwrap()).await.unwrap();
    let mut events = bus.subscribe("p", "g").start().await.unwrap();
    bus.create_topic(TopicSettings::new("p").unwrap().partitions(4)).await.unwrap();
    bus.publish("p", json!(7)).partition(3).await.unwrap();
    assert_eq!(take_acked(&mut events, 1).await, [7]);
}

#[tokio::test(start_paused = true)]
async fn pausing_stops_new_leases_and_resuming_goes_on() {
    let bus = bus().await;
    let mut numbers = bus.subscribe("numbers", "g").start().await.unwrap();
    publish_numbers(&bus, "numbers", 0..1).await;
    let held = next(&mut numbers).await;
    numbers.pause().await;
    publish_numbers(&bus, "numbers", 1..2).await;
    assert!(stays_silent(&mut numbers, SHORT).await);
    soon(held.ack()).await.unwrap();
    numbers.resume().await;
    assert_eq!(take_acked(&mut numbers, 1).await, [1]);
}

#[tokio::test]
async fn leaving_gives_leases_back_at_once_without_counting_an_attempt() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..3).await;
    let group = bus.subscribe("numbers", "g").from(Position::Earliest);
    let mut first = group.clone().start().await.unwrap();
    let held = next(&mut first).await;
    first.unsubscribe().await;
    let mut second = group.clone().start().await.unwrap();
    let again = next(&mut second).await;
    assert_eq!((again.offset(), again.attempt()), (0, 1));
    assert!(matches!(soon(held.ack()).await, Err(Error::NotLeased { .. })));
    drop(second);
    let mut third = group.start().await.unwrap();
    assert_eq!(take_acked(&mut third, 3).await, [0, 1, 2]);
    assert!(soon(held.ack()).await.is_ok(), "settled already is fine");
}

#[tokio::test]
async fn events_that_never_reached_a_handler_do_not_become_poison_by_being_given_back() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..3).await;
    let group = bus.subscribe("numbers", "g").from(Position::Earliest).max_attempts(1);
    for _ in 0..20 {
        let brief = group.clone().start().await.unwrap();
        until(async || bus.lag("numbers", "g").await.unwrap().in_flight == 3).await;
        brief.unsubscribe().await;
    }
    let mut last = group.start().await.unwrap();
    assert_eq!(take_acked(&mut last, 3).await, [0, 1, 2]);
}

#[tokio::test]
async fn options_out_of_range_are_refused() {
    let bus = bus().await;
    let wishes = [
        bus.subscribe("a", "g").max_in_flight(0),
        bus.subscribe("a", "g").batch_size(0),
        bus.subscribe("a", "g").ack_timeout(Duration::ZERO),
        bus.subscribe("a", "g").max_attempts(0),
        bus.subscribe("a", "g").backoff(Duration::from_secs(2), Duration::from_secs(1)),
        bus.subscribe("a", "g").filter(".payload |"),
        bus.subscribe("a", "not a group"),
        bus.subscribe("A b", "g"),
    ];
    for wish in wishes {
        let error = wish.start().await.err().expect("refused");
        assert_eq!(error.kind(), prom_engine::ErrorKind::BadRequest, "{error}");
    }
    assert!(bus.groups().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_subscription_names_a_hundred_topics_at_most() {
    let bus = bus().await;
    let named = |count: usize| (1..count).map(|number| format!("a.{number}"));
    let told = match bus.subscribe("a.0", "g").topics(named(101)).start().await {
        Err(told @ Error::BadOption { option: "topics", .. }) => told.to_string(),
        other => panic!("{:?}", other.map(drop)),
    };
    assert!(told.contains("101") && told.contains("100"), "{told}");
    assert!(bus.groups().await.unwrap().is_empty(), "nothing was changed");
    bus.subscribe("a.0", "g").topics(named(100)).start().await.unwrap();
}

#[tokio::test]
async fn a_group_subscribes_to_a_thousand_topics_and_patterns_at_most() {
    let bus = bus().await;
    let block = |block: usize| (0..100).map(move |number| format!("b{block}.{number}.*"));
    for number in 0..10 {
        let mut topics = block(number);
        let first = topics.next().unwrap();
        bus.subscribe(&first, "g").topics(topics).start().await.unwrap();
    }
    let told = match bus.subscribe("one.more", "g").start().await {
        Err(told @ Error::BadOption { option: "topics", .. }) => told.to_string(),
        other => panic!("{:?}", other.map(drop)),
    };
    assert!(told.contains("1001") && told.contains("1000"), "{told}");
    let mut topics = block(3);
    let first = topics.next().unwrap();
    bus.subscribe(&first, "g").topics(topics).start().await.expect("it is known already");
    bus.subscribe("one.more", "another").start().await.expect("other groups are not concerned");
}
