//! Handlers: each delivery is passed to a function; its result settles the event.
//!
//! Acks leave together when nothing else can be done at once. Leases of what runs and of what
//! waits its turn are renewed at half time.

use std::fmt::Display;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use prom_types::EventId;
use tokio::time::Instant;

use crate::Error;
use crate::core::ClientCore;
use crate::deliver::Delivery;
use crate::feed::Feed;
use crate::limits::ACK_BATCH;
use crate::nack;
use crate::settle::{PendingSettlement, SettleVerdict};
use crate::subscribe::{Handling, SettledBy, Subscribe, Taking};
use crate::subscription::{Subscription, lease_of};

impl Subscribe<'_> {
    /// Handlers that run at the same time; one unless said.
    pub fn concurrency(mut self, handlers: usize) -> Self {
        self.handling.concurrency = handlers.max(1);
        self
    }

    /// The handler settles each delivery itself; `Ok` settles nothing, an error still nacks.
    pub fn manual_ack(mut self) -> Self {
        self.handling.settling = SettledBy::Handler;
        self
    }

    /// Passes each delivery to `handler` until the subscription ends: acks what gave `Ok`, nacks
    /// what gave an error or panicked, with the error as the reason. Leases are renewed while
    /// handlers run. Ended by [`crate::Client::unsubscribe`] and [`crate::Client::close`]; an error means that it ended
    /// otherwise: the group was deleted, rights were withdrawn, the hub refused the client.
    ///
    /// ```no_run
    /// # async fn example(client: prom_client::Client) -> Result<(), prom_client::Error> {
    /// use prom_client::{Delivery, Error};
    ///
    /// client
    ///     .subscribe("orders.placed", "mail")
    ///     .concurrency(8)
    ///     .run(|delivery: Delivery| async move {
    ///         let order: serde_json::Value = delivery.payload()?;
    ///         send_mail(&order).await;
    ///         Ok::<(), Error>(())
    ///     })
    ///     .await?;
    /// # async fn send_mail(_order: &serde_json::Value) {}
    /// # Ok(())
    /// # }
    /// ```
    pub async fn run<H, F, E>(self, handler: H) -> Result<(), Error>
    where
        H: Fn(Delivery) -> F,
        F: Future<Output = Result<(), E>>,
        E: Display,
    {
        let handling = self.handling;
        let mut subscription = self.start_for(Taking::Handlers(handling)).await?;
        drive(&mut subscription, &handler, handling).await;
        match subscription.failure() {
            Some(failure) => Err(failure),
            None => Ok(()),
        }
    }
}

/// What comes next in a runner's life.
#[expect(clippy::large_enum_variant, reason = "taken apart at once")]
enum Step<T> {
    Finished(T),
    Arrived(Option<(Delivery, u64)>),
}

async fn drive<H, F, E>(subscription: &mut Subscription, handler: &H, handling: Handling)
where
    H: Fn(Delivery) -> F,
    F: Future<Output = Result<(), E>>,
    E: Display,
{
    let core = subscription.client().core().clone();
    let feed = subscription.feed().clone();
    let mut running = FuturesUnordered::new();
    let mut done = Done::default();
    let mut open = true;
    while open || !running.is_empty() {
        let wants_more = open && running.len() < handling.concurrency;
        let at_once = next_step(&mut running, subscription, wants_more).now_or_never();
        let step = match at_once {
            Some(step) => step,
            // Nothing to do at once: a good moment for what is done.
            None => {
                done.send(&core, &feed);
                next_step(&mut running, subscription, wants_more).await
            }
        };
        match step {
            Step::Arrived(Some((delivery, number))) => running.push(handle(handler, delivery, number)),
            Step::Arrived(None) => open = false,
            Step::Finished((number, result, took)) => {
                feed.worked(took).follow(&core, &feed);
                let verdict = match &result {
                    Ok(()) => SettleVerdict::Ack,
                    Err((event, reason)) => {
                        core.teller.tell_failed(&feed.name, *event, reason.clone());
                        nack::verdict(reason, None)
                    }
                };
                // A lease that is gone was lost with the connection, and the event comes again. What a handler that settles
                // by itself could not settle has failed all the same.
                let settles = handling.settling == SettledBy::Result || result.is_err();
                if let Some(lease) = feed.held_lease(number).filter(|_| settles) {
                    done.settlements.push(PendingSettlement::unwatched(lease, verdict));
                }
                done.numbers.push(number);
            }
        }
        if done.numbers.len() >= ACK_BATCH {
            done.send(&core, &feed);
        }
    }
    done.send(&core, &feed);
}

/// What handlers are done with and the connection does not know yet.
#[derive(Default)]
struct Done {
    settlements: Vec<PendingSettlement>,
    numbers: Vec<u64>,
}

impl Done {
    /// Released only after it was handed over: a client that closes waits for both.
    fn send(&mut self, core: &ClientCore, feed: &Feed) {
        core.mailbox.settle_all(&mut self.settlements);
        self.numbers.drain(..).for_each(|number| feed.release(number));
    }
}

/// Results before new work.
async fn next_step<W: Future>(
    running: &mut FuturesUnordered<W>,
    subscription: &mut Subscription,
    wants_more: bool,
) -> Step<W::Output> {
    tokio::select! {
        biased;
        Some(finished) = running.next() => Step::Finished(finished),
        arrived = next_held(subscription), if wants_more => Step::Arrived(arrived),
    }
}

/// The next delivery, its lease renewed until it is released. Nothing is lost if the future is dropped.
async fn next_held(subscription: &mut Subscription) -> Option<(Delivery, u64)> {
    loop {
        if let Some(received) = subscription.take() {
            let feed = subscription.feed();
            let lease = lease_of(feed, &received);
            let number = feed.hold(lease.clone(), received.renew_at());
            return Some((Delivery::new(subscription.client().core().clone(), received, lease), number));
        }
        if subscription.feed().is_ended() {
            return None;
        }
        subscription.feed().arrived().await;
    }
}

/// The event, and why.
type Failed = (EventId, String);

/// Runs the handler; a panic is a failed attempt like any other.
async fn handle<H, F, E>(handler: &H, delivery: Delivery, number: u64) -> (u64, Result<(), Failed>, Duration)
where
    H: Fn(Delivery) -> F,
    F: Future<Output = Result<(), E>>,
    E: Display,
{
    let (began, event) = (Instant::now(), delivery.id());
    let work = AssertUnwindSafe(async { handler(delivery).await });
    let result = match work.catch_unwind().await {
        Ok(result) => result.map_err(|error| (event, error.to_string())),
        Err(_) => Err((event, "the handler panicked".to_owned())),
    };
    (number, result, began.elapsed())
}
