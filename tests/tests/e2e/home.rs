//! A directory that outlives the buses on it, and the first steps of most tests.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use prom_store::Store;
use prom_store_embedded::fsck::{FsckReport, fsck};
use prom_store_mongo::{MongoOptions, MongoStore};
use promethean::{
    Bus, BusOptions, Clock, Delivery, Durability, EmbeddedOptions, EmbeddedStore, EpochMs, NewEvent, Receipt, Sizes,
    Subscription, SystemClock, TopicName, json,
};
use tempfile::TempDir;
use tokio::sync::OnceCell;

/// Nothing in these tests takes this long unless it hangs.
const DEADLINE: Duration = Duration::from_secs(60);

pub struct Home {
    pub dir: TempDir,
    pub sizes: Sizes,
    pub clock: Arc<MovableClock>,
    kind: Kind,
}

/// Where a home keeps its data.
enum Kind {
    /// In its directory.
    Embedded,
    /// In a separate database, which is known once it is started.
    Mongo(OnceCell<String>),
}

impl Home {
    pub fn of(sizes: Sizes) -> Self {
        Self { dir: TempDir::new().unwrap(), sizes, clock: Arc::default(), kind: Kind::Embedded }
    }

    /// One on each kind of durable store: the embedded one with both sizes, and MongoDB.
    pub fn of_each_store() -> [Self; 3] {
        let [usual, tiny] = Self::of_each_size();
        let mongo = Self { kind: Kind::Mongo(OnceCell::new()), ..Self::of(Sizes::default()) };
        [usual, tiny, mongo]
    }

    /// One with production sizes, one with tiny ones.
    pub fn of_each_size() -> [Self; 2] {
        [Sizes::default(), Sizes::tiny()].map(Self::of)
    }

    /// What its receipts say.
    pub fn durability(&self) -> Durability {
        match self.kind {
            Kind::Embedded => Durability::Fsync,
            Kind::Mongo(_) => Durability::Majority,
        }
    }

    pub async fn start(&self) -> Bus {
        self.start_with(|_| {}).await
    }

    pub async fn start_with(&self, change: impl FnOnce(&mut BusOptions)) -> Bus {
        let store = self.open().await;
        let mut options = BusOptions {
            clock: self.clock.clone(),
            maintenance_interval: None,
            // Some tests hold on to deliveries; a shutdown need not wait for them.
            drain_timeout: Duration::from_millis(50),
            ..BusOptions::default()
        };
        change(&mut options);
        Bus::start(store, options).await.unwrap()
    }

    async fn open(&self) -> Arc<dyn Store> {
        let Kind::Mongo(url) = &self.kind else {
            let store = EmbeddedStore::open_with(self.dir.path(), self.options()).await.unwrap();
            assert_eq!(store.damage(), []);
            return store;
        };
        let server = prom_testkit::mongo::shared().await.unwrap();
        let url = url.get_or_init(async || server.fresh_url()).await;
        let mut options = MongoOptions { clock: self.clock.clone(), ..MongoOptions::default() };
        // Tests compact what they have just written.
        options.times.keep_physically = Duration::ZERO;
        MongoStore::open(url, options).await.unwrap()
    }

    /// Shuts the bus down and starts another one on the same directory.
    pub async fn restart(&self, bus: Bus) -> Bus {
        bus.shutdown().await.unwrap();
        drop(bus);
        self.start().await
    }

    /// Shuts the bus down and reads everything it leaves behind.
    pub async fn close_sound(&self, bus: Bus) {
        bus.shutdown().await.unwrap();
        drop(bus);
        if let Kind::Mongo(_) = self.kind {
            return;
        }
        let report = self.fsck();
        assert!(report.is_sound(), "{report}");
        assert_eq!(report.rebuilt, [""; 0], "a clean shutdown leaves nothing to repair");
    }

    pub fn fsck(&self) -> FsckReport {
        fsck(self.dir.path(), &self.options(), |_| {}).unwrap()
    }

    /// The segment files of all topics, in order.
    pub fn segments(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        if let Kind::Mongo(_) = self.kind {
            return found;
        }
        for log in entries(&self.dir.path().join("segments")) {
            found.extend(entries(&log).into_iter().filter(|path| path.extension().is_some_and(|end| end == "seg")));
        }
        found.sort();
        found
    }

    fn options(&self) -> EmbeddedOptions {
        EmbeddedOptions { clock: self.clock.clone(), sizes: self.sizes, ..EmbeddedOptions::default() }
    }
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    let listed = std::fs::read_dir(dir).unwrap();
    listed.map(|entry| entry.unwrap().path()).collect()
}

/// The machine's clock, set forward by hand. Deadlines still use the machine's monotonic clock.
#[derive(Default)]
pub struct MovableClock {
    machine: SystemClock,
    ahead_ms: AtomicI64,
}

impl MovableClock {
    pub fn advance(&self, by: Duration) {
        self.ahead_ms.fetch_add(i64::try_from(by.as_millis()).unwrap(), Ordering::Relaxed);
    }
}

impl Clock for MovableClock {
    fn now_ms(&self) -> EpochMs {
        self.machine.now_ms() + self.ahead_ms.load(Ordering::Relaxed)
    }

    fn monotonic(&self) -> Duration {
        self.machine.monotonic()
    }
}

pub async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, what).await.expect("it did not happen")
}

/// Waits until a condition holds.
pub async fn until(condition: impl AsyncFn() -> bool) {
    soon(async {
        while !condition().await {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}

/// The next delivery, which must come.
pub async fn next(subscription: &mut Subscription) -> Delivery {
    soon(subscription.next()).await.expect("the subscription has ended")
}

/// The next `count` payloads as numbers, acked together.
pub async fn take_acked(subscription: &mut Subscription, count: usize) -> Vec<u64> {
    let mut taken = Vec::new();
    let mut deliveries = Vec::new();
    for _ in 0..count {
        let delivery = next(subscription).await;
        taken.push(delivery.payload().unwrap());
        deliveries.push(delivery);
        if deliveries.len() == 500 {
            soon(subscription.ack_all(std::mem::take(&mut deliveries))).await.unwrap();
        }
    }
    soon(subscription.ack_all(deliveries)).await.unwrap();
    taken
}

/// Publishes the numbers as payloads, in batches.
pub async fn publish_numbers(bus: &Bus, topic: &str, numbers: std::ops::Range<u64>) -> Vec<Receipt> {
    let topic = TopicName::parse(topic).unwrap();
    let events: Vec<_> = numbers.map(|number| NewEvent::new(topic.clone(), json!(number))).collect();
    publish_all(bus, events).await
}

pub async fn publish_all(bus: &Bus, events: Vec<NewEvent>) -> Vec<Receipt> {
    let mut receipts = Vec::new();
    // Small ones: a batch lies in one segment.
    for batch in events.chunks(50) {
        receipts.extend(soon(bus.publish_batch(batch.to_vec())).await.unwrap());
    }
    receipts
}

pub async fn read_numbers(bus: &Bus, topic: &str) -> Vec<u64> {
    let (mut numbers, mut from) = (Vec::new(), 0);
    loop {
        let page = bus.read(topic, 0, from, 1000).await.unwrap();
        assert_eq!(page.damage, None);
        numbers.extend(page.events.iter().map(|event| event.payload::<u64>().unwrap()));
        if page.next == page.bounds.next {
            return numbers;
        }
        from = page.next;
    }
}

/// The floor of a group in partition 0.
pub async fn floor(bus: &Bus, topic: &str, group: &str) -> u64 {
    bus.cursor(topic, group).await.unwrap()[0].offset
}
