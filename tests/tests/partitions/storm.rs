//! A hundred members come and go over 64 partitions, under load.
//!
//! `PROM_STORM_SECONDS` makes it longer (5; 30 is the long form), `PROM_STORM_SEED` changes it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use prom_testkit::Random;
use prom_types::partition_of;
use promethean::{
    Arrivals, AssignmentChange, Bus, BusOptions, Delivery, EmbeddedStore, Mode, Position, Publishing, Subscription,
    TopicSettings, ack_all, json,
};
use tempfile::TempDir;
use tokio::task::JoinSet;

use super::history::{AckSeen, EventAt, Handled, Life, OwnerSeen, StormHistory, Tenure, Timing};
use crate::rounds::rounds;

const TOPIC: &str = "storm";
const GROUP: &str = "g";
const MEMBERS: u64 = 100;
const PARTITIONS: u32 = 64;
const KEYS: u64 = 1000;
const TTL: Duration = Duration::from_millis(400);
/// The time between two batches of the publisher, and the events in each.
const LOAD: (Duration, u64) = (Duration::from_millis(5), 24);
/// The longest pause of a partition that does not move, in an optimised build on an idle machine.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

struct Storm {
    bus: Bus,
    layout: Layout,
    history: Mutex<StormHistory>,
    lives: AtomicU64,
    /// No more members come back, and no more events.
    over: AtomicBool,
    /// When each event was handed to the bus, by key and number.
    published_at: Mutex<BTreeMap<(String, u64), Instant>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// The topic has them.
    Physical,
    /// The topic has one; the group divides it.
    Virtual,
}

/// How a life ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Unsubscribes,
    /// Leaves without notice and settles its events too late.
    Drops,
    /// Falls silent, and settles its events too late.
    FallsSilent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pace {
    Quick,
    /// Holds its events for a while.
    Slow,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_members_flapping_over_the_partitions_of_a_topic_break_no_promise() {
    storm(Layout::Physical).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_members_flapping_over_virtual_partitions_break_no_promise() {
    storm(Layout::Virtual).await;
}

async fn storm(layout: Layout) {
    let (seconds, seed) = (rounds("PROM_STORM_SECONDS", 5), rounds("PROM_STORM_SEED", 1));
    let directory = TempDir::new().unwrap();
    let store = EmbeddedStore::open(directory.path()).await.unwrap();
    let bus = Bus::start(store, BusOptions::default()).await.unwrap();
    let partitions = if layout == Layout::Physical { PARTITIONS } else { 1 };
    bus.create_topic(TopicSettings::new(TOPIC).unwrap().partitions(partitions)).await.unwrap();
    let storm = Arc::new(Storm {
        bus: bus.clone(),
        layout,
        history: Mutex::default(),
        lives: AtomicU64::new(0),
        over: AtomicBool::new(false),
        published_at: Mutex::default(),
    });
    let mut tasks = JoinSet::new();
    for member in 0..MEMBERS {
        tasks.spawn(storm.clone().flap(member, Random::seeded(seed * 1000 + member)));
    }
    tasks.spawn(storm.clone().publish(Random::seeded(seed)));
    tasks.spawn(storm.clone().watch_owners());
    let stall = tokio::spawn(longest_stall(storm.clone()));
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    storm.over.store(true, Ordering::Relaxed);
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
    storm.settle_the_rest().await;
    let stall = stall.await.unwrap();
    let verdict = storm.history.lock().unwrap().judge();
    eprintln!("storm ({layout:?}, seed {seed}, {seconds} s): {verdict:?}; the runtime itself stalled for {stall:?}");
    let is_storm = verdict.published > 1000 && verdict.lives > 100;
    assert!(is_storm && verdict.handled as u64 >= verdict.published, "the storm proved nothing: {verdict:?}");
    assert!(verdict.epochs > PARTITIONS as usize && verdict.late_acks_refused > 0, "nothing moved: {verdict:?}");
    // An unoptimised build on a shared machine says little about pauses: only a hang is found.
    let allowed = if cfg!(debug_assertions) { Duration::from_secs(3) } else { LONGEST_PAUSE + 2 * stall };
    assert!(verdict.worst_wait <= allowed, "{:?} is more than {allowed:?}", verdict.worst_wait);
}

/// The worst delay of a timer: every member waited for it, owner or not.
async fn longest_stall(storm: Arc<Storm>) -> Duration {
    let (step, mut worst) = (Duration::from_millis(2), Duration::ZERO);
    while !storm.is_over() {
        let begin = Instant::now();
        tokio::time::sleep(step).await;
        worst = worst.max(begin.elapsed().saturating_sub(step));
    }
    worst
}

impl Storm {
    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    async fn publish(self: Arc<Self>, mut random: Random) {
        let mut numbers: BTreeMap<String, u64> = BTreeMap::new();
        let mut ticks = tokio::time::interval(LOAD.0);
        while !self.is_over() {
            ticks.tick().await;
            let mut batch: Vec<Publishing> = Vec::new();
            for _ in 0..LOAD.1 {
                let key = format!("k{}", random.within(0..KEYS));
                let number = numbers.entry(key.clone()).or_default();
                self.published_at.lock().unwrap().insert((key.clone(), *number), Instant::now());
                batch.push(self.bus.publish(TOPIC, json!(*number)).key(key).send());
                *number += 1;
            }
            for sent in batch {
                sent.await.unwrap();
            }
        }
        self.history.lock().unwrap().published = numbers;
    }

    async fn watch_owners(self: Arc<Self>) {
        while !self.is_over() {
            if let Ok(Some(owners)) = self.bus.partition_owners(TOPIC, GROUP).await {
                let owner = |one: promethean::PartitionOwner| {
                    Some(OwnerSeen { partition: one.partition, epoch: one.epoch, member: one.owner? })
                };
                let owners: Vec<OwnerSeen> = owners.partitions.into_iter().filter_map(owner).collect();
                self.history.lock().unwrap().owners.extend(owners);
            }
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
    }

    /// One member after the other under one name.
    async fn flap(self: Arc<Self>, member: u64, mut random: Random) {
        while !self.is_over() {
            tokio::time::sleep(Duration::from_millis(random.within(0..600))).await;
            let ending = match random.within(0..4) {
                0 | 1 => Ending::Unsubscribes,
                2 => Ending::Drops,
                _ => Ending::FallsSilent,
            };
            let time = Duration::from_millis(random.within(100..1500));
            let pace = if random.one_in(4) { Pace::Slow } else { Pace::Quick };
            self.live(&format!("member-{member}"), time, ending, pace).await;
        }
    }

    async fn join(&self, member: &str) -> Subscription {
        let subscribe = self.bus.subscribe(TOPIC, GROUP).from(Position::Earliest).member_id(member);
        let subscribe = subscribe.ttl(TTL).tell_assignments().max_in_flight(100);
        let subscribe = match self.layout {
            Layout::Physical => subscribe.mode(Mode::Partitioned),
            Layout::Virtual => subscribe.partitions(PARTITIONS),
        };
        subscribe.start().await.unwrap()
    }

    async fn live(&self, member: &str, time: Duration, ending: Ending, pace: Pace) {
        let life = self.lives.fetch_add(1, Ordering::Relaxed);
        let mut subscription = self.join(member).await;
        let control = subscription.control();
        let end = Instant::now() + time;
        let mut held: Vec<Delivery> = Vec::new();
        while Instant::now() < end {
            control.heartbeat(self.bus.clock().monotonic());
            let wait = (end - Instant::now()).min(TTL / 8);
            let Ok(arrivals) = tokio::time::timeout(wait, subscription.next_arrivals()).await else { continue };
            assert!(!arrivals.is_empty(), "life {life} ended by itself: {:?}", subscription.failure());
            let deliveries = self.hear(life, arrivals);
            if pace == Pace::Slow {
                tokio::time::sleep(Duration::from_millis(20)).await;
                control.heartbeat(self.bus.clock().monotonic());
            }
            self.ack_at_once(life, deliveries).await;
        }
        // The last event is held back.
        if ending != Ending::Unsubscribes
            && let Ok(arrivals) = tokio::time::timeout(TTL / 4, subscription.next_arrivals()).await
        {
            held = self.hear(life, arrivals);
        }
        match ending {
            Ending::Unsubscribes | Ending::Drops => {
                self.let_go(life);
                subscription.unsubscribe().await;
            }
            Ending::FallsSilent => {
                while !control.is_ended() {
                    // It only listens, and sends nothing.
                    drop(
                        tokio::time::timeout(TTL / 8, async { self.hear_notices(life, &mut subscription).await }).await,
                    );
                }
                self.let_go(life);
            }
        }
        self.ack_late(life, held).await;
    }

    async fn hear_notices(&self, life: Life, subscription: &mut Subscription) {
        let arrivals = subscription.next_arrivals().await;
        self.note_changes(life, arrivals.assignments);
        tokio::time::sleep(TTL).await;
    }

    /// Writes down what came; a delivered event counts as handled.
    fn hear(&self, life: Life, arrivals: Arrivals) -> Vec<Delivery> {
        let Arrivals { assignments, gaps, deliveries } = arrivals;
        assert!(gaps.is_empty());
        self.note_changes(life, assignments);
        let mut handled = Vec::with_capacity(deliveries.len());
        for delivery in &deliveries {
            let (key, number) = (delivery.key().unwrap().to_owned(), delivery.payload().unwrap());
            let published_at = self.published_at.lock().unwrap()[&(key.clone(), number)];
            handled.push((self.place(delivery), key, number, published_at));
        }
        let mut history = self.history.lock().unwrap();
        let at = Instant::now();
        history.handled.extend(handled.into_iter().map(|(place, key, number, published_at)| Handled {
            life,
            place,
            key,
            number,
            published_at,
            at,
        }));
        deliveries
    }

    fn note_changes(&self, life: Life, changes: Vec<AssignmentChange>) {
        let now = Instant::now();
        let mut history = self.history.lock().unwrap();
        for change in changes {
            match change {
                AssignmentChange::Assigned { partitions, .. } => {
                    let tenure = |partition| Tenure { life, partition, from: now, until: None };
                    history.tenures.extend(partitions.into_iter().map(tenure));
                }
                AssignmentChange::Revoked { partitions, .. } => {
                    let open = |tenure: &&mut Tenure| {
                        tenure.life == life && tenure.until.is_none() && partitions.contains(&tenure.partition)
                    };
                    history.tenures.iter_mut().filter(open).for_each(|tenure| tenure.until = Some(now));
                }
            }
        }
    }

    fn let_go(&self, life: Life) {
        let now = Instant::now();
        let mut history = self.history.lock().unwrap();
        let open = |tenure: &&mut Tenure| tenure.life == life && tenure.until.is_none();
        history.tenures.iter_mut().filter(open).for_each(|tenure| tenure.until = Some(now));
    }

    async fn ack_at_once(&self, life: Life, deliveries: Vec<Delivery>) {
        let places: Vec<EventAt> = deliveries.iter().map(|delivery| self.place(delivery)).collect();
        let sent_at = Instant::now();
        // A member that loses a partition at this moment is refused for its events; the rest is settled.
        let _partly = ack_all(deliveries).await;
        self.note_acks(places.into_iter().map(|place| (place, true)), life, sent_at, Timing::InTime);
    }

    /// One by one: each answer matters.
    async fn ack_late(&self, life: Life, deliveries: Vec<Delivery>) {
        let sent_at = Instant::now();
        let mut answers = Vec::new();
        for delivery in &deliveries {
            answers.push((self.place(delivery), delivery.ack().await.is_ok()));
        }
        self.note_acks(answers.into_iter(), life, sent_at, Timing::Late);
    }

    fn note_acks(&self, acks: impl Iterator<Item = (EventAt, bool)>, life: Life, sent_at: Instant, timing: Timing) {
        let answered_at = Instant::now();
        let ack = |(place, accepted)| AckSeen { life, place, sent_at, answered_at, accepted, timing };
        self.history.lock().unwrap().acks.extend(acks.map(ack));
    }

    /// A few members that stay take the rest.
    async fn settle_the_rest(&self) {
        let mut calm = Vec::new();
        for member in ["calm-1", "calm-2"] {
            calm.push((self.lives.fetch_add(1, Ordering::Relaxed), self.join(member).await));
        }
        let begin = Instant::now();
        while self.bus.lag(TOPIC, GROUP).await.unwrap().lag_events > 0 {
            assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", self.bus.why(TOPIC, GROUP).await);
            for (life, subscription) in &mut calm {
                subscription.control().heartbeat(self.bus.clock().monotonic());
                let wait = Duration::from_millis(20);
                if let Ok(arrivals) = tokio::time::timeout(wait, subscription.next_arrivals()).await {
                    let deliveries = self.hear(*life, arrivals);
                    self.ack_at_once(*life, deliveries).await;
                }
            }
        }
    }

    fn place(&self, delivery: &Delivery) -> EventAt {
        let partition = match self.layout {
            Layout::Physical => delivery.partition(),
            Layout::Virtual => partition_of(delivery.key().unwrap_or_default(), PARTITIONS),
        };
        (partition, delivery.offset())
    }
}
