//! A bus on a memory store whose clock is tokio's, and the few steps most tests begin with.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use prom_engine::{Bus, BusOptions, Delivery, LetterRef, Subscription};
use prom_store::{Clock, MemoryStore, Store};
use prom_types::EpochMs;
use serde_json::json;
use tokio::time::Instant;

/// Follows tokio's time, also when it is paused.
pub struct TokioClock(Instant);

impl TokioClock {
    pub fn new() -> Arc<Self> {
        Arc::new(Self(Instant::now()))
    }
}

impl Clock for TokioClock {
    fn now_ms(&self) -> EpochMs {
        1_700_000_000_000 + i64::try_from(self.0.elapsed().as_millis()).unwrap()
    }

    fn monotonic(&self) -> Duration {
        self.0.elapsed()
    }
}

/// A store that outlives the buses on it.
pub struct World {
    pub store: Arc<dyn Store>,
    pub clock: Arc<TokioClock>,
}

impl World {
    pub fn new() -> Self {
        let clock = TokioClock::new();
        Self { store: Arc::new(MemoryStore::new(clock.clone())), clock }
    }

    pub fn over(store: Arc<dyn Store>, clock: Arc<TokioClock>) -> Self {
        Self { store, clock }
    }

    pub async fn bus(&self) -> Bus {
        self.bus_with(|_| {}).await
    }

    pub async fn bus_with(&self, change: impl FnOnce(&mut BusOptions)) -> Bus {
        let mut options = BusOptions { clock: self.clock.clone(), maintenance_interval: None, ..BusOptions::default() };
        change(&mut options);
        Bus::start(self.store.clone(), options).await.unwrap()
    }
}

/// A fresh bus on a fresh store.
pub async fn bus() -> Bus {
    World::new().bus().await
}

/// Nothing in these tests takes this long unless it hangs.
pub async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(600), what).await.expect("it did not happen")
}

/// The next delivery, which must come.
pub async fn next(subscription: &mut Subscription) -> Delivery {
    soon(subscription.next()).await.expect("the subscription has ended")
}

/// The next `count` payloads as numbers, acked one by one.
pub async fn take_acked(subscription: &mut Subscription, count: usize) -> Vec<u64> {
    let mut taken = Vec::new();
    for _ in 0..count {
        let delivery = next(subscription).await;
        taken.push(delivery.payload().unwrap());
        soon(delivery.ack()).await.unwrap();
    }
    taken
}

/// True if nothing comes for a while. With paused time this costs nothing.
pub async fn stays_silent(subscription: &mut Subscription, time: Duration) -> bool {
    tokio::time::timeout(time, subscription.next()).await.is_err()
}

/// Publishes the numbers of a range as payloads.
pub async fn publish_numbers(bus: &Bus, topic: &str, numbers: std::ops::Range<u64>) {
    for number in numbers {
        bus.publish(topic, json!(number)).await.unwrap();
    }
}

/// The floor of a group in partition 0.
pub async fn floor(bus: &Bus, topic: &str, group: &str) -> u64 {
    bus.cursor(topic, group).await.unwrap()[0].offset
}

/// Waits until a condition holds.
pub async fn until(condition: impl AsyncFn() -> bool) {
    soon(async {
        while !condition().await {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
}

/// All letters of a topic.
pub async fn letters(bus: &Bus, topic: &str) -> Vec<LetterRef> {
    let (mut letters, mut from) = (Vec::new(), 0);
    while let Ok(page) = bus.read(&format!("dlq.{topic}"), 0, from, 500).await {
        letters.extend(page.events.iter().map(|event| LetterRef::of(event).unwrap()));
        if page.events.is_empty() {
            break;
        }
        from = page.next;
    }
    letters
}

/// The letter of the event at an offset; the newest one.
pub async fn letter_of(bus: &Bus, topic: &str, offset: u64) -> LetterRef {
    let all = letters(bus, topic).await;
    all.into_iter().rfind(|letter| letter.offset == offset).expect("it has a letter")
}
