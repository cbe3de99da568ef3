//! Without a group: every event from a position, nothing is acknowledged.

use prom_client::Client;

use super::{Printer, Subscribe};
use crate::exit::CommandResult;
use crate::hub::of_client;
use crate::signals::Signals;

pub async fn run(client: &Client, asked: &Subscribe, mut printer: Printer, signals: &mut Signals) -> CommandResult {
    let mut tail = client.tail(asked.topic.as_str());
    if let Some(from) = asked.from {
        tail = tail.from(from);
    }
    if asked.normalize {
        tail = tail.normalize();
    }
    let mut tail = tail.start().await.map_err(of_client)?;
    while !printer.is_done() {
        let event = tokio::select! {
            event = tail.next() => event,
            () = signals.next() => return Ok(()),
        };
        match event {
            Some(event) => printer.print(&event)?,
            None => return tail.failure().map_or(Ok(()), |error| Err(of_client(error))),
        }
    }
    Ok(())
}
