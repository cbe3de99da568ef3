//! What idle connections cost, and whether busy ones notice them.

use std::time::Duration;

use super::busy;
use crate::args::HubArgs;
use crate::figure::{Figure, Goal};
use crate::ours::socket::idle;
use crate::server_process::ServerProcess;

const BUSY: usize = 100;

pub async fn figures(hub: &ServerProcess, args: &HubArgs) -> anyhow::Result<Vec<Figure>> {
    let count = args.measure.full_or_quick(args.idle, args.idle.min(1000));
    eprintln!("  {BUSY} busy connections alone");
    let alone = busy::latencies(hub.address, BUSY, args.measure.span()).await?;
    eprintln!("  {count} idle connections");
    let before = hub.resident_mb()?;
    let sockets = idle(hub.address, count).await?;
    // What the connecting itself took has to go first.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let each_kb = (hub.resident_mb()? - before) * 1e3 / count as f64;
    eprintln!("  {BUSY} busy connections among them");
    let among = busy::latencies(hub.address, BUSY, args.measure.span()).await?;
    drop(sockets);
    let name = |what: &str| format!("{BUSY} busy connections, {what}");
    Ok(vec![
        Figure::new(format!("memory of each of {count} idle connections"), each_kb, "KB", Goal::AtMost(15.0)),
        Figure::new(name("p50 alone"), alone.p50_ms(), "ms", Goal::None),
        Figure::new(name("p50 among idle ones"), among.p50_ms(), "ms", Goal::OfBareAtMost(1.5))
            .beside(alone.p50_ms(), "alone"),
        Figure::new(name("p99 among idle ones"), among.p99_ms(), "ms", Goal::OfBareAtMost(2.0))
            .beside(alone.p99_ms(), "alone"),
    ])
}
