//! Many threads, subscribers that come and go, handlers that fail: nothing is lost, nothing overtakes.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use prom_engine::{Bus, BusOptions, Delivery, Order, Position, TopicSettings};
use prom_store::{MemoryStore, SystemClock};
use serde_json::json;

use crate::support::soon;

const EVENTS: u64 = 4000;
const KEYS: u64 = 40;

/// What handlers saw: per key, the last number they tried to settle.
#[derive(Default)]
struct ScannedEvent {
    last: Mutex<HashMap<String, u64>>,
    settled: Mutex<HashSet<u64>>,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn subscribers_that_come_and_go_lose_nothing_and_keep_the_order_of_each_key() {
    let clock = Arc::new(SystemClock::new());
    let options = BusOptions { clock: clock.clone(), ..BusOptions::default() };
    let bus = Bus::start(Arc::new(MemoryStore::new(clock)), options).await.unwrap();
    bus.create_topic(TopicSettings::new("s.many").unwrap().partitions(3)).await.unwrap();
    let seen = Arc::new(ScannedEvent::default());
    let workers: Vec<_> = (0..4).map(|seed| tokio::spawn(work(bus.clone(), seen.clone(), seed))).collect();
    for number in 0..EVENTS {
        let topic = if number % 2 == 0 { "s.many" } else { "s.one" };
        bus.publish(topic, json!(number)).key(format!("k{}", number % KEYS)).await.unwrap();
    }
    for worker in workers {
        soon(worker).await.unwrap();
    }
    for topic in ["s.many", "s.one"] {
        assert_eq!(bus.lag(topic, "g").await.unwrap().lag_events, 0);
        let letters = bus.read(&format!("dlq.{topic}"), 0, 0, 1).await;
        assert!(letters.is_err(), "{:?}", letters.map(|page| page.events));
    }
    for (key, last) in &*seen.last.lock() {
        assert_eq!(last / KEYS, EVENTS / KEYS - 1, "{key} ended at {last}");
    }
    soon(bus.shutdown()).await.unwrap();
}

/// Subscribes, handles some, leaves in the middle, comes back, until everything is settled.
async fn work(bus: Bus, seen: Arc<ScannedEvent>, seed: u64) {
    let mut random = seed;
    let mut chance = move || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % 100
    };
    while seen.settled.lock().len() < EVENTS as usize {
        let group = bus.subscribe("s.*", "g").from(Position::Earliest).order(Order::Key).max_attempts(1000);
        let group = group.backoff(Duration::from_millis(1), Duration::from_millis(5)).max_in_flight(50);
        let mut subscription = group.start().await.unwrap();
        let rounds = 20 + chance();
        for _ in 0..rounds {
            let patience = Duration::from_millis(50);
            let Ok(batch) = tokio::time::timeout(patience, subscription.next_batch()).await else {
                break;
            };
            for delivery in batch {
                settle(&seen, delivery, chance()).await;
            }
        }
        if chance() < 50 { subscription.unsubscribe().await } else { drop(subscription) }
    }
}

async fn settle(seen: &ScannedEvent, delivery: Delivery, chance: u64) {
    if chance < 5 {
        let _lease_may_have_ended = soon(delivery.nack("bad luck")).await;
        return;
    }
    let key = delivery.key().expect("it has one").to_owned();
    let number: u64 = delivery.payload().unwrap();
    {
        let mut last = seen.last.lock();
        match last.get(&key) {
            // Again is fine: the ack before may have come too late. Further ahead is not.
            Some(&before) => assert!(number <= before + KEYS, "{key}: {number} after {before}"),
            None => assert!(number < KEYS, "{key} begins with {number}"),
        }
        last.entry(key).and_modify(|last| *last = number.max(*last)).or_insert(number);
    }
    if soon(delivery.ack()).await.is_ok() {
        seen.settled.lock().insert(number);
    }
}
