//! A collection of its own, a bus in memory, and feeds between them that can be stopped and started again.

use std::sync::Arc;
use std::time::Duration;

use mongodb::bson::Document;
use mongodb::{Client, Collection, Database};
use prom_engine::{Bus, BusOptions};
use prom_flows::feed::{self, FeedOptions, FeedPosition, FeedRoute, FeedSource};
use prom_jobs::{Flow, FlowState, Keeper};
use prom_store::{MemoryStore, ReadLimit, SystemClock};
use prom_testkit::mongo::shared;
use prom_types::{Event, TopicName};
use serde_json::Value;

pub const FEED: &str = "orders";
pub const TOPIC: &str = "shop.orders";
/// Longer than anything that works takes, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Scene {
    pub url: String,
    pub database: Database,
    pub orders: Collection<Document>,
    pub bus: Bus,
}

/// A feed that runs.
pub struct RunningFeed {
    pub flow: Arc<dyn Flow>,
    keeper: Keeper,
}

impl Scene {
    pub async fn new() -> Self {
        Self::at(shared().await.unwrap().fresh_url()).await
    }

    pub async fn at(url: String) -> Self {
        let database = Client::with_uri_str(&url).await.unwrap().default_database().unwrap();
        let bus = Bus::start(Arc::new(MemoryStore::new(Arc::new(SystemClock::new()))), BusOptions::default());
        let (orders, bus) = (database.collection("orders"), bus.await.unwrap());
        Self { url, database, orders, bus }
    }

    /// As one writes it who writes only the necessary.
    pub fn options(&self) -> FeedOptions {
        let source = FeedSource::collection(self.database.name(), "orders");
        FeedOptions::new(FEED, &self.url, source, FeedRoute::parse(TOPIC).unwrap())
    }

    /// Starts a feed and waits until it has begun.
    pub async fn feed(&self, options: FeedOptions) -> RunningFeed {
        let name = options.name.clone();
        let keeper = Keeper::new(self.bus.clone());
        let flow = feed::start(&keeper, &self.bus, options).unwrap();
        until("the feed to begin", async || self.bus.document(feed::FEED_POSITIONS, &name).await.unwrap()).await;
        RunningFeed { flow, keeper }
    }

    pub async fn position(&self) -> FeedPosition {
        let stored = self.bus.document(feed::FEED_POSITIONS, FEED).await.unwrap().unwrap();
        serde_json::from_slice(&stored.value).unwrap()
    }

    pub async fn events_of(&self, topic: &str) -> Vec<Event> {
        let topic = TopicName::parse(topic).unwrap();
        let (mut events, mut from) = (Vec::new(), 0);
        while let Ok(page) = self.bus.read(&topic, 0, from, ReadLimit { events: 5000, bytes: 64 << 20 }).await {
            if page.next == from {
                break;
            }
            from = page.next;
            events.extend(page.events.iter().map(|event| event.to_event().unwrap()));
        }
        events
    }

    /// All events, once there are so many.
    pub async fn events(&self, count: usize) -> Vec<Event> {
        self.events_on(TOPIC, count).await
    }

    pub async fn events_on(&self, topic: &str, count: usize) -> Vec<Event> {
        let what = format!("{count} events on {topic}");
        until(&what, async || {
            let events = self.events_of(topic).await;
            (events.len() >= count).then_some(events)
        })
        .await
    }
}

impl RunningFeed {
    pub async fn state(&self, state: FlowState) {
        until(&format!("state {}", state.as_str()), async || (self.flow.status().state == state).then_some(())).await;
    }

    /// As when its hub ends.
    pub async fn end(self) {
        self.keeper.end().await;
    }
}

/// Waits for something, with a deadline.
pub async fn until<T>(what: &str, look: impl AsyncFn() -> Option<T>) -> T {
    let looking = async {
        loop {
            if let Some(seen) = look().await {
                return seen;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, looking).await.unwrap_or_else(|_| panic!("waited in vain for {what}"))
}

pub fn payload(event: &Event) -> Value {
    event.payload.to().unwrap()
}

pub fn header<'a>(event: &'a Event, name: &str) -> Option<&'a str> {
    event.headers.get(name)
}

/// The operation and the key of each.
pub fn told(events: &[Event]) -> Vec<(String, String)> {
    let one = |event: &Event| {
        (header(event, "x-mongo-op").unwrap_or_default().to_owned(), event.key.clone().unwrap_or_default())
    };
    events.iter().map(one).collect()
}
