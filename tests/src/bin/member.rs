//! A member of a partitioned group as a separate process: `member URL TOPIC GROUP NAME TTL_MS HOLD_MS`.
//!
//! It takes what is there, holds each event for `HOLD_MS`, then acks it, and prints one line for each thing that happens:
//! `assigned P…`, `revoked P…`, `took PARTITION OFFSET`, `acked PARTITION OFFSET`,
//! `refused PARTITION OFFSET WHY`.

use std::io::Write as _;
use std::time::Duration;

use anyhow::{Context as _, bail};
use prom_client::{Assignment, Client, ClientOptions, Mode, Position};

/// Events in flight at most.
const WINDOW: usize = 50;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, topic, group, name, ttl_ms, hold_ms] = arguments.as_slice() else {
        bail!("member URL TOPIC GROUP NAME TTL_MS HOLD_MS");
    };
    let ttl = Duration::from_millis(ttl_ms.parse().context("TTL_MS")?);
    let hold = Duration::from_millis(hold_ms.parse().context("HOLD_MS")?);
    let client = Client::connect(url, ClientOptions::default()).await?;
    let subscribe = client.subscribe(topic, group).mode(Mode::Partitioned).from(Position::Earliest);
    let subscribe = subscribe.member_id(name).ttl(ttl).max_in_flight(WINDOW);
    let subscribe = subscribe
        .on_assigned(|assignment| say(&format!("assigned {}", listed(assignment))))
        .on_revoked(|assignment| say(&format!("revoked {}", listed(assignment))));
    let mut subscription = subscribe.start().await?;
    while let Some(batch) = subscription.next_batch(WINDOW).await {
        let deliveries: Vec<_> = batch.into_deliveries().collect();
        for delivery in &deliveries {
            say(&format!("took {} {}", delivery.partition(), delivery.offset()));
        }
        // Work that a stopped process does not finish in time.
        tokio::time::sleep(hold).await;
        for delivery in deliveries {
            let place = format!("{} {}", delivery.partition(), delivery.offset());
            match delivery.ack().await {
                Ok(()) => say(&format!("acked {place}")),
                Err(error) => say(&format!("refused {place} {error}")),
            }
        }
    }
    match subscription.failure() {
        Some(failure) => Err(failure.into()),
        None => Ok(()),
    }
}

fn listed(assignment: &Assignment) -> String {
    let partitions: Vec<String> = assignment.partitions.iter().map(ToString::to_string).collect();
    partitions.join(" ")
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // The reader of its output is gone.
    let _gone = writeln!(out, "{line}").and_then(|()| out.flush());
}
