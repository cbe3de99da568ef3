//! One publisher that waits for each receipt, beside a bare write + fdatasync.

use std::time::Instant;

use promethean::Bus;

use super::EVENT_BYTES;
use super::scene::event;
use crate::bare::{BareFile, write_and_sync};
use crate::percentile::Spans;

/// The two take turns, so that both meet the same disk.
const TURNS: usize = 8;

/// Spans of publishes, and of the bare disk.
pub async fn beside_bare(bus: &Bus, bare: &mut BareFile, samples: usize) -> anyhow::Result<(Spans, Spans)> {
    let event = event()?;
    let bytes = vec![7; EVENT_BYTES + 32];
    let (mut ours, mut disk) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        disk.push(write_and_sync(bare, &bytes, samples / TURNS)?);
        for _ in 0..samples / TURNS {
            let started = Instant::now();
            bus.publish_event(event.clone()).await?;
            ours.push(started.elapsed());
        }
    }
    Ok((Spans::of(ours), Spans::all(disk)))
}
