//! Reading events of three versions through a group: as stored, and as the latest version has them.
//!
//! The second event was stored before there was a schema, and fits none. It has to be in the dead letters with its
//! reason, and all others have to equal what was made by hand.

use std::path::Path;
use std::time::{Duration, Instant};

use prom_types::Json;
use promethean::{Bus, BusOptions, EmbeddedStore, Position};
use serde_json::{Value, json};

use super::heartbeat::{Heartbeat, TOPIC, functions, register};
use super::publish::publish_all;
use crate::bus_load::{Acks, BATCH, LEASED};
use crate::embedded_bus::EmbeddedBus;

/// Long enough for the letter of an event that was read.
const PATIENCE: Duration = Duration::from_secs(30);

/// Events per second.
pub struct ReadRates {
    pub raw: f64,
    pub by_programs: f64,
    pub by_functions: f64,
}

/// Writes `events` and reads them three times. They stay in the directory.
pub async fn measure(dir: &Path, events: u64) -> anyhow::Result<ReadRates> {
    eprintln!("  {events} events of three versions");
    let ours = EmbeddedBus::open_at(dir).await?;
    fill(&ours.bus, events).await?;
    eprintln!("    reading them as stored");
    let (raw, stored) = read(&ours.bus, "raw", Form::Stored, events).await?;
    anyhow::ensure!(stored.len() as u64 == events, "the group got {} of {events} events", stored.len());
    drop(stored);
    eprintln!("    reading them normalised by jq");
    let by_programs = normalised(&ours.bus, "programs", events).await?;
    ours.close().await?;
    eprintln!("    reading them normalised by functions");
    let store = EmbeddedStore::open(dir).await?;
    let options = BusOptions { upcasters: functions()?, ..BusOptions::default() };
    let ours = EmbeddedBus { bus: Bus::start(store.clone(), options).await?, store };
    let by_functions = normalised(&ours.bus, "functions", events).await?;
    ours.close().await?;
    Ok(ReadRates { raw, by_programs, by_functions })
}

/// The first two have no stamp: they come before the schemas.
async fn fill(bus: &Bus, events: u64) -> anyhow::Result<()> {
    bus.publish_event(Heartbeat::numbered(0).event(1)?).await?;
    bus.publish(TOPIC, json!({"pid": "corrupted"})).await?;
    register(bus, 1..=3).await?;
    let version = |number: u64| u32::try_from(number % 3).unwrap_or_default() + 1;
    publish_all(bus, (2..events).map(|number| Heartbeat::numbered(number).event(version(number)))).await
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Stored,
    Normalized,
}

async fn normalised(bus: &Bus, group: &str, events: u64) -> anyhow::Result<f64> {
    let (rate, payloads) = read(bus, group, Form::Normalized, events - 1).await?;
    check(&payloads, events)?;
    check_letter(bus, group).await?;
    Ok(rate)
}

/// Events per second until the last ack, and the payloads.
async fn read(bus: &Bus, group: &str, form: Form, events: u64) -> anyhow::Result<(f64, Vec<Json>)> {
    let mut subscribe = bus.subscribe(TOPIC, group).from(Position::Earliest).batch_size(BATCH).max_in_flight(LEASED);
    if form == Form::Normalized {
        subscribe = subscribe.normalize();
    }
    let started = Instant::now();
    let mut reading = subscribe.start().await?;
    let (mut acks, mut payloads) = (Acks::new(), Vec::with_capacity(usize::try_from(events)?));
    while (payloads.len() as u64) < events {
        let batch = tokio::time::timeout(PATIENCE, reading.next_batch()).await?;
        payloads.extend(batch.iter().map(|delivery| delivery.event().json()));
        acks.ack(batch).await?;
    }
    acks.finish().await?;
    let seconds = started.elapsed().as_secs_f64();
    reading.unsubscribe().await;
    Ok((events as f64 / seconds, payloads))
}

/// Every event but the corrupted one, each once, as it is made by hand.
fn check(payloads: &[Json], events: u64) -> anyhow::Result<()> {
    let numbers = std::iter::once(0).chain(2..events);
    anyhow::ensure!(payloads.len() as u64 == events - 1, "{} of {} came", payloads.len(), events - 1);
    for (number, payload) in numbers.zip(payloads) {
        let got: Value = serde_json::from_slice(payload.as_bytes())?;
        let by_hand: Value = serde_json::from_str(&Heartbeat::numbered(number).latest()?)?;
        anyhow::ensure!(got == by_hand, "event {number} came as {got}, by hand it is {by_hand}");
    }
    Ok(())
}

async fn check_letter(bus: &Bus, group: &str) -> anyhow::Result<()> {
    let mut letters = bus.tail(&format!("dlq.{TOPIC}")).from(Position::Earliest).start().await?;
    let letter = async {
        while let Some(letter) = letters.next().await? {
            let letter: Value = letter.payload()?;
            if letter["group"] == group {
                return anyhow::Ok(letter);
            }
        }
        anyhow::bail!("the bus has ended")
    };
    let letter = tokio::time::timeout(PATIENCE, letter).await??;
    anyhow::ensure!(letter["original"]["payload"]["pid"] == "corrupted", "another event is in the letters: {letter}");
    anyhow::ensure!(letter["err"].as_str().is_some_and(|reason| !reason.is_empty()), "no reason: {letter}");
    eprintln!("    dead letter: {}", letter["err"]);
    Ok(())
}
