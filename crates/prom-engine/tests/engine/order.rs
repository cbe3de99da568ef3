//! Order per key: no event of a key while an earlier one of that key is unsettled; other keys flow.

use std::collections::HashMap;
use std::time::Duration;

use prom_engine::{Delivery, Order, Position, Subscription};
use serde_json::json;

use crate::support::{bus, next, soon, stays_silent};

#[tokio::test(start_paused = true)]
async fn a_failing_event_blocks_its_key_and_no_other() {
    let bus = bus().await;
    for (key, number) in [("a", 0), ("a", 1), ("b", 2), ("a", 3), ("b", 4)] {
        bus.publish("keyed", json!(number)).key(key).await.unwrap();
    }
    let mut keyed = bus.subscribe("keyed", "g").from(Position::Earliest).order(Order::Key).start().await.unwrap();
    let failing = next(&mut keyed).await;
    assert_eq!(failing.payload::<u64>().unwrap(), 0);
    for expected in [2, 4] {
        let delivery = next(&mut keyed).await;
        assert_eq!(delivery.payload::<u64>().unwrap(), expected);
        soon(delivery.ack()).await.unwrap();
    }
    assert!(stays_silent(&mut keyed, Duration::from_millis(100)).await);
    soon(failing.nack("not now")).await.unwrap();
    for expected in [0, 1, 3] {
        let delivery = next(&mut keyed).await;
        assert_eq!(delivery.payload::<u64>().unwrap(), expected);
        soon(delivery.ack()).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn concurrent_subscribers_see_each_key_in_order_even_with_failures() {
    const EVENTS: u64 = 600;
    let bus = bus().await;
    for number in 0..EVENTS {
        bus.publish("keyed", json!(number)).key(format!("k{}", number % 7)).await.unwrap();
    }
    let group = bus.subscribe("keyed", "g").from(Position::Earliest).order(Order::Key).max_in_flight(20);
    let mut members: Vec<Subscription> = Vec::new();
    for _ in 0..3 {
        members.push(group.clone().start().await.unwrap());
    }
    let mut last: HashMap<String, u64> = HashMap::new();
    let mut done = 0;
    let mut turn = 0;
    while done < EVENTS {
        turn += 1;
        let Some(delivery) = members[turn % 3].try_next() else {
            tokio::time::sleep(Duration::from_millis(1)).await;
            continue;
        };
        let number: u64 = delivery.payload().unwrap();
        // Every eleventh fails once.
        if number.is_multiple_of(11) && delivery.attempt() == 1 {
            soon(delivery.nack("not now")).await.unwrap();
            continue;
        }
        let key = key_of(&delivery);
        let before = last.insert(key.clone(), number);
        assert!(before.is_none_or(|before| before + 7 == number), "{key}: {number} after {before:?}");
        soon(delivery.ack()).await.unwrap();
        done += 1;
    }
}

fn key_of(delivery: &Delivery) -> String {
    delivery.key().expect("it has one").to_owned()
}
