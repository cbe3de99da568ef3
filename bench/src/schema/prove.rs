//! Proof by data over the same events: how long it takes to know what a candidate would break.

use std::path::Path;
use std::time::Instant;

use prom_jobs::Prove;
use promethean::{SchemaCandidate, SchemaDocument};
use serde_json::json;

use super::heartbeat::{TOPIC, schema};
use crate::embedded_bus::EmbeddedBus;

pub struct Proved {
    pub seconds: f64,
    /// Events per second.
    pub rate: f64,
}

/// Version 4 has an optional field more, so only the corrupted event fails.
pub async fn measure(dir: &Path, events: u64) -> anyhow::Result<Proved> {
    eprintln!("    proving a candidate over them");
    let ours = EmbeddedBus::open_at(dir).await?;
    let mut fourth = schema(3);
    fourth["properties"]["zone"] = json!({"type": "string"});
    let candidate = SchemaCandidate::new(SchemaDocument::new(fourth, Vec::new())?);
    let started = Instant::now();
    let (mut prove, _) = Prove::start(&ours.bus, TOPIC, &candidate).await?;
    while !prove.step().await?.done {}
    let seconds = started.elapsed().as_secs_f64();
    let progress = prove.step().await?.clone();
    anyhow::ensure!((progress.scanned, progress.failed) == (events, 1), "the proof says {progress:?}");
    ours.close().await?;
    Ok(Proved { seconds, rate: events as f64 / seconds })
}
