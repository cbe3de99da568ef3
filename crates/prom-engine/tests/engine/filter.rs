//! Filters: only what passes is delivered, the rest is settled, what cannot be judged is a dead letter.

use prom_engine::Position;
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
