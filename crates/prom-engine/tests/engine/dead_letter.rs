//! Events at their limit go to the dead letters, once, with everything needed to try again.

use std::time::Duration;

use prom_engine::{BusOptions, Position, Retention, Subscription, TopicSettings};
use prom_types::EventId;
use serde_json::{Value, json};

use crate::support::{World, bus, floor, next, soon, stays_silent, until};

async fn fail(subscription: &mut Subscription, times: u32) {
    for attempt in 1..=times {
        let delivery = next(subscription).await;
        assert_eq!(delivery.attempt(), attempt);
        soon(delivery.nack("cannot be printed")).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_letter_holds_the_whole_event_and_why_it_failed() {
    let bus = bus().await;
    let receipt = bus.publish("orders", json!({"id": 7})).key("k").header("x-a", "b").await.unwrap();
    let mut orders = bus.subscribe("orders", "g").from(Position::Earliest).max_attempts(3).start().await.unwrap();
    fail(&mut orders, 3).await;
    until(async || bus.read("dlq.orders", 0, 0, 1).await.is_ok_and(|page| !page.events.is_empty())).await;
    let letters = bus.read("dlq.orders", 0, 0, 10).await.unwrap().events;
    assert_eq!(letters.len(), 1);
    assert_eq!(letters[0].key(), Some("k"));
    assert_eq!(letters[0].id(), EventId::derived("dlq:g:orders:0:0:0"));
    let letter: Value = letters[0].payload().unwrap();
    assert_eq!((&letter["topic"], &letter["group"]), (&json!("orders"), &json!("g")));
    assert_eq!((&letter["err"], &letter["attempts"]), (&json!("cannot be printed"), &json!(3)));
    assert!(letter["ts"].is_i64());
    let original: prom_types::Event = serde_json::from_value(letter["original"].clone()).unwrap();
    assert_eq!((original.id, original.offset, original.headers.get("x-a")), (receipt.id, 0, Some("b")));
    assert_eq!(original.payload.to::<Value>().unwrap(), json!({"id": 7}));
    assert_eq!(floor(&bus, "orders", "g").await, 1);
    assert!(stays_silent(&mut orders, Duration::from_secs(120)).await, "the group goes on without it");
}

#[tokio::test(start_paused = true)]
async fn an_event_that_has_the_id_of_an_earlier_one_gets_its_own_letter() {
    let bus = bus().await;
    let id = EventId::derived("a business key");
    let mut orders = bus.subscribe("orders", "g").from(Position::Earliest).max_attempts(1).start().await.unwrap();
    for (offset, payload) in [(0, "first"), (1, "second")] {
        let receipt = bus.publish("orders", json!(payload)).id(id).await.unwrap();
        assert_eq!(receipt.offset, offset, "after ten minutes it is another event");
        fail(&mut orders, 1).await;
        until(async || floor(&bus, "orders", "g").await == offset + 1).await;
        tokio::time::sleep(Duration::from_secs(11 * 60)).await;
    }
    let letters = bus.read("dlq.orders", 0, 0, 10).await.unwrap().events;
    let payload = |letter: &prom_engine::StoredEvent| letter.payload::<Value>().unwrap()["original"]["payload"].clone();
    assert_eq!(letters.iter().map(payload).collect::<Vec<_>>(), [json!("first"), json!("second")]);
}

#[tokio::test(start_paused = true)]
async fn letters_have_no_letters() {
    let bus = bus().await;
    bus.publish("orders", json!(1)).await.unwrap();
    let mut orders = bus.subscribe("orders", "g").from(Position::Earliest).max_attempts(1).start().await.unwrap();
    let mut letters = bus.subscribe("dlq.orders", "readers").max_attempts(2).start().await.unwrap();
    fail(&mut orders, 1).await;
    fail(&mut letters, 12).await;
    let still_there = next(&mut letters).await;
    assert_eq!(still_there.attempt(), 13);
    let topics: Vec<_> = bus.topics().await.unwrap().into_iter().map(|topic| topic.settings.name.to_string()).collect();
    assert_eq!(topics, ["dlq.orders", "orders"]);
    soon(still_there.ack()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_limit_is_the_topics_where_the_group_says_nothing() {
    let bus = bus().await;
    bus.create_topic(TopicSettings::new("orders").unwrap().max_attempts(2)).await.unwrap();
    bus.publish("orders", json!(1)).await.unwrap();
    let mut orders = bus.subscribe("orders", "g").from(Position::Earliest).start().await.unwrap();
    fail(&mut orders, 2).await;
    until(async || floor(&bus, "orders", "g").await == 1).await;
    assert_eq!(bus.read("dlq.orders", 0, 0, 10).await.unwrap().events.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_event_that_ends_its_holder_again_and_again_is_poison() {
    let world = World::new();
    let bus = world.bus().await;
    bus.publish("orders", json!(1)).await.unwrap();
    let group = bus.subscribe("orders", "g").from(Position::Earliest).max_attempts(1);
    for _ in 0..4 {
        let mut orders = group.clone().start().await.unwrap();
        assert_eq!(next(&mut orders).await.attempt(), 1);
        orders.unsubscribe().await;
    }
    let mut orders = group.start().await.unwrap();
    until(async || floor(&bus, "orders", "g").await == 1).await;
    assert!(stays_silent(&mut orders, Duration::from_secs(60)).await);
    let letter: Value = bus.read("dlq.orders", 0, 0, 1).await.unwrap().events[0].payload().unwrap();
    assert_eq!(letter["attempts"], 0);
}

#[tokio::test(start_paused = true)]
async fn with_order_by_key_the_next_event_of_the_key_follows_a_letter() {
    let bus = bus().await;
    for number in 0..2 {
        bus.publish("orders", json!(number)).key("k").await.unwrap();
    }
    let group = bus.subscribe("orders", "g").from(Position::Earliest).order(prom_engine::Order::Key).max_attempts(1);
    let mut orders = group.start().await.unwrap();
    fail(&mut orders, 1).await;
    let second = next(&mut orders).await;
    assert_eq!(second.payload::<u64>().unwrap(), 1);
    assert_eq!(bus.read("dlq.orders", 0, 0, 10).await.unwrap().events.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn letters_stay_for_thirty_days_unless_set_otherwise() {
    let keeps = async |change: fn(&mut BusOptions)| {
        let bus = World::new().bus_with(change).await;
        bus.publish("orders", json!("text")).await.unwrap();
        let group = bus.subscribe("orders", "g").from(Position::Earliest).filter(".payload + 1 > 0");
        let _subscription = group.start().await.unwrap();
        until(async || bus.topic("dlq.orders").await.is_ok()).await;
        bus.topic("dlq.orders").await.unwrap().settings.retention
    };
    let month_ms = 30 * 24 * 60 * 60 * 1000;
    assert_eq!(keeps(|_| {}).await, Retention { age_ms: Some(month_ms), size_bytes: None });
    const SMALL: Retention = Retention { age_ms: None, size_bytes: Some(1000) };
    assert_eq!(keeps(|bus| bus.letter_retention = SMALL).await, SMALL);
}
