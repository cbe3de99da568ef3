//! Filters: only what passes is delivered, the rest is settled, what cannot be judged is a dead letter.

use std::time::{Duration, Instant};

use prom_engine::dispatch::Limit;
use prom_engine::{Bus, PartitionWhy, Position};
use serde_json::{Value, json};

use crate::support::{bus, floor, publish_numbers, take_acked, until};

#[tokio::test]
async fn filtered_out_events_count_as_settled() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..10).await;
    let group = bus.subscribe("numbers", "g").from(Position::Earliest).filter(".payload % 3 == 0");
    let mut numbers = group.start().await.unwrap();
    assert_eq!(take_acked(&mut numbers, 4).await, [0, 3, 6, 9]);
    assert_eq!(floor(&bus, "numbers", "g").await, 10);
    publish_numbers(&bus, "numbers", 10..12).await;
    until(async || bus.lag("numbers", "g").await.unwrap().lag_events == 0).await;
}

#[tokio::test(start_paused = true)]
async fn an_event_the_filter_fails_on_goes_to_the_dead_letters() {
    let bus = bus().await;
    for payload in [json!(1), json!("text"), json!(3)] {
        bus.publish("mixed", payload).await.unwrap();
    }
    let group = bus.subscribe("mixed", "g").from(Position::Earliest).filter(".payload + 1 > 0");
    let mut mixed = group.start().await.unwrap();
    assert_eq!(take_acked(&mut mixed, 2).await, [1, 3]);
    until(async || floor(&bus, "mixed", "g").await == 3).await;
    let letters = bus.read("dlq.mixed", 0, 0, 10).await.unwrap().events;
    assert_eq!(letters.len(), 1);
    let letter: Value = letters[0].payload().unwrap();
    assert_eq!((&letter["original"]["payload"], &letter["attempts"]), (&json!("text"), &json!(0)));
    assert!(letter["err"].as_str().unwrap().contains("filter"), "{letter}");
}

/// Uses up the limits of a run on every event.
const BOMB: &str = "[range(100000000)]";

async fn why(bus: &Bus, topic: &str) -> PartitionWhy {
    bus.why(topic, "g").await.unwrap().partitions.remove(0)
}

async fn letters(bus: &Bus, topic: &str) -> usize {
    match bus.read(&format!("dlq.{topic}"), 0, 0, 1000).await {
        Ok(page) => page.events.len(),
        Err(_) => 0,
    }
}

#[tokio::test]
async fn a_filter_that_costs_too_much_stops_no_one_else() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..1000).await;
    let bomb = bus.subscribe("numbers", "g").from(Position::Earliest).filter(BOMB);
    let _bombs = bomb.start().await.unwrap();
    // This runtime has one thread: whatever is late here would be late in a hub.
    let mut worst = Duration::ZERO;
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(2) {
        let before = Instant::now();
        tokio::time::sleep(Duration::from_millis(1)).await;
        worst = worst.max(before.elapsed());
    }
    assert!(worst < Duration::from_secs(1), "a timer of 1 ms took {worst:?}");
    // Another group's filter gets its turn.
    let other = bus.subscribe("numbers", "other").from(Position::Earliest).filter(".payload % 100 == 0");
    assert_eq!(take_acked(&mut other.start().await.unwrap(), 10).await.len(), 10);
}

#[tokio::test]
async fn a_filter_that_keeps_failing_is_suspended_and_condemns_nothing_more() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..200).await;
    let wrong = bus.subscribe("numbers", "g").from(Position::Earliest).filter(".payload.total > 1");
    let _subscription = wrong.start().await.unwrap();
    until(async || why(&bus, "numbers").await.status.is_some_and(|status| status.limit == Some(Limit::Filter))).await;
    let told = why(&bus, "numbers").await;
    assert!(told.explanation.contains("suspended") && told.explanation.contains("cannot index"), "{told:?}");
    assert_eq!((told.floor, letters(&bus, "numbers").await), (0, 0));
    assert_eq!(bus.lag("numbers", "g").await.unwrap().lag_events, 200);
}

#[tokio::test(start_paused = true)]
async fn a_suspended_filter_is_tried_again_and_a_moved_cursor_helps() {
    let bus = bus().await;
    for payload in std::iter::repeat_n(json!("text"), 20).chain([json!(1), json!(2)]) {
        bus.publish("mixed", payload).await.unwrap();
    }
    let group = bus.subscribe("mixed", "g").from(Position::Earliest).filter(".payload + 1 > 0");
    let mut mixed = group.start().await.unwrap();
    let is_suspended = async || why(&bus, "mixed").await.explanation.contains("suspended");
    until(is_suspended).await;
    tokio::time::sleep(Duration::from_secs(300)).await;
    assert!(is_suspended().await, "it failed again");
    assert_eq!(letters(&bus, "mixed").await, 0);
    bus.set_cursor("mixed", 0, "g", Position::Offset(20)).await.unwrap();
    assert_eq!(take_acked(&mut mixed, 2).await, [1, 2]);
}

#[tokio::test(start_paused = true)]
async fn events_come_in_order_through_a_filter_whose_turns_end_early() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..300).await;
    // About a millisecond for each event: a batch takes several turns.
    let slow = "(reduce range(300) as $i (0; . + 1)) > 0 and .payload % 2 == 1";
    let group = bus.subscribe("numbers", "g").from(Position::Earliest).filter(slow);
    let odd: Vec<u64> = (0..300).filter(|number| number % 2 == 1).collect();
    assert_eq!(take_acked(&mut group.start().await.unwrap(), 150).await, odd);
    until(async || floor(&bus, "numbers", "g").await == 300).await;
}
