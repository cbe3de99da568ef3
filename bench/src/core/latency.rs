//! One publisher that waits for each receipt, beside a bare write + fdatasync.

use std::time::Instant;

use prom_load::Latencies;
use promethean::Bus;

use super::EVENT_BYTES;
use crate::bare::{BareFile, write_and_sync};
use crate::bus_load::event;

/// The two take turns, so that both meet the same disk.
const TURNS: usize = 8;

/// The time of publishes, and of the bare disk.
pub async fn beside_bare(bus: &Bus, bare: &mut BareFile, samples: usize) -> anyhow::Result<(Latencies, Latencies)> {
    let event = event()?;
    let bytes = vec![7; EVENT_BYTES + 32];
    let (mut ours, mut disk) = (Latencies::default(), Latencies::default());
    for _ in 0..TURNS {
        disk.add(&write_and_sync(bare, &bytes, samples / TURNS)?);
        for _ in 0..samples / TURNS {
            let started = Instant::now();
            bus.publish_event(event.clone()).await?;
            ours.record(started.elapsed());
        }
    }
    Ok((ours, disk))
}
