//! Judging one heartbeat by its schema and stamping it, on this thread, as a publish does.

use std::hint::black_box;
use std::time::Instant;

use promethean::Bus;
use serde_json::Value;

use super::heartbeat::{Heartbeat, register, schema};

/// Events of one round: about a millisecond, which other programs rarely interrupt. The median is of rounds they did not.
const ROUND: usize = 1_000;
/// Different payloads, so that no branch learns one of them.
const EVENTS: u64 = 256;

/// Nanoseconds per event, one value for each round.
#[derive(Default)]
pub struct JudgeCost {
    pub stamped: Vec<f64>,
    /// The validator that is inside, on payloads that were parsed before.
    pub bare: Vec<f64>,
    pub parsed: Vec<f64>,
}

pub async fn cost(bus: &Bus, rounds: usize) -> anyhow::Result<JudgeCost> {
    register(bus, 1..=1).await?;
    let events = (0..EVENTS).map(|number| Heartbeat::numbered(number).event(1)).collect::<anyhow::Result<Vec<_>>>()?;
    bus.prepare_schemas(super::heartbeat::TOPIC).await?;
    let stamped = bus.judge_event(&events[0])?;
    anyhow::ensure!(stamped.is_some_and(|event| event.headers.get("x-schema-version") == Some("1")), "no stamp");
    let bare = jsonschema::validator_for(&schema(1))?;
    let parsed = events
        .iter()
        .map(|event| Ok(serde_json::from_slice(event.payload.as_bytes())?))
        .collect::<anyhow::Result<Vec<Value>>>()?;
    anyhow::ensure!(parsed.iter().all(|payload| bare.is_valid(payload)), "the bare validator refuses a heartbeat");
    let mut cost = JudgeCost::default();
    for _ in 0..rounds {
        cost.stamped.push(per_event(&events, |event| {
            black_box(bus.judge_event(black_box(event)).is_ok());
        }));
        cost.bare.push(per_event(&parsed, |payload| {
            black_box(bare.is_valid(black_box(payload)));
        }));
        cost.parsed.push(per_event(&events, |event| {
            black_box(serde_json::from_slice::<Value>(black_box(event.payload.as_bytes())).is_ok());
        }));
    }
    Ok(cost)
}

fn per_event<T>(of: &[T], work: impl Fn(&T)) -> f64 {
    let started = Instant::now();
    of.iter().cycle().take(ROUND).for_each(work);
    started.elapsed().as_nanos() as f64 / ROUND as f64
}
