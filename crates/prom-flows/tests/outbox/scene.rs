//! A bus in memory with drainers, and what came of the rows.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use prom_engine::{Bus, BusOptions, NewTopics, TopicSettings};
use prom_flows::outbox::{OnError, OutboxFlow, OutboxOptions, OutboxPlace};
use prom_jobs::{Flow, FlowStatus};
use prom_store::{MemoryStore, ReadLimit, SystemClock};
use serde_json::Value;

pub const TOPIC: &str = "orders.placed";
/// Longer than anything that works takes, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

pub fn options(place: OutboxPlace) -> OutboxOptions {
    OutboxOptions {
        name: "shop".to_owned(),
        batch: 20,
        lease: Duration::from_secs(3),
        poll: Duration::from_millis(50),
        max_attempts: 2,
        on_error: OnError::Hold,
        keep_sent: place.usual_keep_sent(),
        place,
    }
}

/// Knows only [`TOPIC`].
pub async fn bus() -> Bus {
    let store = Arc::new(MemoryStore::new(Arc::new(SystemClock::new())));
    let bus = Bus::start(store, BusOptions { new_topics: NewTopics::Refuse, ..BusOptions::default() }).await.unwrap();
    bus.create_topic(TopicSettings::new(TOPIC).unwrap()).await.unwrap();
    bus
}

/// The keys and numbers of all events so far, in their order.
pub async fn published(bus: &Bus) -> Vec<(String, u64)> {
    let (mut events, mut next) = (Vec::new(), 0);
    loop {
        let page = bus.read(TOPIC, 0, next, ReadLimit::default()).await.unwrap();
        if page.events.is_empty() {
            return events;
        }
        next = page.events.last().unwrap().offset() + 1;
        for event in &page.events {
            let payload: Value = event.payload().unwrap();
            events.push((event.key().unwrap_or_default().to_owned(), payload["n"].as_u64().unwrap()));
        }
    }
}

/// The numbers of each key, in their order.
pub async fn by_key(bus: &Bus) -> BTreeMap<String, Vec<u64>> {
    let mut keys: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for (key, n) in published(bus).await {
        keys.entry(key).or_default().push(n);
    }
    keys
}

/// Waits for a condition; fails with what was seen last.
pub async fn until<T: std::fmt::Debug>(what: &str, mut look: impl AsyncFnMut() -> Result<(), T>) {
    let begin = std::time::Instant::now();
    loop {
        match look().await {
            Ok(()) => return,
            Err(seen) => assert!(begin.elapsed() < PATIENCE, "not {what}: {seen:?}"),
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

pub async fn until_published(bus: &Bus, outbox: &OutboxFlow, events: usize) {
    until(&format!("{events} events"), async || match published(bus).await.len() {
        count if count >= events => Ok(()),
        count => Err((count, outbox.status())),
    })
    .await;
}

pub async fn until_status(outbox: &OutboxFlow, what: &str, holds: impl Fn(&FlowStatus) -> bool) {
    until(what, async || {
        let status = outbox.status();
        if holds(&status) { Ok(()) } else { Err(status) }
    })
    .await;
}
