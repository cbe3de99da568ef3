//! The process that the crash test of parking kills: `crash_parking DIRECTORY FACTS SEED`.
//!
//! It publishes, handles events one after the other in a group that parks, lets some of them fail, and gives all letters back
//! again and again. It writes down where it found the floor, and each ack that the bus has answered. The event at offset n has
//! an id that follows from n, so no event is published twice.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use prom_testkit::Random;
use prom_tests::small_files;
use promethean::{
    Bus, BusOptions, EmbeddedOptions, EmbeddedStore, Error, EventId, LetterRef, Order, Position, Subscription, json,
};

const KEYS: u64 = 12;
/// One delivery in this many fails, and fails for good.
const FAILS: u64 = 8;
/// The publisher waits while the group is so far behind.
const BACKLOG: u64 = 300;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut argument = |what: &'static str| arguments.next().with_context(|| format!("{what} is missing"));
    let directory = PathBuf::from(argument("directory")?);
    let facts = PathBuf::from(argument("facts")?);
    let seed: u64 = argument("seed")?.parse()?;

    let facts = OpenOptions::new().create(true).append(true).open(&facts)?;
    let options = EmbeddedOptions { sizes: small_files(), ..EmbeddedOptions::default() };
    let bus = Bus::start(EmbeddedStore::open_with(directory, options).await?, BusOptions::default()).await?;
    let first = json!({"n": 0});
    bus.publish("orders", first).exact_id(id_of(0)).key("key-0").await?;
    let group = bus.subscribe("orders", "billing").from(Position::Earliest).order(Order::Key).park();
    let orders = group.max_attempts(1).max_in_flight(8).start().await?;
    tokio::select! {
        ended = publish(&bus) => ended,
        ended = give_back(&bus, Random::seeded(seed ^ 1)) => ended,
        ended = handle(&bus, orders, facts, Random::seeded(seed)) => ended,
    }
}

fn id_of(number: u64) -> EventId {
    EventId::derived(&format!("event {number}"))
}

async fn publish(bus: &Bus) -> anyhow::Result<()> {
    let mut number = bus.topic("orders").await?.partitions[0].bounds.next;
    loop {
        while number > bus.cursor("orders", "billing").await?[0].offset + BACKLOG {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let key = format!("key-{}", number % KEYS);
        bus.publish("orders", json!({"n": number})).exact_id(id_of(number)).key(key).await?;
        number += 1;
    }
}

async fn handle(bus: &Bus, mut orders: Subscription, mut facts: File, mut random: Random) -> anyhow::Result<()> {
    let floor = bus.cursor("orders", "billing").await?[0].offset;
    writeln!(facts, "{}", json!({"fact": "the floor when it began", "floor": floor}))?;
    while let Some(delivery) = orders.next().await {
        let offset = delivery.offset();
        if random.one_in(FAILS) {
            match delivery.nack("no").await {
                Ok(()) | Err(Error::NotLeased { .. }) => continue,
                Err(error) => return Err(error.into()),
            }
        }
        match delivery.ack().await {
            Ok(()) => writeln!(facts, "{}", json!({"fact": "it was settled durably", "acked": offset}))?,
            Err(Error::NotLeased { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    anyhow::bail!("the subscription ended: {:?}", orders.failure())
}

async fn give_back(bus: &Bus, mut random: Random) -> anyhow::Result<()> {
    loop {
        let mut from = 0;
        while let Ok(page) = bus.read("dlq.orders", 0, from, random.within(1..200) as usize).await {
            let letters: Vec<LetterRef> = page.events.iter().map(LetterRef::of).collect::<Result<_, _>>()?;
            if letters.is_empty() {
                break;
            }
            bus.give_back("orders", &letters).await?;
            from = page.next;
        }
        tokio::time::sleep(Duration::from_millis(random.within(1..40))).await;
    }
}
