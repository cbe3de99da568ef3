//! A topic as it was: what time travel answers is what going through everything ever published gives, or nothing.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use prom_engine::{Bus, BusOptions, TopicSettings};
use prom_jobs::{JobError, KeyState, SnapshotBuild, SnapshotStep, TimeTravel, snapshot_topic, snapshots};
use prom_store::contract::TestClock;
use prom_store::memory::ACTIVE_EVENTS;
use prom_store::{Clock, MemoryStore, Store};
use prom_store_embedded::{EmbeddedOptions, EmbeddedStore, Sizes, Sync};
use prom_types::{Compaction, EpochMs, TopicName, partition_of};
use serde_json::{Value, json};

const STATE: &str = "process.state";

/// Random numbers that a seed repeats.
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % limit
    }
}

/// Everything that was ever published.
#[derive(Default)]
struct Everything(Vec<Published>);

struct Published {
    key: String,
    stored_ts: EpochMs,
    partition: u32,
    offset: u64,
    is_live: bool,
}

impl Everything {
    /// Goes through all of it.
    fn at(&self, ts: EpochMs) -> BTreeMap<&str, (u32, u64)> {
        let mut state = BTreeMap::new();
        for event in self.0.iter().filter(|event| event.stored_ts <= ts) {
            if event.is_live {
                state.insert(event.key.as_str(), (event.partition, event.offset));
            } else {
                state.remove(event.key.as_str());
            }
        }
        state
    }
}

struct World {
    bus: Bus,
    clock: Arc<TestClock>,
    topic: TopicName,
    partitions: u32,
    all: Everything,
    dice: Dice,
    answered: u64,
    gone: u64,
}

impl World {
    async fn new(seed: u64, compaction: Option<Compaction>, partitions: u32) -> Self {
        let clock = Arc::new(TestClock::default());
        Self::over(Arc::new(MemoryStore::new(clock.clone())), clock, seed, compaction, partitions).await
    }

    /// In a directory, with segments so small that there are many.
    async fn on_disk(seed: u64, compaction: Option<Compaction>, partitions: u32) -> (Self, tempfile::TempDir) {
        let (clock, dir) = (Arc::new(TestClock::default()), tempfile::tempdir().unwrap());
        let options =
            EmbeddedOptions { clock: clock.clone(), sync: Sync::Os, sizes: Sizes::tiny(), ..Default::default() };
        let store = EmbeddedStore::open_with(dir.path(), options).await.unwrap();
        (Self::over(store, clock, seed, compaction, partitions).await, dir)
    }

    async fn over(
        store: Arc<dyn Store>,
        clock: Arc<TestClock>,
        seed: u64,
        compaction: Option<Compaction>,
        partitions: u32,
    ) -> Self {
        let options = BusOptions { clock: clock.clone(), maintenance_interval: None, ..BusOptions::default() };
        let bus = Bus::start(store, options).await.unwrap();
        let topic = TopicName::parse(STATE).unwrap();
        let settings =
            TopicSettings::new(STATE).unwrap().partitions(partitions).retain_for(Duration::from_secs(100_000));
        bus.create_topic(TopicSettings { compaction, ..settings }).await.unwrap();
        let (all, dice) = (Everything::default(), Dice(seed | 1));
        Self { bus, clock, topic, partitions, all, dice, answered: 0, gone: 0 }
    }

    async fn publish(&mut self) {
        let key = format!("k{}", self.dice.below(12));
        let is_live = self.dice.below(4) > 0;
        let payload = if is_live { json!({"n": self.all.0.len()}) } else { Value::Null };
        let receipt = self.bus.publish(STATE, payload).key(&key).await.unwrap();
        let partition = partition_of(&key, self.partitions);
        assert_eq!(receipt.partition, partition);
        let (stored_ts, offset) = (receipt.stored_ts, receipt.offset);
        self.all.0.push(Published { key, stored_ts, partition, offset, is_live });
    }

    async fn snapshot(&mut self) {
        let mut build = SnapshotBuild::start(&self.bus, &self.topic).await.unwrap();
        for _ in 0..10_000 {
            // Now and then the process is gone and another goes on.
            if self.dice.below(10) == 0 {
                build.give_back().await;
                build = SnapshotBuild::start(&self.bus, &self.topic).await.unwrap();
            }
            match build.step().await.unwrap() {
                SnapshotStep::Done(_) => return build.give_back().await,
                _ if self.dice.below(3) == 0 => self.publish().await,
                _ => {}
            }
        }
        panic!("a snapshot does not end");
    }

    async fn retain(&mut self) {
        let ages = [10_000, 40_000, 100_000_000];
        let age = Duration::from_millis(ages[self.dice.below(3) as usize]);
        let settings = self.bus.topic_settings(STATE).await.unwrap().retain_for(age);
        self.bus.create_topic(settings).await.unwrap();
        if let Ok(place) = self.bus.topic_settings(&snapshot_topic(&self.topic).unwrap()).await {
            self.bus.create_topic(place.retain_for(Duration::from_millis(60_000))).await.unwrap();
        }
        self.bus.retain_now().await.unwrap();
    }

    async fn act(&mut self) {
        match self.dice.below(100) {
            0..=69 => self.publish().await,
            70..=89 => self.clock.advance(Duration::from_millis(self.dice.below(2_000))),
            90..=92 => self.snapshot().await,
            93..=94 => drop(self.bus.compact_now().await.unwrap()),
            95 => self.retain().await,
            _ => self.clock.advance(Duration::from_secs(5)),
        }
    }

    async fn check(&mut self) {
        let now = self.clock.now_ms();
        let first = self.all.0.first().map_or(now, |event| event.stored_ts);
        // Of all times, and as often of the last ones, of which more is left.
        let first = if self.dice.below(2) == 0 { first } else { first.max(now - 15_000) };
        let ts = first - 1 + self.dice.below((now - first + 2) as u64) as EpochMs;
        let travel = TimeTravel::new(&self.bus, self.topic.clone());
        let expected = self.all.at(ts);
        let key = format!("k{}", self.dice.below(12));
        match travel.key_at(ts, &key).await {
            Ok(found) => {
                assert_eq!(found.as_ref().map(place), expected.get(key.as_str()).copied(), "{key} at {ts}");
                self.answered += 1;
            }
            Err(JobError::HistoryGone { earliest, .. }) => {
                assert!(earliest.is_none_or(|earliest| earliest > ts), "{ts} is refused, and {earliest:?} is promised");
                self.gone += 1;
            }
            Err(error) => panic!("{error}"),
        }
        let mut found = BTreeMap::new();
        let mut from = String::new();
        loop {
            match travel.keys_at(ts, &from, 1 + self.dice.below(5) as usize).await {
                Ok(page) => {
                    for item in &page.items {
                        let whole: Value = serde_json::from_slice(item.event.as_deref().unwrap()).unwrap();
                        assert_eq!(
                            (whole["offset"].as_u64(), whole["key"].as_str()),
                            (Some(item.offset), Some(&*item.key))
                        );
                        assert!(found.insert(item.key.clone(), place(item)).is_none(), "{} comes twice", item.key);
                    }
                    let Some(next) = page.next else { break };
                    from = next;
                }
                Err(JobError::HistoryGone { .. }) if from.is_empty() => return,
                Err(error) => panic!("{error}"),
            }
        }
        let found: BTreeMap<&str, _> = found.iter().map(|(key, place)| (key.as_str(), *place)).collect();
        assert_eq!(found, expected, "all keys at {ts}");
    }

    async fn check_changes(&mut self) {
        let now = self.clock.now_ms();
        let first = self.all.0.first().map_or(now, |event| event.stored_ts);
        let mut times = [0, 0].map(|_: u64| first + self.dice.below((now - first + 1) as u64) as EpochMs);
        times.sort_unstable();
        let [from, to] = times;
        let travel = TimeTravel::new(&self.bus, self.topic.clone());
        let (before, after) = (self.all.at(from), self.all.at(to));
        let mut found = BTreeMap::new();
        let mut from_key = String::new();
        loop {
            match travel.changes(from, to, &from_key, 3).await {
                Ok(page) => {
                    for change in page.items {
                        let places = (change.before.as_ref().map(place), change.after.as_ref().map(place));
                        found.insert(change.key, places);
                    }
                    let Some(next) = page.next else { break };
                    from_key = next;
                }
                Err(JobError::HistoryGone { .. }) => return,
                Err(error) => panic!("{error}"),
            }
        }
        let keys = before.keys().chain(after.keys());
        let places = |key: &&str| (before.get(key).copied(), after.get(key).copied());
        let expected = keys.map(|key| (key.to_string(), places(key))).filter(|(_, (before, after))| before != after);
        assert_eq!(found, expected.collect(), "between {from} and {to}");
    }
}

fn place(state: &KeyState) -> (u32, u64) {
    (state.partition, state.offset)
}

#[tokio::test]
async fn every_time_has_the_answer_of_a_full_replay_or_none() {
    let in_memory = async |seed, compaction, partitions| (World::new(seed, compaction, partitions).await, None);
    check_histories(2_000, in_memory).await;
}

#[tokio::test]
async fn so_it_is_on_a_disk() {
    let on_disk = async |seed, compaction, partitions| {
        let (world, dir) = World::on_disk(seed, compaction, partitions).await;
        (world, Some(dir))
    };
    check_histories(400, on_disk).await;
}

async fn check_histories(
    usual: u64,
    open: impl AsyncFn(u64, Option<Compaction>, u32) -> (World, Option<tempfile::TempDir>),
) {
    let checks: u64 = std::env::var("PROM_STEPS").ok().and_then(|steps| steps.parse().ok()).unwrap_or(usual);
    let only: Option<u64> = std::env::var("PROM_SEED").ok().and_then(|seed| seed.parse().ok());
    let (mut done, mut answered, mut gone, mut seed) = (0, 0, 0, only.unwrap_or(1));
    while done < checks {
        println!("PROM_SEED={seed}");
        let compaction = [None, Some((0, 3_000)), Some((10_000, 500))][(seed % 3) as usize];
        let compaction =
            compaction.map(|(min_age_ms, tombstone_grace_ms)| Compaction { tombstone_grace_ms, min_age_ms });
        let dice = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let (mut world, _dir) = open(dice, compaction, 1 + (seed % 2) as u32 * 2).await;
        if !seed.is_multiple_of(4) {
            world.publish().await;
            world.snapshot().await;
        }
        for _ in 0..20 {
            for _ in 0..40 {
                world.act().await;
            }
            for _ in 0..5 {
                world.check().await;
            }
            world.check_changes().await;
            done += 6;
        }
        (answered, gone) = (answered + world.answered, gone + world.gone);
        if only.is_some() {
            break;
        }
        seed += 1;
    }
    println!("{done} checks: {answered} answered, {gone} gone");
    assert!(only.is_some() || answered > done / 5, "nearly every time is refused: {answered} of {done}");
    assert!(answered > 0 && (only.is_some() || gone > 0), "{answered} answered, {gone} gone");
}

#[tokio::test]
async fn a_snapshot_covers_what_was_there_when_it_began_and_nothing_after() {
    let mut world = World::new(7, None, 2).await;
    for _ in 0..50 {
        world.publish().await;
    }
    let live = world.all.at(EpochMs::MAX).len() as u64;
    let mut build = SnapshotBuild::start(&world.bus, &world.topic).await.unwrap();
    assert_eq!(build.step().await.unwrap(), SnapshotStep::Written(0));
    for _ in 0..50 {
        world.publish().await;
    }
    let snapshot = loop {
        if let SnapshotStep::Done(snapshot) = build.step().await.unwrap() {
            break snapshot;
        }
    };
    build.give_back().await;
    assert_eq!((snapshot.count, snapshot.whole), (live, true));
    let place = snapshot_topic(&world.topic).unwrap();
    for (partition, part) in (0..).zip(&snapshot.partitions) {
        let events = world.bus.read(&place, partition, part.first, 1000).await.unwrap().events;
        let (marker, states) = events.split_last().unwrap();
        assert!(states.iter().is_sorted_by_key(|event| event.key()), "keys are not in order");
        let marker: Value = marker.payload().unwrap();
        assert_eq!(marker["snapshot"], snapshot.id.to_string());
        assert_eq!((&marker["count"], &marker["covered_offset"]), (&json!(states.len()), &json!(part.covered)));
        for state in states {
            let original: prom_types::Event = state.payload().unwrap();
            let read = world.bus.read(STATE, partition, original.offset, 1).await.unwrap();
            assert_eq!(read.events[0].to_event().unwrap(), original, "the payload is not the whole original event");
        }
    }
}

#[tokio::test]
async fn the_newest_complete_snapshot_outlives_retention_and_older_ones_go() {
    let mut world = World::new(9, None, 1).await;
    for _ in 0..3 {
        world.publish().await;
        world.snapshot().await;
        world.clock.advance(Duration::from_secs(40));
    }
    let place = snapshot_topic(&world.topic).unwrap();
    let settings = world.bus.topic_settings(&place).await.unwrap().retain_for(Duration::from_millis(1));
    world.bus.create_topic(settings).await.unwrap();
    let newest = snapshots(&world.bus, &world.topic).await.unwrap().pop().unwrap();
    world.bus.retain_now().await.unwrap();
    assert_eq!(snapshots(&world.bus, &world.topic).await.unwrap(), [newest]);
}

#[tokio::test]
async fn nobody_else_publishes_to_a_topic_of_snapshots() {
    let mut world = World::new(11, None, 1).await;
    world.publish().await;
    world.snapshot().await;
    let refused = world.bus.publish("process.state.snapshot", json!(1)).key("a").await.unwrap_err();
    assert!(refused.to_string().contains("process.state.snapshot"), "{refused}");
    world.bus.publish("orders.snapshot", json!(1)).await.unwrap();
    world.bus.publish("orders", json!(1)).key("a").await.unwrap();
    let refused = SnapshotBuild::start(&world.bus, &TopicName::parse("orders").unwrap()).await.err().unwrap();
    assert!(matches!(refused, JobError::SnapshotTopic { .. }), "{refused}");
}

#[tokio::test]
async fn compaction_leaves_what_a_group_has_yet_to_read() {
    let compaction = Compaction { tombstone_grace_ms: 1000, min_age_ms: 0 };
    let world = World::new(13, Some(compaction), 1).await;
    let mut reader = world.bus.subscribe(STATE, "slow").from(prom_engine::Position::Earliest).start().await.unwrap();
    for n in 0..ACTIVE_EVENTS * 3 {
        world.bus.publish(STATE, json!(n)).key("a").await.unwrap();
    }
    for _ in 0..5 {
        reader.next().await.unwrap().ack().await.unwrap();
    }
    world.bus.compact_now().await.unwrap();
    let left = world.bus.read(STATE, 0, 0, 1000).await.unwrap().events;
    let floor = world.bus.cursor(STATE, "slow").await.unwrap()[0].offset;
    let kept: Vec<u64> = left.iter().map(|event| event.offset()).filter(|offset| *offset >= floor).collect();
    assert_eq!(kept, (floor..ACTIVE_EVENTS as u64 * 3).collect::<Vec<_>>());
    assert!(left.len() < ACTIVE_EVENTS * 3, "what the group has read was not compacted");
}
