//! Exporting a large topic as NDJSON: how fast, and what it costs the hub in memory.

use std::time::{Duration, Instant};

use anyhow::ensure;
use tokio::io::AsyncReadExt;

use crate::args::HubArgs;
use crate::figure::{Figure, Goal};
use crate::load::consume::Backlog;
use crate::load::fill;
use crate::load::publish::PAYLOAD_BYTES;
use crate::load::server::Server;
use crate::load::topics::Topics;
use crate::ours::http;

/// About what an exported event of the usual payload takes.
const EXPORTED_BYTES: u64 = 440;

pub async fn figures(server: &mut Server, args: &HubArgs) -> anyhow::Result<Vec<Figure>> {
    let wanted_bytes = args.measure.full_or_quick(args.log.bytes(), 50_000_000);
    eprintln!("  filling a topic to export {:.2} GB", wanted_bytes as f64 / 1e9);
    let (topics, topic) = (Topics::ONE, Topics::ONE.name(0));
    let events = (wanted_bytes / EXPORTED_BYTES).saturating_sub(http::head(server.process()?.address, &topic).await?);
    fill::fill(server, Backlog { topics, payload_bytes: PAYLOAD_BYTES, events }).await?;
    let hub = server.process()?;
    eprintln!("  exporting");
    let before = hub.resident_mb()?;
    let begin = Instant::now();
    let mut socket = http::ask(hub.address, &format!("/export?topic={topic}")).await?;
    let (mut bytes, mut most) = (0u64, before);
    let mut looked_at = Instant::now();
    let mut buffer = vec![0; 1 << 20];
    loop {
        let read = socket.read(&mut buffer).await?;
        if bytes == 0 {
            ensure!(buffer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&buffer[..read]));
        }
        if read == 0 {
            break;
        }
        bytes += read as u64;
        if looked_at.elapsed() > Duration::from_millis(50) {
            looked_at = Instant::now();
            most = most.max(hub.resident_mb()?);
        }
    }
    let rate = bytes as f64 / 1e6 / begin.elapsed().as_secs_f64();
    let name = format!("export of {:.2} GB as NDJSON", bytes as f64 / 1e9);
    Ok(vec![
        Figure::new(name, rate, "MB/s", Goal::AtLeast(500.0)),
        Figure::new("memory that the export added at most", most - before, "MB", Goal::AtMost(50.0)),
    ])
}
