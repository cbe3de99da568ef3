//! Exporting a large topic as NDJSON: how fast, and what it costs the hub in memory.

use std::time::{Duration, Instant};

use anyhow::ensure;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::process::HubProcess;
use super::publish;
use crate::args::{Args, Pace};
use crate::figure::{Figure, Goal};

const TOPIC: &str = "bench.publish128";

pub async fn figures(hub: &HubProcess, args: &Args) -> anyhow::Result<Vec<Figure>> {
    let wanted_bytes = match args.pace {
        Pace::Full => args.log_gb * 1e9,
        Pace::Quick => 5e7,
    };
    eprintln!("  filling a topic to export {:.2} GB", wanted_bytes / 1e9);
    // An exported event of this payload has about 440 bytes.
    while hub.head(TOPIC).await? as f64 * 440.0 < wanted_bytes {
        publish::rate(hub, 128, Duration::from_secs(1)).await?;
    }
    eprintln!("  exporting");
    let before = hub.resident_mb()?;
    let mut socket = TcpStream::connect(hub.address).await?;
    let request = format!("GET /export?topic={TOPIC} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    let begin = Instant::now();
    socket.write_all(request.as_bytes()).await?;
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
