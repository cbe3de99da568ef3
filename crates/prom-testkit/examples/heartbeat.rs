//! A hub in a test, with the heartbeat example, in a few lines: `cargo run -p prom-testkit --example heartbeat`.

#![allow(clippy::print_stdout, reason = "an example prints for its user")]

use std::time::Duration;

use prom_client::{Client, ClientOptions, Position, json};
use prom_testkit::process_example::{HEARTBEATS, ProcessState, STATES};
use prom_testkit::{HubInProcess, ProcessExample};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let hub = HubInProcess::start()?;
    let _example = ProcessExample::start(&hub.url(), Duration::from_secs(1)).await?;
    let client = Client::connect(&hub.url(), ClientOptions::default()).await?;
    let mut states = client.tail(STATES).from(Position::Earliest).start().await?;
    let heartbeat = json!({"pid": 7, "name": "api", "host": "red", "cpu_pct": 12.5, "mem_mb": 256});
    client.publish(HEARTBEATS, heartbeat).await?;
    // Alive at once, stale after a second of silence.
    for _ in 0..2 {
        if let Some(event) = states.next().await {
            let state: ProcessState = event.payload()?;
            println!("{} is {:?}", state.process_id, state.status);
        }
    }
    Ok(())
}
