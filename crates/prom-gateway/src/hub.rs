//! What every connection and every request shares.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use prom_auth::Authenticator;
use prom_engine::{Bus, TaskFailures, TaskName};
use prom_jobs::{FlowBoard, INDEX_EVERY, Indexes, Keeper, LetterOffice, TRACE_EVERY, Tracer};
use prom_store::Clock;
use prom_types::{NewEvent, TopicName};
use tokio::sync::watch;

use crate::GatewayOptions;
use crate::fair_places::FairPlaces;
use crate::peers::Peers;
use crate::rates::Rates;
use crate::trace::Traces;
use crate::ws::{Connections, SubscriptionCounts};

/// Filters of tails that run at once, in all and of one subject. What else runs on their threads waits behind so many.
const TAIL_FILTERS_AT_ONCE: usize = 3;
const TAIL_FILTERS_OF_A_SUBJECT: usize = 2;

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
    /// Its work in the background.
    pub keeper: Keeper,
    /// Draws what led to an event and what it led to.
    pub tracer: Tracer,
    /// Finds events by the values of declared expressions.
    pub indexes: Indexes,
    /// Dead letters, and the jobs that work on them.
    pub letters: LetterOffice,
    /// Flows from and into databases that it was configured with.
    pub flows: FlowBoard,
    /// Sockets that are open, WebSocket and HTTP alike.
    pub(crate) sockets: AtomicUsize,
    pub(crate) websockets: AtomicUsize,
    /// Connections to other hubs, for clients whose groups they serve.
    pub(crate) links: AtomicUsize,
    /// Of clients that are connected here, by subject.
    pub(crate) subscriptions: SubscriptionCounts,
    pub(crate) connections: Connections,
    /// For the filters of subscriptions without a group.
    pub(crate) tail_filters: FairPlaces,
    /// True once every connection has to end.
    pub(crate) stopping: watch::Sender<bool>,
    next_connection: AtomicU64,
}

/// What a hub works with besides its bus.
#[derive(Default)]
pub struct Collaborators {
    pub traces: Option<Arc<dyn Traces>>,
    pub peers: Option<Peers>,
    /// Background work that was started already; without it the hub has none.
    pub keeper: Option<Keeper>,
    /// Flows are shown as they are put on it, now or later.
    pub flows: FlowBoard,
}

impl Hub {
    pub fn new(bus: Bus, auth: Authenticator, clock: Arc<dyn Clock>, options: GatewayOptions) -> Arc<Self> {
        Self::with(bus, auth, clock, options, Collaborators::default())
    }

    /// As [`Hub::new`], with tracing, other hubs or background work.
    pub fn with(
        bus: Bus,
        auth: Authenticator,
        clock: Arc<dyn Clock>,
        options: GatewayOptions,
        collaborators: Collaborators,
    ) -> Arc<Self> {
        let Collaborators { traces, peers, keeper, flows } = collaborators;
        let letters = LetterOffice::start(bus.clone());
        if let Some(keeper) = &keeper {
            letters.kept_by(keeper);
        }
        Arc::new(Self {
            rates: Rates::new(options.rates),
            keeper: keeper.unwrap_or_else(|| Keeper::new(bus.clone())),
            letters,
            flows,
            bus,
            auth,
            options,
            clock,
            traces,
            peers,
            tracer: Tracer::new(),
            indexes: Indexes::new(),
            sockets: AtomicUsize::new(0),
            websockets: AtomicUsize::new(0),
            links: AtomicUsize::new(0),
            subscriptions: SubscriptionCounts::default(),
            connections: Connections::default(),
            tail_filters: FairPlaces::new(TAIL_FILTERS_AT_ONCE, TAIL_FILTERS_OF_A_SUBJECT),
            stopping: watch::Sender::new(false),
            next_connection: AtomicU64::new(1),
        })
    }

    /// Keeps the index of causes and the declared indexes up to date in the background, until its keeper ends. Questions bring
    /// them up to date as well, so without this they only have more to read.
    pub fn keep_indexes(&self) {
        self.keeper.keep(TaskName::only("trace index"), TRACE_EVERY, self.tracer.indexing());
        self.keeper.keep(TaskName::only("declared indexes"), INDEX_EVERY, self.indexes.building());
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
