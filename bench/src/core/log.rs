//! A large log, written by a process of its own that ends as if it had been killed.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use prom_store::Logs;
use promethean::Position;

use super::publish::publishers;
use crate::bus_load::TOPIC;
use crate::embedded_bus::EmbeddedBus;
use crate::proc;

const IN_FLIGHT: usize = 1_000;

/// What the child says before it dies.
pub struct Filled {
    pub events: u64,
    pub events_per_second: f64,
    pub quarter_mb: f64,
    pub end_mb: f64,
}

pub fn fill_in_child(dir: &Path, gigabytes: f64) -> anyhow::Result<Filled> {
    let output = Command::new(std::env::current_exe()?)
        .arg("fill")
        .arg("--dir")
        .arg(dir)
        .args(["--log-gb", &gigabytes.to_string()])
        .output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<f64> = said.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [events, events_per_second, quarter_mb, end_mb] = numbers[..] else {
        bail!("the child failed: {}", String::from_utf8_lossy(&output.stderr));
    };
    Ok(Filled { events: events as u64, events_per_second, quarter_mb, end_mb })
}

/// Publishes until the log has this many bytes, with a group that lags all the way; then dies.
pub async fn fill(dir: &Path, bytes: u64) -> anyhow::Result<()> {
    let ours = EmbeddedBus::open_at(dir).await?;
    publishers(IN_FLIGHT).run(&ours.bus, Duration::from_millis(1)).await?;
    let mut lagging = ours
        .bus
        .subscribe(TOPIC, "lagging")
        .from(Position::Earliest)
        .ack_timeout(Duration::from_secs(3_600))
        .start()
        .await?;
    let _held = lagging.next().await;
    let started = Instant::now();
    let (mut published, mut quarter) = (0, None);
    loop {
        published += publishers(IN_FLIGHT).run(&ours.bus, Duration::from_millis(500)).await?;
        let logs = ours.store.logs().await?;
        let held = logs.first().context("the log is not there")?.bytes;
        if held >= bytes / 4 {
            quarter.get_or_insert(resident_mb()?);
        }
        if held >= bytes {
            break;
        }
    }
    let rate = published as f64 / started.elapsed().as_secs_f64();
    let quarter = quarter.context("no quarter was seen")?;
    println!("{published} {rate} {quarter} {}", resident_mb()?);
    std::process::abort();
}

fn resident_mb() -> anyhow::Result<f64> {
    Ok(proc::resident(i32::try_from(std::process::id())?)?.total_mb)
}
