//! Connections that work: each publishes one event after the other and waits for its receipt.

use std::time::{Duration, Instant};

use prom_protocol::frame::publish;
use prom_types::TopicName;

use super::process::HubProcess;
use super::publish::event;
use super::socket::connect;
use crate::percentile::Spans;

/// Spans from publish to receipt, over so many connections at a pace of a hundred a second each.
pub async fn spans(hub: &HubProcess, connections: usize, span: Duration) -> anyhow::Result<Spans> {
    let mut running = Vec::new();
    for number in 0..connections {
        let topic = TopicName::parse(&format!("bench.busy{}", number % 10))?;
        let (mut reader, mut writer) = connect(hub.address, &[]).await?;
        running.push(tokio::spawn(async move {
            let event = event(topic);
            let mut spans = Vec::new();
            let mut pace = tokio::time::interval(Duration::from_millis(10));
            let begin = Instant::now();
            while begin.elapsed() < span {
                pace.tick().await;
                let sent = Instant::now();
                writer.put(|out| publish::write(out, None, &event));
                writer.flush().await?;
                reader.next().await?;
                spans.push(sent.elapsed());
            }
            anyhow::Ok(Spans::of(spans))
        }));
    }
    let mut all = Vec::new();
    for one in running {
        all.push(one.await??);
    }
    Ok(Spans::all(all))
}
