//! Handlers: each delivery is passed to a function; its result settles the event.
//!
//! Acks leave in batches whenever nothing else is to be done at once, so that a fast handler does
//! not wait for the disk. Leases of what runs and of what waits its turn are renewed at half time.

use std::collections::HashMap;
use std::fmt::Display;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::Error;
use crate::ack::{Together, by_dispatcher};
use crate::deliver::{Delivery, Ticket};
use crate::dispatch::task::Request;
use crate::subscribe::{Settling, Subscribe};
use crate::subscription::Subscription;

impl Subscribe<'_> {
    /// Handlers that run at the same time; one unless said.
    pub fn concurrency(mut self, handlers: usize) -> Self {
        self.handling.concurrency = handlers.max(1);
        self
    }

    /// The handler settles each delivery itself; its result settles nothing.
    pub fn manual_ack(mut self) -> Self {
        self.handling.settling = Settling::ByHandler;
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
        let mut runner = Runner {
            handler,
            running: FuturesUnordered::new(),
            held: HashMap::new(),
            next_number: 0,
            settling: handling.settling,
            done: Vec::new(),
        };
        runner.drive(&mut subscription, handling.concurrency).await;
        match subscription.failure() {
            Some(failure) => Err(failure),
            None => Ok(()),
        }
    }
}

struct Runner<H, F: Future> {
    handler: H,
    running: FuturesUnordered<Numbered<F>>,
    /// What each running handler holds.
    held: HashMap<u64, Ticket>,
    next_number: u64,
    settling: Settling,
    /// Finished well, not yet acked.
    done: Vec<Ticket>,
}

type Numbered<F> = futures::future::Map<
    futures::future::Join<std::future::Ready<u64>, futures::future::CatchUnwind<AssertUnwindSafe<F>>>,
    fn(
        (u64, std::thread::Result<<F as Future>::Output>),
    ) -> (u64, std::thread::Result<<F as Future>::Output>),
>;

/// What comes next in a runner's life.
enum Step<T> {
    Finished(T),
    Arrived(Option<Delivery>),
    Renew,
}

impl<H, F, E> Runner<H, F>
where
    H: Fn(Delivery) -> F,
    F: Future<Output = Result<(), E>>,
    E: Display,
{
    async fn drive(&mut self, subscription: &mut Subscription, concurrency: usize) {
        let ack_timeout = subscription.outlet().taste.ack_timeout;
        let half_time = ack_timeout / 2;
        let mut renewal = interval_at(Instant::now() + half_time, half_time);
        renewal.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut open = true;
        while open || !self.running.is_empty() {
            let wants_more = open && self.running.len() < concurrency;
            let step = async {
                tokio::select! {
                    biased;
                    _ = renewal.tick() => Step::Renew,
                    Some(finished) = self.running.next() => Step::Finished(finished),
                    arrived = subscription.next(), if wants_more => Step::Arrived(arrived),
                }
            };
            tokio::pin!(step);
            let step = match step.as_mut().now_or_never() {
                Some(step) => step,
                // Nothing to do at once: a good moment for what is done.
                None => {
                    send_acks(&mut self.done).await;
                    step.await
                }
            };
            match step {
                Step::Finished((number, result)) => self.finished(number, result).await,
                Step::Arrived(Some(delivery)) => self.begin(delivery),
                Step::Arrived(None) => open = false,
                Step::Renew => self.renew(subscription, ack_timeout).await,
            }
            if self.done.len() >= subscription.outlet().taste.batch_size {
                send_acks(&mut self.done).await;
            }
        }
        send_acks(&mut self.done).await;
    }
}
