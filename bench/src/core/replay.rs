//! Reading everything from the start, by big blocks, as a cold reader does.

use std::time::Instant;

use prom_store::{LogName, Logs, ReadLimit};
use prom_types::TopicName;
use promethean::EmbeddedStore;

use crate::bus_load::TOPIC;

const BLOCK: ReadLimit = ReadLimit { events: 16_384, bytes: 4 << 20 };

/// Events per second. Each record's offset is looked at, as any reader would.
pub async fn rate(store: &EmbeddedStore) -> anyhow::Result<f64> {
    let log = LogName::new(TopicName::parse(TOPIC)?, 0);
    let started = Instant::now();
    let (mut events, mut from) = (0_u64, 0);
    loop {
        let batch = store.read(&log, from, BLOCK).await?;
        let in_order = batch.records.windows(2).all(|pair| pair[0].offset() < pair[1].offset());
        anyhow::ensure!(in_order && batch.damage.is_none(), "the log is not sound at {from}");
        events += batch.records.len() as u64;
        if batch.next >= batch.bounds.next {
            break;
        }
        from = batch.next;
    }
    Ok(events as f64 / started.elapsed().as_secs_f64())
}
