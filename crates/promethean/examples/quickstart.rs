//! Opens a directory, publishes, subscribes, acks.

#![allow(clippy::print_stdout, reason = "an example prints for its user")]

use promethean::{Bus, BusOptions, EmbeddedStore, Position, json};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let bus = Bus::start(EmbeddedStore::open("prom-data").await?, BusOptions::default()).await?;
    let receipt = bus.publish("orders.placed", json!({"id": 7})).key("7").await?;
    println!("stored {} at offset {} ({:?})", receipt.id, receipt.offset, receipt.durability);

    let mut orders = bus.subscribe("orders.*", "billing").from(Position::Earliest).start().await?;
    if let Some(delivery) = orders.next().await {
        println!("billing got {} from {}", delivery.json(), delivery.topic());
        delivery.ack().await?;
    }
    Ok(bus.shutdown().await?)
}
