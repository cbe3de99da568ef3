//! The bus: what an application holds. Its verbs live in the files named after them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use prom_schema::{SchemaSettings, UpcastFn};
use prom_store::{Clock, DocumentWatch, Store, SystemClock};
use prom_types::{IdMaker, TopicName};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::compact::Compacted;
use crate::filter::FilterPlaces;
use crate::group::{GroupCensus, RunningGroups};
use crate::held_bytes::DeliveryMemory;
use crate::ownership::{HubOptions, Ownership};
use crate::schema::{SchemaLoader, SchemaNews, SchemaRegistry};
use crate::shutdown::Shutdown;
use crate::subscribe::Followers;
use crate::supervise::{TaskFailures, TaskName};
use crate::topic::{TopicRegistry, TopicSettings};
use crate::{Caps, Error, Retention, limits, maintain, ownership};

/// A durable event bus over a store. Cloning costs reference counts.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), prom_engine::Error> {
/// use std::sync::Arc;
/// use prom_engine::{Bus, BusOptions, Position};
/// use prom_store::{MemoryStore, SystemClock};
/// use serde_json::json;
///
/// let store = Arc::new(MemoryStore::new(Arc::new(SystemClock::new())));
/// let bus = Bus::start(store, BusOptions::default()).await?;
/// bus.publish("orders.placed", json!({"id": 7})).key("7").await?;
///
/// let mut orders = bus.subscribe("orders.*", "billing").from(Position::Earliest).start().await?;
/// let delivery = orders.next().await.expect("the bus is open");
/// assert_eq!(delivery.payload::<serde_json::Value>()?["id"], 7);
/// delivery.ack().await?;
/// bus.shutdown().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Bus {
    handle: Arc<Handle>,
    subject: Option<Arc<str>>,
}

/// How a bus behaves. The defaults suit an application of its own.
#[derive(Clone)]
pub struct BusOptions {
    /// Where the time comes from; give the store the same one.
    pub clock: Arc<dyn Clock>,
    /// What a topic is like that is made by its first publish.
    pub new_topics: NewTopics,
    /// How many topics and groups may be made; no limit unless said.
    pub caps: Caps,
    /// How long dead letters stay, in topics that are made for them from now on.
    pub letter_retention: Retention,
    /// Between two passes of retention, compaction and expiry; `None` leaves them to the caller.
    pub maintenance_interval: Option<Duration>,
    /// Bytes that compaction reads each second at the most; no limit if `None`.
    pub compaction_bytes_per_s: Option<u64>,
    /// How long a shutdown waits for handlers.
    pub drain_timeout: Duration,
    /// How schemas are judged, where neither the topic nor the registry says otherwise.
    pub schemas: SchemaSettings,
    /// Upcasters that are functions of the application: topic, the version they begin at, the function.
    pub upcasters: Vec<(TopicName, u32, UpcastFn)>,
    /// Where others work on the same store at the same time: each group is then dispatched by one of them.
    pub hub: Option<HubOptions>,
}

/// Whether publishing may make a topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewTopics {
    /// Made on first publish, with these settings.
    Create {
        /// How many partitions a new topic has.
        partitions: u32,
        /// How long its events stay.
        retention: Retention,
    },
    /// Only topics that were created can be published to.
    Refuse,
}

impl Default for BusOptions {
    fn default() -> Self {
        Self {
            clock: Arc::new(SystemClock::new()),
            new_topics: NewTopics::Create { partitions: 1, retention: Retention::default() },
            caps: Caps::default(),
            letter_retention: limits::LETTER_RETENTION,
            maintenance_interval: Some(limits::MAINTENANCE_INTERVAL),
            compaction_bytes_per_s: Some(limits::COMPACTION_BYTES_PER_S),
            drain_timeout: limits::DRAIN_TIMEOUT,
            schemas: SchemaSettings::default(),
            upcasters: Vec::new(),
            hub: None,
        }
    }
}

/// Ends the tasks when the last bus and the last subscription are gone.
struct Handle {
    core: Arc<Core>,
}

/// What the bus and its tasks share.
pub(crate) struct Core {
    pub store: Arc<dyn Store>,
    pub clock: Arc<dyn Clock>,
    pub ids: IdMaker,
    pub topics: TopicRegistry,
    pub schemas: Arc<SchemaRegistry>,
    pub groups: RunningGroups,
    pub followers: Followers,
    /// `None` where the store belongs to this bus alone.
    pub ownership: Option<Ownership>,
    pub options: BusOptions,
    pub maintenance: Mutex<Option<JoinHandle<()>>>,
    pub shutdown: Shutdown,
    pub failures: Arc<TaskFailures>,
    pub filter_places: FilterPlaces,
    pub group_census: GroupCensus,
    pub delivery_memory: Arc<DeliveryMemory>,
    pub compacted: Compacted,
    next_subscriber: AtomicU64,
    open: AtomicBool,
    phase: watch::Sender<BusPhase>,
}

/// How far a shutdown has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum BusPhase {
    Open,
    /// Nothing new is handed out; handlers finish.
    Draining,
    /// Tasks make durable what they have and end.
    Stopped,
}

impl Bus {
    /// Starts a bus on an open store.
    pub async fn start(store: Arc<dyn Store>, options: BusOptions) -> Result<Self, Error> {
        let failures = Arc::<TaskFailures>::default();
        let filter_places = FilterPlaces::new(failures.clone());
        let schemas = Arc::new(SchemaRegistry::new(options.schemas, &options.upcasters));
        let schema_news = SchemaLoader::load(&*store, &schemas, &filter_places).await?;
        let (topics, news) = TopicRegistry::load(&*store, schemas.clone()).await?;
        let ids = IdMaker::new();
        let ownership = match options.hub.clone() {
            Some(hub) => {
                let id = ids.make(options.clock.now_ms()).to_string();
                let now = options.clock.monotonic();
                Some(Ownership::start(&*store, hub, id, now).await?)
            }
            None => None,
        };
        let core = Arc::new(Core {
            clock: options.clock.clone(),
            ids,
            ownership,
            topics,
            schemas,
            groups: RunningGroups::default(),
            followers: Followers::default(),
            maintenance: Mutex::new(None),
            shutdown: Shutdown::default(),
            failures,
            filter_places,
            next_subscriber: AtomicU64::new(1),
            open: AtomicBool::new(true),
            phase: watch::Sender::new(BusPhase::Open),
            group_census: GroupCensus::default(),
            delivery_memory: Arc::default(),
            compacted: Compacted::default(),
            options,
            store,
        });
        start_tasks(&core, news, schema_news);
        Ok(Self { handle: Arc::new(Handle { core }), subject: None })
    }

    /// The same bus in the name of a user: `system.audit` then says who changed something, and topics and groups that are
    /// made count to that user ([`Caps`]).
    pub fn acting_for(&self, subject: Option<&str>) -> Self {
        Self { handle: self.handle.clone(), subject: subject.map(Arc::from) }
    }

    /// In whose name it acts.
    pub(crate) fn subject(&self) -> Option<&str> {
        self.subject.as_deref()
    }

    /// Whom topics and groups count to that are made through it.
    pub(crate) fn maker(&self) -> Option<&Arc<str>> {
        self.subject.as_ref()
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.handle.core
    }

    /// Whether it takes events and hands them out; false from the first word of a shutdown on.
    pub fn is_open(&self) -> bool {
        self.core().check_open().is_ok()
    }

    /// Ready at the first word of a shutdown.
    pub async fn closing(&self) {
        let mut phase = self.core().watch_phase();
        // The sender lives as long as the bus.
        drop(phase.wait_for(|phase| *phase != BusPhase::Open).await);
    }

    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.handle.core.store
    }

    /// What is known about tasks that failed, of the bus and of those around it that use this.
    pub fn task_failures(&self) -> &Arc<TaskFailures> {
        &self.handle.core.failures
    }

    /// Where the bus reads the time.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.handle.core.clock
    }
}

/// Everything that runs as long as the bus does.
fn start_tasks(core: &Arc<Core>, news: Option<DocumentWatch>, schema_news: Option<SchemaNews>) {
    // Counted here: what is made before the task first runs has to be followed too.
    let (_, mut topics_seen) = core.topics.since(usize::MAX);
    let follower = core.clone();
    tokio::spawn(core.failures.clone().keep_running(TaskName::only("topic follower"), async move || {
        // Started again, it looks at all of them: attaching twice changes nothing.
        crate::subscribe::follow_new_topics(&follower, std::mem::take(&mut topics_seen)).await;
    }));
    if let Some(ownership) = &core.ownership {
        let keeper = core.clone();
        let work = async move || ownership::run(&keeper).await;
        let task = core.failures.clone().keep_running(TaskName::only("ownership"), work);
        *ownership.keeper.lock() = Some(tokio::spawn(task));
    }
    if let Some(mut news) = news {
        let learner = core.clone();
        let work = async move || crate::topic::follow_others(&learner, &mut news).await;
        tokio::spawn(core.failures.clone().keep_running(TaskName::only("topic learner"), work));
    }
    if let Some(mut news) = schema_news {
        let learner = core.clone();
        let work = async move || crate::schema::follow_others(&learner, &mut news).await;
        tokio::spawn(core.failures.clone().keep_running(TaskName::only("schema learner"), work));
    }
    if let Some(interval) = core.options.maintenance_interval {
        let maintainer = core.clone();
        let work = async move || maintain::run(&maintainer, interval).await;
        let task = core.failures.clone().keep_running(TaskName::only("maintenance"), work);
        *core.maintenance.lock() = Some(tokio::spawn(task));
    }
}

impl Core {
    /// Cheap enough for every publish.
    pub fn check_open(&self) -> Result<(), Error> {
        if self.open.load(Ordering::Relaxed) { Ok(()) } else { Err(Error::Closed) }
    }

    pub fn phase(&self) -> BusPhase {
        *self.phase.borrow()
    }

    pub fn watch_phase(&self) -> watch::Receiver<BusPhase> {
        self.phase.subscribe()
    }

    /// Moves the shutdown on; never back. Returns the phase before.
    pub fn enter(&self, phase: BusPhase) -> BusPhase {
        self.open.store(false, Ordering::Relaxed);
        let mut before = BusPhase::Open;
        self.phase.send_modify(|current| {
            before = *current;
            *current = before.max(phase);
        });
        before
    }

    pub fn next_subscriber(&self) -> u64 {
        self.next_subscriber.fetch_add(1, Ordering::Relaxed)
    }

    /// The settings of a topic that the hub itself or a first publish makes.
    pub fn settings_of_new(&self, name: TopicName) -> TopicSettings {
        let settings = TopicSettings::named(name);
        match self.options.new_topics {
            NewTopics::Create { partitions, retention } if !settings.name.is_reserved() => {
                TopicSettings { partitions, retention, ..settings }
            }
            _ if settings.name.is_dead_letters() => {
                TopicSettings { retention: self.options.letter_retention, ..settings }
            }
            _ if crate::audit::is_audit(&settings.name) => settings.retain_for(limits::AUDIT_AGE),
            _ if crate::report::is_metrics(&settings.name) => settings.retain_for(limits::METRICS_AGE),
            _ => settings,
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.core.enter(BusPhase::Stopped);
        if let Some(maintenance) = self.core.maintenance.lock().take() {
            maintenance.abort();
        }
    }
}
