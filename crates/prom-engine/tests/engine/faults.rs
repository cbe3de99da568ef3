//! A store that fails when told to, and what the bus makes of it.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use prom_engine::{Error, GapReason, Position};
use prom_store::*;
use prom_types::{Durability, EventId, GroupName, NewEvent, Offset, TopicName};
use serde_json::json;

use crate::support::{TokioClock, World, floor, next, publish_numbers, soon, take_acked, until};

/// A memory store with faults. It does not close, so that a second bus can look at what is left.
pub struct Stubborn {
    inner: MemoryStore,
    /// Listeners hear nothing.
    silence: DocumentListeners,
    pub faults: Mutex<Faults>,
}

#[derive(Default)]
pub struct Faults {
    pub refuse_appends: bool,
    fail_settlements: bool,
    fail_reads: bool,
    damaged: Option<Range<Offset>>,
    /// A topic whose log cannot be looked at.
    pub bad_topic: Option<&'static str>,
    /// This many events come in as soon as something is looked up.
    pub appends_at_find: usize,
    pub fail_close: bool,
    /// The hub with this id cannot say that it lives.
    pub silenced: Option<String>,
    pub closes: usize,
    /// Commits wait here, if there is such a place, until [`Stubborn::go_on`].
    held: Option<Vec<(Commit, CommitReply)>>,
    /// Commits that carried the document of a topic.
    pub topic_documents: usize,
    settlements_tried: usize,
    /// Commits whose events were said to be independent.
    pub each: usize,
    /// Others are said to write too; news of it never come.
    pub is_shared: bool,
    /// How often each of these panics still.
    panics: Vec<(Panics, usize)>,
}

/// Where the store panics when told to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Panics {
    /// Of `orders`.
    Read,
    /// Of `orders`.
    TakeCursor,
    Settle,
    Maintain,
    SayThatItLives,
}

impl Stubborn {
    pub fn new() -> (Arc<Self>, World) {
        let clock = TokioClock::new();
        let inner = MemoryStore::new(clock.clone());
        let store = Arc::new(Self { inner, silence: DocumentListeners::default(), faults: Mutex::default() });
        (store.clone(), World::over(store, clock))
    }

    pub fn store() -> Arc<dyn Store> {
        Self::new().0
    }

    fn check_topic(&self, log: &LogName) -> Result<(), StoreError> {
        match self.faults.lock().bad_topic {
            Some(bad) if bad == log.topic.as_str() => Err(hiccup()),
            _ => Ok(()),
        }
    }

    /// The next so many calls of this kind panic.
    pub fn panic_at(&self, what: Panics, times: usize) {
        self.faults.lock().panics.push((what, times));
    }

    fn maybe_panic(&self, here: Panics) {
        let mut faults = self.faults.lock();
        let Some((_, left)) = faults.panics.iter_mut().find(|(what, left)| *what == here && *left > 0) else {
            return;
        };
        *left -= 1;
        drop(faults);
        panic!("the store fell over at {here:?}");
    }

    pub fn set(&self, change: impl FnOnce(&mut Faults)) {
        change(&mut self.faults.lock());
    }

    /// From now on commits wait.
    pub fn hold(&self) {
        self.faults.lock().held = Some(Vec::new());
    }

    /// Whether a commit waits.
    pub fn is_holding(&self) -> bool {
        self.commits_held() > 0
    }

    pub fn commits_held(&self) -> usize {
        self.faults.lock().held.as_ref().map_or(0, Vec::len)
    }

    /// Does what waits.
    pub async fn go_on(&self) {
        let held = self.faults.lock().held.take();
        for (commit, reply) in held.into_iter().flatten() {
            reply.send(self.inner.commit(commit).await);
        }
    }
}

fn hiccup() -> StoreError {
    StoreError::Io { doing: "read", path: PathBuf::from("segment"), source: std::io::Error::other("the disk hiccuped") }
}

#[async_trait]
impl Store for Stubborn {
    fn commit(&self, commit: Commit) -> PendingCommit {
        if commit.cursors.iter().any(|(_, change)| matches!(change, CursorChange::Settle { .. })) {
            self.maybe_panic(Panics::Settle);
        }
        let mut faults = self.faults.lock();
        faults.topic_documents += usize::from(commit.documents.iter().any(|write| write.collection == "topics"));
        if let Some(held) = &mut faults.held {
            let (reply, pending) = PendingCommit::new();
            held.push((commit, reply));
            return pending;
        }
        if faults.refuse_appends && !commit.appends.is_empty() {
            let reason = "the disk is full".to_owned();
            return PendingCommit::known(Err(CommitError::Full { reason }));
        }
        let settles = commit.cursors.iter().any(|(_, change)| matches!(change, CursorChange::Settle { .. }));
        faults.settlements_tried += usize::from(settles);
        if faults.fail_settlements && settles {
            return PendingCommit::known(Err(CommitError::Failed {
                reason: "the disk hiccuped".to_owned(),
                outcome: Outcome::NotStored,
            }));
        }
        self.inner.commit(commit)
    }

    fn commit_each(&self, commit: Commit) -> PendingCommit {
        self.faults.lock().each += 1;
        self.commit(commit)
    }

    fn durability(&self) -> Durability {
        self.inner.durability()
    }

    async fn close(&self) -> Result<(), StoreError> {
        let mut faults = self.faults.lock();
        faults.closes += 1;
        if faults.fail_close { Err(hiccup()) } else { Ok(()) }
    }
}

#[async_trait]
impl Logs for Stubborn {
    async fn read(&self, log: &LogName, from: Offset, limit: ReadLimit) -> Result<ReadBatch, StoreError> {
        if log.topic.as_str() == "orders" {
            self.maybe_panic(Panics::Read);
        }
        if self.faults.lock().fail_reads {
            return Err(hiccup());
        }
        let mut batch = self.inner.read(log, from, limit).await?;
        if let Some(lost) = self.faults.lock().damaged.clone()
            && batch.records.iter().any(|record| lost.contains(&record.offset()))
        {
            batch.records.retain(|record| !lost.contains(&record.offset()));
            batch.damage = Some(Damage {
                file: PathBuf::from("segment"),
                position: 17,
                reason: "the record's checksum does not match".to_owned(),
                lost: Some(lost),
            });
        }
        Ok(batch)
    }

    async fn bounds(&self, log: &LogName) -> Result<Bounds, StoreError> {
        self.check_topic(log)?;
        self.inner.bounds(log).await
    }

    fn watch(&self, log: &LogName) -> HeadWatch {
        self.inner.watch(log)
    }

    async fn find(&self, log: &LogName, what: Find) -> Result<Option<Offset>, StoreError> {
        let appends = std::mem::take(&mut self.faults.lock().appends_at_find);
        for number in 0..appends {
            let event = NewEvent::new(log.topic.clone(), json!(number));
            let id = EventId::derived(&format!("late {number}"));
            let encoded = EncodedEvent::encode(&event, id, 0).unwrap();
            let append = Commit::append(log.clone(), encoded, Dedupe::Fresh);
            self.inner.commit(append).await.unwrap();
        }
        self.inner.find(log, what).await
    }

    async fn latest_by_key(&self, log: &LogName, keys: &[&str]) -> Result<Vec<Option<Record>>, StoreError> {
        self.inner.latest_by_key(log, keys).await
    }

    async fn trim(&self, log: &LogName, before: Offset) -> Result<Bounds, StoreError> {
        self.inner.trim(log, before).await
    }

    async fn compact(&self, log: &LogName, plan: CompactPlan<'_>) -> Result<CompactReport, StoreError> {
        self.check_topic(log)?;
        self.inner.compact(log, plan).await
    }

    async fn logs(&self) -> Result<Vec<LogInfo>, StoreError> {
        self.inner.logs().await
    }
}

#[async_trait]
impl Cursors for Stubborn {
    async fn take_cursor(&self, cursor: &CursorName, floor_if_new: Offset) -> Result<CursorState, StoreError> {
        if cursor.log.topic.as_str() == "orders" {
            self.maybe_panic(Panics::TakeCursor);
        }
        self.inner.take_cursor(cursor, floor_if_new).await
    }

    async fn cursor(&self, cursor: &CursorName) -> Result<Option<CursorState>, StoreError> {
        self.inner.cursor(cursor).await
    }

    async fn cursors(&self, topic: Option<&TopicName>) -> Result<Vec<(CursorName, CursorState)>, StoreError> {
        self.inner.cursors(topic).await
    }
}

#[async_trait]
impl Documents for Stubborn {
    async fn document(&self, collection: &str, key: &str) -> Result<Option<Document>, StoreError> {
        self.inner.document(collection, key).await
    }

    async fn documents(
        &self,
        collection: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Document>, StoreError> {
        self.inner.documents(collection, after, limit).await
    }

    fn watch_documents(&self, collection: &str) -> Option<DocumentWatch> {
        self.faults.lock().is_shared.then(|| self.silence.watch(collection))
    }
}

#[async_trait]
impl Leases for Stubborn {
    async fn acquire_lease(&self, name: &str, holder: &str, ttl: Duration) -> Result<Option<StoreLease>, StoreError> {
        self.maybe_panic(if name == "maintenance" { Panics::Maintain } else { Panics::SayThatItLives });
        match self.faults.lock().silenced.as_deref() {
            Some(silenced) if silenced == holder => return Err(hiccup()),
            _ => {}
        }
        self.inner.acquire_lease(name, holder, ttl).await
    }

    async fn held_lease(&self, name: &str) -> Result<Option<StoreLease>, StoreError> {
        self.inner.held_lease(name).await
    }

    async fn release_lease(&self, lease: &StoreLease) -> Result<(), StoreError> {
        self.inner.release_lease(lease).await
    }
}

fn cursor_name(topic: &str, group: &str) -> CursorName {
    let log = LogName::new(TopicName::parse(topic).unwrap(), 0);
    CursorName::new(log, GroupName::parse(group).unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_failed_settlement_is_told_and_carried_by_a_later_commit() {
    let (store, world) = Stubborn::new();
    let bus = world.bus().await;
    publish_numbers(&bus, "numbers", 0..3).await;
    let mut numbers = bus.subscribe("numbers", "g").from(Position::Earliest).start().await.unwrap();
    let first = next(&mut numbers).await;
    store.set(|faults| faults.fail_settlements = true);
    let told = soon(first.ack()).await.unwrap_err();
    assert!(matches!(told, Error::AckFailed { .. }), "{told}");
    let second = next(&mut numbers).await;
    assert_eq!(second.offset(), 1, "the group goes on, and the first is not handed out again");
    assert_eq!(floor(&bus, "numbers", "g").await, 0, "nothing is durable yet");
    store.set(|faults| faults.fail_settlements = false);
    soon(second.ack()).await.unwrap();
    assert_eq!(floor(&bus, "numbers", "g").await, 2, "both are durable now");
}

#[tokio::test(start_paused = true)]
async fn failing_settlements_are_tried_again_with_patience() {
    let (store, world) = Stubborn::new();
    let bus = world.bus().await;
    publish_numbers(&bus, "numbers", 0..1).await;
    let mut numbers = bus.subscribe("numbers", "g").from(Position::Earliest).start().await.unwrap();
    let first = next(&mut numbers).await;
    store.set(|faults| faults.fail_settlements = true);
    soon(first.ack()).await.unwrap_err();
    tokio::time::sleep(Duration::from_secs(60)).await;
    let tried = store.faults.lock().settlements_tried;
    assert!((10..30).contains(&tried), "tried {tried} times in a minute");
    store.set(|faults| faults.fail_settlements = false);
    until(async || floor(&bus, "numbers", "g").await == 1).await;
}

#[tokio::test(start_paused = true)]
async fn an_event_stays_until_its_dead_letter_can_be_written() {
    let (store, world) = Stubborn::new();
    let bus = world.bus().await;
    publish_numbers(&bus, "orders", 0..2).await;
    let mut orders = bus.subscribe("orders", "g").from(Position::Earliest).max_attempts(1).start().await.unwrap();
    store.set(|faults| faults.refuse_appends = true);
    soon(next(&mut orders).await.nack("broken")).await.unwrap();
    soon(next(&mut orders).await.ack()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(floor(&bus, "orders", "g").await, 0);
    let why = soon(bus.why("orders", "g")).await.unwrap();
    assert!(why.partitions[0].explanation.contains("cannot be written"), "{}", why.partitions[0].explanation);
    store.set(|faults| faults.refuse_appends = false);
    tokio::time::sleep(Duration::from_secs(31)).await;
    until(async || floor(&bus, "orders", "g").await == 2).await;
    assert_eq!(bus.read("dlq.orders", 0, 0, 10).await.unwrap().events.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_event_the_filter_fails_on_stays_while_letters_cannot_be_written() {
    let (store, world) = Stubborn::new();
    let bus = world.bus().await;
    bus.publish("mixed", json!("text")).await.unwrap();
    bus.publish("mixed", json!(2)).await.unwrap();
    store.set(|faults| faults.refuse_appends = true);
    let group = bus.subscribe("mixed", "g").from(Position::Earliest).filter(".payload + 1 > 0");
    let mut mixed = group.start().await.unwrap();
    assert_eq!(take_acked(&mut mixed, 1).await, [2]);
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(floor(&bus, "mixed", "g").await, 0);
    store.set(|faults| faults.refuse_appends = false);
    tokio::time::sleep(Duration::from_secs(60)).await;
    until(async || floor(&bus, "mixed", "g").await == 2).await;
    assert_eq!(bus.read("dlq.mixed", 0, 0, 10).await.unwrap().events.len(), 1);
}

#[tokio::test]
async fn a_fenced_dispatcher_stops_and_says_so() {
    let (store, world) = Stubborn::new();
    let bus = world.bus().await;
    publish_numbers(&bus, "numbers", 0..2).await;
    let mut numbers = bus.subscribe("numbers", "g").from(Position::Earliest).start().await.unwrap();
    let held = next(&mut numbers).await;
    store.take_cursor(&cursor_name("numbers", "g"), 0).await.unwrap();
    assert!(matches!(soon(held.ack()).await, Err(Error::Fenced { .. })));
    while soon(numbers.next()).await.is_some() {}
    assert!(matches!(numbers.failure(), Some(Error::Fenced { .. })));
    drop(numbers);
    let mut again = bus.subscribe("numbers", "g").start().await.unwrap();
    assert_eq!(take_acked(&mut again, 2).await, [0, 1]);
}

#[tokio::test]
async fn damage_is_a_gap_and_the_rest_is_delivered() {
    let (store, world) = Stubborn::new();
    let bus = world.bus().await;
    publish_numbers(&bus, "numbers", 0..6).await;
    store.set(|faults| faults.damaged = Some(2..4));
    let mut numbers = bus.subscribe("numbers", "g").from(Position::Earliest).start().await.unwrap();
    assert_eq!(take_acked(&mut numbers, 4).await, [0, 1, 4, 5]);
    let gaps = numbers.take_gaps();
    assert_eq!((gaps.len(), gaps[0].from, gaps[0].to), (1, 2, 4));
    assert!(matches!(&gaps[0].reason, GapReason::Damage(place) if place.contains("byte 17")));
    assert_eq!(floor(&bus, "numbers", "g").await, 6);
}

#[tokio::test(start_paused = true)]
async fn reads_that_fail_for_a_while_cost_no_attempts() {
    let (store, world) = Stubborn::new();
    let bus = world.bus().await;
    publish_numbers(&bus, "numbers", 0..2).await;
    let group = bus.subscribe("numbers", "g").from(Position::Earliest);
    let mut numbers = group.start().await.unwrap();
    soon(next(&mut numbers).await.nack("not now")).await.unwrap();
    store.set(|faults| faults.fail_reads = true);
    tokio::time::sleep(Duration::from_secs(20)).await;
    store.set(|faults| faults.fail_reads = false);
    let second = next(&mut numbers).await;
    assert_eq!((second.offset(), second.attempt()), (1, 1));
    soon(second.ack()).await.unwrap();
    let first = next(&mut numbers).await;
    assert_eq!((first.offset(), first.attempt()), (0, 2));
}

#[tokio::test]
async fn a_first_publish_that_fails_stores_nothing_and_the_next_one_works() {
    let (store, world) = Stubborn::new();
    let bus = world.bus().await;
    store.set(|faults| faults.refuse_appends = true);
    let refused = bus.publish("new", json!(1)).await.unwrap_err();
    assert!(
        matches!(&refused, Error::PublishFailed { stored: Outcome::NotStored, reason } if reason.contains("full")),
        "{refused}"
    );
    assert!(bus.topics().await.unwrap().is_empty());
    store.set(|faults| faults.refuse_appends = false);
    assert_eq!(bus.publish("new", json!(1)).await.unwrap().offset, 0);
    assert_eq!(bus.topics().await.unwrap().len(), 1);
}
