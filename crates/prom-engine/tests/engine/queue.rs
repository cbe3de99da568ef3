//! What waits in a subscription to be taken: it costs no attempt, and no subscriber is kept from it forever.

use std::time::Duration;

use prom_engine::{Bus, Delivery, Position, Subscription};
use serde_json::json;

use crate::support::{bus, floor, next, publish_numbers, soon, stays_silent, take_acked, until};

const TIMEOUT: Duration = Duration::from_secs(30);

async fn subscribe(bus: &Bus) -> Subscription {
    let group = bus.subscribe("numbers", "g").from(Position::Earliest).max_attempts(1);
    group.ack_timeout(TIMEOUT).start().await.unwrap()
}

async fn has_letters(bus: &Bus) -> bool {
    let topics = bus.topics().await.unwrap();
    topics.iter().any(|topic| topic.settings.name.as_str() == "dlq.numbers")
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_gets_every_event_once_in_order_and_none_counts_as_failed() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..1500).await;
    let mut numbers = subscribe(&bus).await;
    for expected in 0..200 {
        let delivery = next(&mut numbers).await;
        assert_eq!((delivery.offset(), delivery.attempt()), (expected, 1));
        tokio::time::sleep(Duration::from_secs(1)).await;
        soon(delivery.ack()).await.unwrap();
    }
    assert_eq!(floor(&bus, "numbers", "g").await, 200);
    assert!(!has_letters(&bus).await);
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_of_batches_loses_no_attempt_either() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..1000).await;
    let mut numbers = subscribe(&bus).await;
    for _ in 0..10 {
        let batch = soon(numbers.next_batch()).await;
        assert!(batch.iter().all(|delivery| delivery.attempt() == 1));
        tokio::time::sleep(TIMEOUT / 2).await;
        soon(numbers.ack_all(batch)).await.unwrap();
    }
    assert_eq!(floor(&bus, "numbers", "g").await, 1000);
}

#[tokio::test(start_paused = true)]
async fn a_slow_handler_loses_no_attempt_either() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..100).await;
    let runner = bus.clone();
    tokio::spawn(async move {
        let slow = |delivery: Delivery| async move {
            tokio::time::sleep(TIMEOUT * 3 / 2).await;
            match delivery.attempt() {
                1 => Ok(()),
                again => Err(format!("attempt {again}")),
            }
        };
        let group = runner.subscribe("numbers", "g").from(Position::Earliest).max_attempts(1);
        group.ack_timeout(TIMEOUT).run(slow).await
    });
    tokio::time::sleep(TIMEOUT * 10).await;
    until(async || floor(&bus, "numbers", "g").await >= 9).await;
    assert!(!has_letters(&bus).await);
}

#[tokio::test(start_paused = true)]
async fn the_time_to_settle_begins_when_a_delivery_is_taken() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..3).await;
    let mut numbers = subscribe(&bus).await;
    next(&mut numbers).await.ack().await.unwrap();
    tokio::time::sleep(TIMEOUT - Duration::from_secs(1)).await;
    let late = next(&mut numbers).await;
    assert_eq!((late.offset(), late.ack_deadline()), (1, TIMEOUT));
    tokio::time::sleep(TIMEOUT - Duration::from_secs(1)).await;
    soon(late.ack()).await.unwrap();
    assert!(!has_letters(&bus).await, "it was settled by the ack and nothing else");
}

#[tokio::test(start_paused = true)]
async fn what_was_taken_and_not_settled_in_time_is_a_failed_attempt() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..2).await;
    let group = bus.subscribe("numbers", "g").from(Position::Earliest);
    let mut numbers = group.ack_timeout(TIMEOUT).start().await.unwrap();
    next(&mut numbers).await.ack().await.unwrap();
    tokio::time::sleep(TIMEOUT - Duration::from_secs(1)).await;
    let late = next(&mut numbers).await;
    assert_eq!(late.attempt(), 1);
    assert!(stays_silent(&mut numbers, TIMEOUT - Duration::from_secs(1)).await);
    let again = next(&mut numbers).await;
    assert_eq!((again.offset(), again.attempt()), (1, 2));
    assert!(soon(late.ack()).await.is_err());
    soon(again.ack()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn more_time_asked_for_after_a_late_taking_is_not_cut_short() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..1).await;
    let mut numbers = subscribe(&bus).await;
    until(async || bus.lag("numbers", "g").await.unwrap().in_flight == 1).await;
    tokio::time::sleep(TIMEOUT / 2).await;
    let late = next(&mut numbers).await;
    soon(late.modack(TIMEOUT * 3)).await.unwrap();
    tokio::time::sleep(TIMEOUT * 2).await;
    soon(late.ack()).await.unwrap();
    assert!(!has_letters(&bus).await, "it was settled by the ack and nothing else");
}

#[tokio::test(start_paused = true)]
async fn what_a_stuck_subscriber_never_took_goes_to_the_others() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..500).await;
    let mut stuck = subscribe(&bus).await;
    until(async || bus.lag("numbers", "g").await.unwrap().in_flight == 500).await;
    let mut lively = subscribe(&bus).await;
    assert!(stays_silent(&mut lively, TIMEOUT - Duration::from_secs(1)).await);
    let expected: Vec<u64> = (0..500).collect();
    assert_eq!(take_acked(&mut lively, 500).await, expected);
    assert_eq!(floor(&bus, "numbers", "g").await, 500);
    assert!(stuck.try_next().is_none(), "nothing is handed over twice");

    publish_numbers(&bus, "numbers", 500..501).await;
    drop(lively);
    assert_eq!(take_acked(&mut stuck, 1).await, [500], "it takes part again once it takes");
}

/// Publishes events of about 1 MiB.
async fn publish_large(bus: &Bus, topic: &str, count: usize) {
    for _ in 0..count {
        bus.publish(topic, json!("x".repeat(1024 * 1024 - 16))).await.unwrap();
    }
}

/// How many events lie in the queue of a subscriber that takes nothing, once no more come.
async fn queued(bus: &Bus) -> usize {
    until(async || bus.lag("large", "g").await.unwrap().in_flight > 0).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    bus.lag("large", "g").await.unwrap().in_flight
}

#[tokio::test(start_paused = true)]
async fn large_events_wait_in_the_log_and_not_in_the_queue() {
    let bus = bus().await;
    publish_large(&bus, "large", 100).await;
    let mut large = bus.subscribe("large", "g").from(Position::Earliest).start().await.unwrap();
    let queued = queued(&bus).await;
    assert!((7..=8).contains(&queued), "{queued} events of 1 MiB");
    let mut seen = 0;
    while seen < 100 {
        for delivery in soon(large.next_batch()).await {
            assert_eq!((delivery.offset(), delivery.attempt()), (seen, 1));
            seen += 1;
            soon(delivery.ack()).await.unwrap();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn large_events_do_not_wait_for_those_that_were_taken_and_not_settled() {
    let bus = bus().await;
    publish_large(&bus, "large", 40).await;
    let mut large = bus.subscribe("large", "g").from(Position::Earliest).start().await.unwrap();
    let mut held = Vec::new();
    for _ in 0..40 {
        held.push(next(&mut large).await);
    }
    soon(large.ack_all(held)).await.unwrap();
    assert_eq!(floor(&bus, "large", "g").await, 40);
}

#[tokio::test(start_paused = true)]
async fn a_large_event_that_follows_small_ones_comes_too() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..2000).await;
    publish_large(&bus, "numbers", 30).await;
    publish_numbers(&bus, "numbers", 2000..4000).await;
    let mut numbers = subscribe(&bus).await;
    for expected in 0..4030 {
        let delivery = next(&mut numbers).await;
        assert_eq!((delivery.offset(), delivery.attempt()), (expected, 1));
        soon(delivery.ack()).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_moved_cursor_takes_out_of_the_queue_makes_room_for_as_much() {
    let bus = bus().await;
    publish_large(&bus, "large", 20).await;
    let mut large = bus.subscribe("large", "g").from(Position::Earliest).start().await.unwrap();
    let first = queued(&bus).await;
    for _ in 0..3 {
        soon(bus.set_cursor("large", 0, "g", Position::Earliest)).await.unwrap();
        assert_eq!(queued(&bus).await, first);
    }
    for expected in 0..20 {
        let delivery = next(&mut large).await;
        assert_eq!(delivery.offset(), expected);
        soon(delivery.ack()).await.unwrap();
    }
}

/// Each queue alone may hold 8 MiB, and each of its dispatchers reads ahead.
#[tokio::test(start_paused = true)]
async fn subscribers_that_take_nothing_hold_little_together_and_one_that_takes_gets_everything() {
    let bus = bus().await;
    let text = "x".repeat(256 * 1024);
    for number in 0..40 {
        bus.publish("numbers", json!([number, text])).await.unwrap();
    }
    let mut stuck = Vec::new();
    for group in 0..64 {
        stuck.push(bus.subscribe("numbers", &format!("stuck-{group}")).from(Position::Earliest).start().await.unwrap());
    }
    let mut tails = Vec::new();
    for _ in 0..64 {
        let mut tail = bus.tail("numbers").from(Position::Earliest).start().await.unwrap();
        soon(tail.next()).await.unwrap();
        tails.push(tail);
    }
    let held = || bus.meters().delivery_bytes;
    // Above the bound each of them may still get one event, and one read is under way when the bound is met.
    let most = 256 * 1024 * 1024 + (64 + 64) * 2 * 256 * 1024;
    until(async || held() > 128 * 1024 * 1024).await;
    let mut numbers = bus.subscribe("numbers", "reads").from(Position::Earliest).start().await.unwrap();
    for expected in 0..40 {
        let delivery = next(&mut numbers).await;
        assert_eq!(delivery.offset(), expected);
        soon(delivery.ack()).await.unwrap();
        assert!(held() <= most, "{} bytes are held", held());
    }
    drop((stuck, tails, numbers));
    until(async || held() == 0).await;
}
