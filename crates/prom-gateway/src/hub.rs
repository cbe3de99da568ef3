//! What every connection and every request shares.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use prom_auth::Authenticator;
use prom_engine::{Bus, TaskFailures};
use prom_store::Clock;
use prom_types::{NewEvent, TopicName};
use tokio::sync::watch;

use crate::GatewayOptions;
use crate::peers::Peers;
use crate::rates::Rates;
use crate::trace::Traces;
use crate::ws::SubscriptionCounts;

/// A running hub, without its sockets. Cheap to share; holds nothing durable.
pub struct Hub {
    pub bus: Bus,
    pub auth: Authenticator,
    pub options: GatewayOptions,
    /// Per topic and per subject; a connection has its own bucket.
    pub rates: Rates,
    pub clock: Arc<dyn Clock>,
    /// Where traced events are reported.
    pub traces: Option<Arc<dyn Traces>>,
    /// The other hubs on the same store, if the store can have several.
    pub peers: Option<Peers>,
    /// Sockets that are open, WebSocket and HTTP alike.
    pub(crate) sockets: AtomicUsize,
    pub(crate) websockets: AtomicUsize,
    /// Connections to other hubs, for clients whose groups they serve.
    pub(crate) links: AtomicUsize,
    /// Of clients that are connected here, by subject.
    pub(crate) subscriptions: SubscriptionCounts,
    /// True once every connection has to end.
    pub(crate) stopping: watch::Sender<bool>,
    next_connection: AtomicU64,
}

/// What a hub works with besides its bus.
#[derive(Default)]
pub struct Collaborators {
    pub traces: Option<Arc<dyn Traces>>,
    pub peers: Option<Peers>,
}

impl Hub {
    pub fn new(bus: Bus, auth: Authenticator, clock: Arc<dyn Clock>, options: GatewayOptions) -> Arc<Self> {
        Self::with(bus, auth, clock, options, Collaborators::default())
    }

    /// As [`Hub::new`], with tracing or other hubs.
    pub fn with(
        bus: Bus,
        auth: Authenticator,
        clock: Arc<dyn Clock>,
        options: GatewayOptions,
        collaborators: Collaborators,
    ) -> Arc<Self> {
        let Collaborators { traces, peers } = collaborators;
        Arc::new(Self {
            rates: Rates::new(options.rates),
            bus,
            auth,
            options,
            clock,
            traces,
            peers,
            sockets: AtomicUsize::new(0),
            websockets: AtomicUsize::new(0),
            links: AtomicUsize::new(0),
            subscriptions: SubscriptionCounts::default(),
            stopping: watch::Sender::new(false),
            next_connection: AtomicU64::new(1),
        })
    }

    /// WebSocket connections that are open.
    pub fn ws_connections(&self) -> usize {
        self.websockets.load(Ordering::Relaxed)
    }

    /// Where tasks of the hub that fail are known.
    pub(crate) fn failures(&self) -> &Arc<TaskFailures> {
        self.bus.task_failures()
    }

    /// The topics that an event may be copied to because its publisher asks for it.
    pub(crate) fn copies_of(&self, event: &NewEvent) -> Result<Vec<TopicName>, prom_engine::Error> {
        if event.dual_write { self.bus.versioned_topics(&event.topic) } else { Ok(Vec::new()) }
    }

    /// Ready when every connection has to end.
    pub(crate) async fn stopped(&self) {
        let mut stopping = self.stopping.subscribe();
        // The sender lives as long as the hub.
        drop(stopping.wait_for(|stopping| *stopping).await);
    }

    pub(crate) fn next_connection(&self) -> u64 {
        self.next_connection.fetch_add(1, Ordering::Relaxed)
    }
}

/// Counts something that is open, until it is dropped: also where its task panics.
pub(crate) struct Counted<'c>(&'c AtomicUsize);

impl<'c> Counted<'c> {
    pub fn new(count: &'c AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
