//! Handlers: each delivery is passed to a function; its result settles the event.
//!
//! Acks leave in batches whenever nothing else can be done at once, so that a fast handler does not wait
//! for the disk. Leases of running handlers are renewed at half time; an event that waits too long for its
//! turn goes to a subscriber that has time for it.

use std::collections::HashMap;
use std::fmt::Display;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use crate::Error;
use crate::ack::{DispatcherTickets, by_dispatcher};
use crate::deliver::{Delivery, Ticket};
use crate::dispatch::task::DispatchRequest;
use crate::event::EventOrigin;
use crate::subscribe::{HandlerSettling, Handling, Subscribe};
use crate::subscription::Subscription;

impl Subscribe<'_> {
    /// Handlers that run at the same time; one unless said.
    pub fn concurrency(mut self, handlers: usize) -> Self {
        self.handling.concurrency = handlers.max(1);
        self
    }

    /// The handler settles each delivery itself; its result settles nothing.
    pub fn manual_ack(mut self) -> Self {
        self.handling.settling = HandlerSettling::ByHandler;
        self
    }

    /// Passes each delivery to `handler` until the subscription ends: acks what gave `Ok`, nacks
    /// what gave an error or panicked, with the error as the reason.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), prom_engine::Error> {
    /// # let store = std::sync::Arc::new(prom_store::MemoryStore::new(std::sync::Arc::new(prom_store::SystemClock::new())));
    /// # let bus = prom_engine::Bus::start(store, Default::default()).await?;
    /// use prom_engine::{Delivery, Error, Position};
    /// use serde_json::json;
    ///
    /// bus.publish("orders.placed", json!({"id": 7})).await?;
    /// let stopping = bus.clone();
    /// let mail = bus.subscribe("orders.placed", "mail").from(Position::Earliest);
    /// mail.run(|delivery: Delivery| {
    ///     let stopping = stopping.clone();
    ///     async move {
    ///         assert_eq!(delivery.payload::<serde_json::Value>()?["id"], 7);
    ///         tokio::spawn(async move { stopping.shutdown().await });
    ///         Ok::<(), Error>(())
    ///     }
    /// })
    /// .await?;
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
        let mut subscription = self.start().await?;
        drive(&mut subscription, &handler, handling).await;
        match subscription.failure() {
            Some(failure) => Err(failure),
            None => Ok(()),
        }
    }
}

/// What comes next in a runner's life.
enum Step<T> {
    Finished(T),
    Arrived(Option<Delivery>),
    Renew,
}

async fn drive<H, F, E>(subscription: &mut Subscription, handler: &H, handling: Handling)
where
    H: Fn(Delivery) -> F,
    F: Future<Output = Result<(), E>>,
    E: Display,
{
    let (ack_timeout, batch_size) = {
        let options = &subscription.outlet().options;
        (options.ack_timeout, options.batch_size)
    };
    let half_time = ack_timeout / 2;
    let mut renewal = interval_at(Instant::now() + half_time, half_time);
    renewal.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut running = FuturesUnordered::new();
    // What each running handler holds, by number.
    let mut held: HashMap<u64, Ticket> = HashMap::new();
    let mut done: Vec<Ticket> = Vec::new();
    let mut number = 0;
    let mut open = true;
    while open || !running.is_empty() {
        let wants_more = open && running.len() < handling.concurrency;
        let at_once = next_step(&mut renewal, &mut running, subscription, wants_more).now_or_never();
        let step = match at_once {
            Some(step) => step,
            // Nothing to do at once: a good moment for what is done.
            None => {
                send_acks(&mut done).await;
                next_step(&mut renewal, &mut running, subscription, wants_more).await
            }
        };
        match step {
            Step::Arrived(Some(delivery)) => {
                number += 1;
                held.insert(number, delivery.ticket());
                running.push(handle(handler, delivery, number));
            }
            Step::Arrived(None) => open = false,
            Step::Finished((number, result)) => {
                let ticket = held.remove(&number);
                match (ticket, result) {
                    (Some(ticket), result) if handling.settling == HandlerSettling::ByResult => match result {
                        Ok(()) => done.push(ticket),
                        Err(reason) => send_nack(&ticket, reason).await,
                    },
                    _ => {}
                }
            }
            Step::Renew => {
                send_renewals(held.values().cloned(), ack_timeout).await;
            }
        }
        if done.len() >= batch_size {
            send_acks(&mut done).await;
        }
    }
    send_acks(&mut done).await;
}

/// Renewals before results before new work: a lease must not run out because there is much to do.
async fn next_step<W: Future>(
    renewal: &mut Interval,
    running: &mut FuturesUnordered<W>,
    subscription: &mut Subscription,
    wants_more: bool,
) -> Step<W::Output> {
    tokio::select! {
        biased;
        _ = renewal.tick() => Step::Renew,
        Some(finished) = running.next() => Step::Finished(finished),
        arrived = subscription.next(), if wants_more => Step::Arrived(arrived),
    }
}

/// Runs the handler; a panic is a failed attempt like any other.
async fn handle<H, F, E>(handler: &H, delivery: Delivery, number: u64) -> (u64, Result<(), String>)
where
    H: Fn(Delivery) -> F,
    F: Future<Output = Result<(), E>>,
    E: Display,
{
    let work = AssertUnwindSafe(async { handler(delivery).await });
    let result = match work.catch_unwind().await {
        Ok(result) => result.map_err(|error| error.to_string()),
        Err(_) => Err("the handler panicked".to_owned()),
    };
    (number, result)
}

/// Acks without a waiting caller; the dispatcher makes them durable, and logs if it cannot.
async fn send_acks(done: &mut Vec<Ticket>) {
    for one in by_dispatcher(&std::mem::take(done)) {
        let DispatcherTickets { origin, subscriber, leases } = one;
        let request = DispatchRequest::Ack { subscriber, leases, reply: None };
        send(&origin, request).await;
    }
}

async fn send_nack(ticket: &Ticket, reason: String) {
    let request = DispatchRequest::Nack {
        subscriber: ticket.subscriber,
        offset: ticket.offset,
        lease: ticket.lease,
        reason: Some(reason),
        delay: None,
        reply: None,
    };
    send(&ticket.origin, request).await;
}

async fn send_renewals(tickets: impl Iterator<Item = Ticket>, extend: Duration) {
    for one in by_dispatcher(&tickets.collect::<Vec<_>>()) {
        let request = DispatchRequest::Modack { subscriber: one.subscriber, leases: one.leases, extend, reply: None };
        send(&one.origin, request).await;
    }
}

/// A dispatcher that has ended has no leases left to settle.
async fn send(origin: &EventOrigin, request: DispatchRequest) {
    if let Some(port) = &origin.port {
        let _ended = port.mailbox.send(request).await;
    }
}
