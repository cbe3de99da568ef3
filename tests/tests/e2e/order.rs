//! Order by key: an event of a key comes only when all earlier ones are settled, whichever subscriber handles it.

use std::sync::Arc;
use std::sync::Mutex;
use std::time::Duration;

use prom_testkit::Random;
use promethean::{NewEvent, Order, Position, Subscription, SubscriptionControl, TopicName, json};

use super::home::{Home, floor, publish_all, soon};

const EVENTS: u64 = 10_000;
const KEYS: u64 = 97;
const SUBSCRIBERS: u64 = 4;

/// What the handlers of all subscribers saw.
struct Seen {
    /// The next expected number of each key.
    expected: Vec<u64>,
    settled: u64,
    failed: u64,
    controls: Vec<SubscriptionControl>,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_of_a_key_are_handled_in_order_by_several_subscribers_although_some_fail() {
    for home in Home::of_each_store() {
        let bus = home.start().await;
        let topic = TopicName::parse("steps").unwrap();
        let step = |number: u64| NewEvent {
            key: Some(format!("key {}", number % KEYS)),
            ..NewEvent::new(topic.clone(), json!({"key": number % KEYS, "step": number / KEYS}))
        };
        publish_all(&bus, (0..EVENTS).map(step).collect()).await;
        let mut subscriptions = Vec::new();
        for _ in 0..SUBSCRIBERS {
            let group = bus.subscribe("steps", "workers").from(Position::Earliest).order(Order::Key);
            let group = group.max_attempts(100).backoff(Duration::from_millis(1), Duration::from_millis(2));
            subscriptions.push(group.max_in_flight(64).start().await.unwrap());
        }
        let seen = Arc::new(Mutex::new(Seen {
            expected: vec![0; KEYS as usize],
            settled: 0,
            failed: 0,
            controls: subscriptions.iter().map(Subscription::control).collect(),
        }));
        let mut workers = Vec::new();
        for (seed, subscription) in (1..).zip(subscriptions) {
            workers.push(tokio::spawn(work(subscription, seen.clone(), Random::seeded(seed))));
        }
        for worker in workers {
            soon(worker).await.unwrap();
        }
        let (settled, failed) = {
            let seen = seen.lock().unwrap();
            (seen.settled, seen.failed)
        };
        assert_eq!(settled, EVENTS);
        assert!(failed > 10, "only {failed} failed: too few to prove anything");
        assert_eq!(floor(&bus, "steps", "workers").await, EVENTS);
        home.close_sound(bus).await;
    }
}

/// Handles what is there, failing some, until everything is settled.
async fn work(mut subscription: Subscription, seen: Arc<Mutex<Seen>>, mut random: Random) {
    loop {
        let batch = subscription.next_batch().await;
        if batch.is_empty() {
            return;
        }
        let mut done = Vec::new();
        for delivery in batch {
            let payload: serde_json::Value = delivery.payload().unwrap();
            let key = payload["key"].as_u64().unwrap() as usize;
            let fails = random.one_in(200);
            {
                let mut seen = seen.lock().unwrap();
                assert_eq!(payload["step"], seen.expected[key], "out of order for key {key}");
                if fails { seen.failed += 1 } else { seen.expected[key] += 1 }
            }
            if fails { delivery.nack("stumbled").await.unwrap() } else { done.push(delivery) }
        }
        let count = done.len() as u64;
        subscription.ack_all(done).await.unwrap();
        let mut seen = seen.lock().unwrap();
        seen.settled += count;
        if seen.settled == EVENTS {
            seen.controls.iter().for_each(SubscriptionControl::end);
        }
    }
}
