//! Connections that work: each publishes one event after the other and waits for its receipt.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use prom_load::{Latencies, Payload, PayloadLabel};
use prom_protocol::frame::publish;
use prom_types::{Json, NewEvent, TopicName};

use crate::load::publish::PAYLOAD_BYTES;
use crate::ours::socket::{check_ok, connect};

/// From publish to receipt, over this many connections at a pace of a hundred a second each.
pub async fn latencies(hub: SocketAddr, connections: usize, span: Duration) -> anyhow::Result<Latencies> {
    let payload = Json::parse(Payload::of_size(PAYLOAD_BYTES).make(PayloadLabel::untimed(0)))?;
    let mut running = Vec::new();
    for number in 0..connections {
        let topic = TopicName::parse(&format!("bench.busy{}", number % 10))?;
        let (mut reader, mut writer) = connect(hub).await?;
        let event = NewEvent::new(topic, payload.clone());
        running.push(tokio::spawn(async move {
            let mut latencies = Latencies::default();
            let mut pace = tokio::time::interval(Duration::from_millis(10));
            let begin = Instant::now();
            while begin.elapsed() < span {
                pace.tick().await;
                let sent = Instant::now();
                writer.put(|out| publish::write(out, None, &event));
                writer.flush().await?;
                check_ok(&reader.next().await?)?;
                latencies.record(sent.elapsed());
            }
            anyhow::Ok(latencies)
        }));
    }
    let mut all = Latencies::default();
    for one in running {
        all.add(&one.await??);
    }
    Ok(all)
}
