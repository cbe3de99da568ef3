//! With a group: takes part in its work, and acknowledges what was written.

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use prom_client::{Client, Error};
use prom_types::{GroupName, Order};

use super::{Printer, Subscribe};
use crate::exit::{CommandResult, Failure};
use crate::hub::of_client;
use crate::output::note;
use crate::signals::Signals;

/// Events that are leased to this command at the same time.
const WINDOW: usize = 1000;

pub async fn run(
    client: &Client,
    group: &GroupName,
    asked: &Subscribe,
    mut printer: Printer,
    signals: &mut Signals,
) -> CommandResult {
    // No more is leased than wanted: an event that is returned too often counts as poison.
    let wanted = printer.left().and_then(|left| usize::try_from(left).ok()).unwrap_or(WINDOW);
    let mut subscription = client.subscribe(asked.topic.as_str(), group.as_str()).max_in_flight(wanted.min(WINDOW));
    if let Some(from) = asked.from {
        subscription = subscription.from(from);
    }
    if asked.park {
        subscription = subscription.order(Order::Key).park();
    }
    if asked.normalize {
        subscription = subscription.normalize();
    }
    let mut subscription = subscription.start().await.map_err(of_client)?;
    let mut acks = FuturesUnordered::new();
    let outcome = loop {
        if printer.is_done() {
            break Ok(());
        }
        tokio::select! {
            delivery = subscription.next() => match delivery {
                Some(delivery) => match printer.print(&delivery) {
                    Ok(()) => acks.push(delivery.ack()),
                    Err(failure) => break Err(failure),
                },
                None => break subscription.failure().map_or(Ok(()), |error| Err(of_client(error))),
            },
            Some(answer) = acks.next() => tell(answer)?,
            () = signals.next() => break Ok(()),
        }
    };
    while let Some(answer) = acks.next().await {
        tell(answer)?;
    }
    outcome
}

/// An event whose ack did not arrive comes again, which is no reason to end.
fn tell(answer: Result<(), Error>) -> Result<(), Failure> {
    match answer {
        Ok(()) => Ok(()),
        Err(error @ (Error::LeaseLost { .. } | Error::Refused { .. })) => {
            note(format!("not acknowledged, will be redelivered: {error}"));
            Ok(())
        }
        Err(error) => Err(of_client(error)),
    }
}
