//! Publishing with so many in flight, one or many events a frame.

use std::time::{Duration, Instant};

use prom_protocol::frame::publish;
use prom_types::{NewEvent, TopicName};
use serde_json::json;

use super::process::HubProcess;
use super::socket::{Reader, Writer, connect};

const CONNECTIONS: usize = 2;
const IN_FLIGHT: usize = 2000;

/// Events per second that were acknowledged.
pub async fn rate(hub: &HubProcess, per_frame: usize, span: Duration) -> anyhow::Result<f64> {
    let topic = TopicName::parse(&format!("bench.publish{per_frame}"))?;
    let mut running = Vec::new();
    let begin = Instant::now();
    for _ in 0..CONNECTIONS {
        let (reader, writer) = connect(hub.address, &["batch"]).await?;
        running.push(tokio::spawn(publish(reader, writer, topic.clone(), per_frame, span)));
    }
    let mut acknowledged = 0;
    for one in running {
        acknowledged += one.await??;
    }
    Ok(acknowledged as f64 / begin.elapsed().as_secs_f64())
}

/// 256 bytes of JSON.
pub fn event(topic: TopicName) -> NewEvent {
    let payload = json!({"host": "web-1", "cpu": 12.5, "note": "x".repeat(216)});
    NewEvent::new(topic, payload)
}

async fn publish(
    mut reader: Reader,
    mut writer: Writer,
    topic: TopicName,
    per_frame: usize,
    span: Duration,
) -> anyhow::Result<usize> {
    let event = event(topic);
    let mut frame = Vec::new();
    match per_frame {
        1 => publish::write(&mut frame, None, &event),
        many => publish::write_batch(&mut frame, None, std::iter::repeat_n(&event, many)),
    }
    let begin = Instant::now();
    let (mut in_flight, mut acknowledged) = (0, 0);
    loop {
        if begin.elapsed() < span {
            while in_flight + per_frame <= IN_FLIGHT.max(per_frame) {
                writer.put(|out| out.extend_from_slice(&frame));
                in_flight += per_frame;
            }
            writer.flush().await?;
        } else if in_flight == 0 {
            return Ok(acknowledged);
        }
        let mut answer = Some(reader.next().await?);
        while let Some(text) = answer {
            anyhow::ensure!(text.starts_with(b"{\"op\":\"OK\""), "{}", String::from_utf8_lossy(&text));
            in_flight -= per_frame;
            acknowledged += per_frame;
            answer = reader.buffered()?;
        }
    }
}
