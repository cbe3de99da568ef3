//! The process that crash tests kill: `crash_child DIRECTORY HISTORY SEED`.
//!
//! It publishes, subscribes, acks and nacks forever. It writes down each action before it starts, and each promise after
//! the bus has answered (see `prom_testkit::history`). Restarted on the same directory, it first sends the unanswered
//! events again, under the same ids.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, anyhow};
use prom_store::{CursorName, LogName};
use prom_testkit::Random;
use prom_testkit::history::{Fact, History};
use prom_tests::small_files;
use prom_types::IdMaker;
use promethean::{
    Bus, BusOptions, Clock, Delivery, EmbeddedOptions, EmbeddedStore, Error, EventId, GroupName, Json, NewEvent, Order,
    Position, Publishing, Subscription, SystemClock, TopicName, TopicSettings,
};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

const PUBLISHERS: u64 = 4;
const IN_FLIGHT: usize = 32;
const SETTLING_AT_ONCE: usize = 64;
const MAX_ATTEMPTS: u32 = 4;
/// Choices below this ack; some above it nack.
const NACK: u64 = 85;
/// One event in this many is never acked and becomes a dead letter.
const POISON_EVERY: u64 = 40;

/// The history file; a fact is one write.
#[derive(Clone)]
struct Notes(Arc<Mutex<File>>);

impl Notes {
    fn write(&self, fact: &Fact) -> anyhow::Result<()> {
        let mut file = self.0.lock().map_err(|_| anyhow!("a writer panicked"))?;
        Ok(file.write_all(fact.to_line()?.as_bytes())?)
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut argument = |what: &'static str| arguments.next().with_context(|| format!("{what} is missing"));
    let directory = PathBuf::from(argument("directory")?);
    let history = PathBuf::from(argument("history")?);
    let seed: u64 = argument("seed")?.parse()?;

    let past = History::parse(&std::fs::read_to_string(&history).unwrap_or_default())?;
    let file = OpenOptions::new().create(true).append(true).open(&history)?;
    let notes = Notes(Arc::new(Mutex::new(file)));
    let bus = open(directory).await?;
    let mut tasks = JoinSet::new();
    for publisher in 0..PUBLISHERS {
        tasks.spawn(publish(bus.clone(), notes.clone(), publisher, past.clone()));
    }
    for (number, group) in ["billing", "billing", "audit"].into_iter().enumerate() {
        let random = Random::seeded(seed ^ (number as u64 + 1));
        tasks.spawn(consume(bus.clone(), notes.clone(), group, random));
    }
    match tasks.join_next().await {
        Some(Ok(Err(error))) => Err(error),
        Some(Err(panicked)) => Err(panicked.into()),
        ended => Err(anyhow!("a task ended: {ended:?}")),
    }
}

async fn open(directory: PathBuf) -> anyhow::Result<Bus> {
    let options = EmbeddedOptions { sizes: small_files(), ..EmbeddedOptions::default() };
    let store = EmbeddedStore::open_with(directory, options).await?;
    let bus = Bus::start(store, BusOptions::default()).await?;
    bus.create_topic(TopicSettings::new("stock.moved")?.partitions(3)).await?;
    Ok(bus)
}

/// The same publisher and sequence always make the same event.
fn event(publisher: u64, sequence: u64, id: EventId) -> anyhow::Result<NewEvent> {
    let mut random = Random::seeded(publisher << 40 | sequence);
    let topic = if random.one_in(2) { "orders.placed" } else { "stock.moved" };
    let length = if random.one_in(50) { random.index(20_000) } else { random.index(400) };
    let payload = format!("{{\"n\":{sequence},\"text\":\"{}\"}}", "z".repeat(length));
    let mut event = NewEvent::new(TopicName::parse(topic)?, Json::parse(payload)?);
    event.id = Some(id);
    event.key = random.one_in(2).then(|| format!("key-{}", random.within(0..20)));
    Ok(event)
}

async fn publish(bus: Bus, notes: Notes, publisher: u64, past: History) -> anyhow::Result<()> {
    let (mut unanswered, mut sequence) = unanswered(&past, publisher);
    let (ids, clock) = (IdMaker::new(), SystemClock::new());
    let mut waiting: VecDeque<(NewEvent, Publishing)> = VecDeque::new();
    loop {
        let (number, id) = match unanswered.pop_front() {
            Some(again) => again,
            None => {
                sequence += 1;
                let id = ids.make(clock.now_ms());
                (sequence, id)
            }
        };
        let event = event(publisher, number, id)?;
        notes.write(&Fact::Sent { publisher, sequence: number, id })?;
        let publishing = bus.publish_event(event.clone());
        waiting.push_back((event, publishing));
        while waiting.len() >= IN_FLIGHT
            && let Some((event, publishing)) = waiting.pop_front()
        {
            let receipt = publishing.await?;
            notes.write(&Fact::Stored {
                id: receipt.id,
                log: LogName::new(event.topic, receipt.partition),
                offset: receipt.offset,
            })?;
        }
    }
}

/// What this publisher sent without an answer, in order, and its last sequence.
fn unanswered(past: &History, publisher: u64) -> (VecDeque<(u64, EventId)>, u64) {
    let stored: std::collections::HashSet<_> = past
        .0
        .iter()
        .filter_map(|fact| match fact {
            Fact::Stored { id, .. } => Some(*id),
            _ => None,
        })
        .collect();
    let mut sent: Vec<_> = past
        .0
        .iter()
        .filter_map(|fact| match fact {
            Fact::Sent { publisher: by, sequence, id } if *by == publisher => Some((*sequence, *id)),
            _ => None,
        })
        .collect();
    sent.sort_unstable();
    sent.dedup();
    let last = sent.last().map_or(0, |(sequence, _)| *sequence);
    let open = sent.into_iter().filter(|(_, id)| !stored.contains(id)).collect();
    (open, last)
}

async fn consume(bus: Bus, notes: Notes, group: &'static str, mut random: Random) -> anyhow::Result<()> {
    let wanted = match group {
        "audit" => bus.subscribe("**", group).order(Order::Key),
        _ => bus.subscribe("orders.placed", group).topics(["stock.moved"]),
    };
    let mut subscription: Subscription = wanted
        .from(Position::Earliest)
        .max_attempts(MAX_ATTEMPTS)
        .backoff(Duration::from_millis(5), Duration::from_millis(50))
        .ack_timeout(Duration::from_millis(300))
        .max_in_flight(200)
        .start()
        .await?;
    let group = GroupName::parse(group)?;
    let room = Arc::new(Semaphore::new(SETTLING_AT_ONCE));
    let mut settling = JoinSet::new();
    while let Some(delivery) = subscription.next().await {
        let permit = room.clone().acquire_owned().await?;
        let (notes, group, choice) = (notes.clone(), group.clone(), random.within(0..100));
        settling.spawn(async move {
            let _permit = permit;
            settle(&notes, group, delivery, choice).await
        });
        while let Some(done) = settling.try_join_next() {
            done??;
        }
    }
    Err(anyhow!("the subscription ended: {:?}", subscription.failure()))
}

async fn settle(notes: &Notes, group: GroupName, delivery: Delivery, choice: u64) -> anyhow::Result<()> {
    let log = LogName::new(delivery.topic().clone(), delivery.partition());
    let (cursor, offset) = (CursorName::new(log, group), delivery.offset());
    let attempts = delivery.attempt();
    let choice = match offset % POISON_EVERY {
        0 => NACK,
        _ => choice,
    };
    match choice {
        0..NACK => {
            notes.write(&Fact::Settling { cursor: cursor.clone(), offset })?;
            if answered(delivery.ack().await)? {
                notes.write(&Fact::Acked { cursor, offset })?;
            }
        }
        NACK..97 => {
            let failed = Fact::Failed { cursor, offset, attempts };
            let nacked = answered(delivery.nack("not today").await)?;
            nacked.then(|| notes.write(&failed)).transpose()?;
        }
        // Left alone: its lease expires.
        _ => {}
    }
    Ok(())
}

/// Whether the bus did it. A lease that expired meanwhile is not an error.
fn answered(answer: Result<(), Error>) -> anyhow::Result<bool> {
    match answer {
        Ok(()) => Ok(true),
        Err(Error::NotLeased { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
