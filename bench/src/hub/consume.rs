//! Consuming a backlog in a group and acking every event.

use std::time::{Duration, Instant};

use prom_protocol::frame::ack::Ack;
use prom_protocol::frame::subscribe::{From, Subscribe, SubscribeOpts};
use prom_protocol::frame::{HubFrame, SubscriptionName, Which};
use prom_types::Event;

use super::process::HubProcess;
use super::socket::connect;

const TOPIC: &str = "bench.publish1";

/// Events per second that were delivered and whose acks were answered.
pub async fn rate(hub: &HubProcess, features: &[&str], span: Duration) -> anyhow::Result<f64> {
    let (mut reader, mut writer) = connect(hub.address, features).await?;
    let group = format!("consume{}", features.len());
    let opts = SubscribeOpts { from: Some(From::Earliest), max_in_flight: Some(4000), ..SubscribeOpts::default() };
    let name = SubscriptionName::new(TOPIC, Some(&group));
    writer.put(|out| Subscribe { name, opts }.write(out, None));
    writer.flush().await?;
    let there = hub.head(TOPIC).await?;
    let begin = Instant::now();
    let (mut acked, mut pending) = (0, std::collections::VecDeque::new());
    while begin.elapsed() < span && acked < there {
        let mut text = Some(reader.next().await?);
        while let Some(frame) = text {
            match HubFrame::read(frame)? {
                HubFrame::Events(delivered) => {
                    let ids = delivered.events.iter().map(|(event, _)| serde_json::from_slice::<Event>(event));
                    let events: Vec<Event> = ids.collect::<Result<_, _>>()?;
                    let which = match features.is_empty() {
                        true => Which::Ids(events.iter().map(|event| event.id).collect()),
                        false => Which::Offsets {
                            partition: 0,
                            ranges: vec![(events[0].offset, events[events.len() - 1].offset)],
                        },
                    };
                    let ack = Ack { topic: TOPIC.into(), group: group.as_str().into(), which };
                    writer.put(|out| ack.write(out, None));
                    pending.push_back(events.len());
                }
                // The first OK is the subscription's.
                HubFrame::Ok(_) => acked += pending.pop_front().unwrap_or_default() as u64,
                other => anyhow::bail!("{other:?}"),
            }
            text = reader.buffered()?;
        }
        writer.flush().await?;
    }
    Ok(acked as f64 / begin.elapsed().as_secs_f64())
}
