//! Looking an id up costs next to nothing, also where the id is not there: a caller that asks for unknown
//! ids must not be able to keep the disk busy.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use prom_store::{Commit, Dedupe, EncodedEvent, Find, LogName, Store};
use prom_store_embedded::{Create, Disk, DiskFile, EmbeddedOptions, EmbeddedStore, RealDisk, Sizes};
use prom_types::{EventId, NewEvent, TopicName};
use serde_json::json;
use tempfile::TempDir;

const EVENTS: u64 = 2_000;

/// The real disk; counts the bytes that are read from segments.
#[derive(Default)]
struct Counting {
    read_bytes: Arc<AtomicU64>,
}

struct CountingFile {
    inner: Arc<dyn DiskFile>,
    read_bytes: Arc<AtomicU64>,
}

impl Disk for Counting {
    fn open(&self, path: &Path, create: Create) -> io::Result<Arc<dyn DiskFile>> {
        let inner = RealDisk.open(path, create)?;
        if path.extension().is_some_and(|extension| extension == "seg") {
            Ok(Arc::new(CountingFile { inner, read_bytes: self.read_bytes.clone() }))
        } else {
            Ok(inner)
        }
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        RealDisk.remove(path)
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        RealDisk.create_dir(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        RealDisk.list(dir)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        RealDisk.sync_dir(dir)
    }
}

impl DiskFile for CountingFile {
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        let read = self.inner.read_at(buffer, position)?;
        self.read_bytes.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }

    fn write_at(&self, bytes: &[u8], position: u64) -> io::Result<()> {
        self.inner.write_at(bytes, position)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.inner.sync_data()
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.inner.set_len(length)
    }

    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }
}

/// A store on a counting disk.
struct Scene {
    dir: TempDir,
    disk: Arc<Counting>,
    sizes: Sizes,
    log: LogName,
    store: Arc<dyn Store>,
}

impl Scene {
    async fn open(sizes: Sizes) -> Self {
        let dir = TempDir::new().expect("a temporary directory");
        let disk = Arc::new(Counting::default());
        let store = open(dir.path(), &disk, sizes).await;
        let log = LogName::new(TopicName::parse("orders").expect("a name"), 0);
        Self { dir, disk, sizes, log, store }
    }

    /// Afterwards nothing is cached in memory: every event is in a segment.
    async fn reopened(mut self) -> Self {
        self.store.close().await.expect("it closes");
        self.store = open(self.dir.path(), &self.disk, self.sizes).await;
        self
    }

    async fn append(&self, numbers: std::ops::Range<u64>) {
        for number in numbers {
            let event = NewEvent::new(self.log.topic.clone(), json!({ "text": "x".repeat(200) }));
            let encoded = EncodedEvent::encode(&event, id(number), 0).expect("a sound event");
            let append = Commit::append(self.log.clone(), encoded, Dedupe::Fresh);
            self.store.commit(append).await.expect("it is durable");
        }
    }

    async fn find(&self, id: EventId) -> Option<u64> {
        self.store.find(&self.log, Find::Id(id)).await.expect("the disk is fine")
    }

    fn read_bytes(&self) -> u64 {
        self.disk.read_bytes.load(Ordering::Relaxed)
    }
}

async fn open(dir: &Path, disk: &Arc<Counting>, sizes: Sizes) -> Arc<dyn Store> {
    let options = EmbeddedOptions {
        disk: disk.clone(),
        sync: prom_store_embedded::Sync::Os,
        sizes,
        ..EmbeddedOptions::default()
    };
    EmbeddedStore::open_with(dir, options).await.expect("it opens")
}

fn id(number: u64) -> EventId {
    EventId::derived(&format!("event {number}"))
}

/// One active segment takes everything.
fn one_segment() -> Sizes {
    Sizes { segment: 1 << 30, segment_events: 1 << 20, ids_in_memory: 1 << 20, ..Sizes::tiny() }
}

#[tokio::test]
async fn an_unknown_id_costs_no_read_of_the_active_segment() {
    let scene = Scene::open(one_segment()).await;
    scene.append(0..EVENTS).await;
    let scene = scene.reopened().await;
    assert_eq!(scene.find(EventId::derived("unknown")).await, None);
    let after_the_first = scene.read_bytes();
    assert!(after_the_first > EVENTS * 200, "the first look reads the segment once");
    for number in 0..50 {
        assert_eq!(scene.find(EventId::derived(&format!("unknown {number}"))).await, None);
    }
    assert_eq!(scene.read_bytes(), after_the_first);
}

#[tokio::test]
async fn a_known_id_costs_a_read_of_its_neighbourhood() {
    let scene = Scene::open(one_segment()).await;
    scene.append(0..EVENTS).await;
    let scene = scene.reopened().await;
    assert_eq!(scene.find(id(EVENTS - 1)).await, Some(EVENTS - 1));
    let after_the_first = scene.read_bytes();
    for offset in (0..EVENTS).step_by(100) {
        assert_eq!(scene.find(id(offset)).await, Some(offset));
    }
    let per_look = (scene.read_bytes() - after_the_first) / 20;
    assert!(per_look <= 32 << 10, "{per_look} bytes for each");
}

#[tokio::test]
async fn events_that_come_between_two_looks_are_found() {
    // Small segments: some are sealed between two looks, and some of them hold what was looked at before.
    for sizes in [one_segment(), Sizes::tiny()] {
        let scene = Scene::open(sizes).await;
        for round in 0..20 {
            scene.append(round * 50..(round + 1) * 50).await;
            for number in [0, round * 25, round * 50, round * 50 + 49] {
                assert_eq!(scene.find(id(number)).await, Some(number), "in round {round}");
            }
            assert_eq!(scene.find(id((round + 1) * 50)).await, None, "in round {round}");
        }
        let scene = scene.reopened().await;
        for number in 0..1000 {
            assert_eq!(scene.find(id(number)).await, Some(number));
        }
    }
}

#[tokio::test]
async fn what_retention_takes_does_not_make_the_next_look_dear() {
    let scene = Scene::open(one_segment()).await;
    scene.append(0..EVENTS).await;
    let scene = scene.reopened().await;
    assert_eq!(scene.find(id(EVENTS - 1)).await, Some(EVENTS - 1));
    let after_the_first = scene.read_bytes();
    for start in 1..50 {
        scene.store.trim(&scene.log, start).await.expect("it is trimmed");
        assert_eq!(scene.find(EventId::derived("unknown")).await, None);
    }
    assert_eq!(scene.read_bytes(), after_the_first);
    assert_eq!(scene.find(id(48)).await, None);
    assert_eq!(scene.find(id(49)).await, Some(49));
}

#[tokio::test]
async fn of_an_id_that_is_there_twice_the_newest_is_found() {
    let scene = Scene::open(one_segment()).await;
    scene.append(0..3).await;
    scene.append(0..1).await;
    assert_eq!(scene.find(id(0)).await, Some(3));
    scene.store.trim(&scene.log, 3).await.expect("it is trimmed");
    assert_eq!(scene.find(id(1)).await, None);
    assert_eq!(scene.find(id(0)).await, Some(3));
}
