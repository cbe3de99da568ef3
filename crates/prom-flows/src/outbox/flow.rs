//! An outbox as the hub starts, shows and steers it.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use prom_engine::{Bus, TaskName};
use prom_jobs::{Flow, FlowAction, FlowError, FlowKind, FlowOutcome, FlowRow, FlowRowQuery, FlowStatus};
use prom_types::EpochMs;
use tokio::sync::{Notify, OnceCell, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::drain::{DrainError, Drainer, DrainerParts, leave, within};
use super::error::SourceError;
use super::limits::{COUNT_AT_LEAST, COUNT_EVERY, COUNT_SHARE, END, FIRST_RETRY, LONGEST_RETRY};
use super::meters::OutboxMeters;
use super::options::{OutboxOptions, OutboxPlace};
use super::source::{OutboxSource, RowChange};
use super::{mongo, postgres, sqlite};

/// A drained outbox. Its task runs until the bus shuts down or [`OutboxFlow::end`] is called.
pub struct OutboxFlow {
    core: Arc<Core>,
    task: Mutex<Option<JoinHandle<()>>>,
}

struct Core {
    bus: Bus,
    options: Arc<OutboxOptions>,
    holder: String,
    source: OnceCell<Arc<dyn OutboxSource>>,
    meters: Arc<OutboxMeters>,
    /// An operator changed rows, or wants another try.
    news: Arc<Notify>,
    ending: watch::Sender<bool>,
}

impl OutboxFlow {
    /// Begins to drain. A database that cannot be reached is told by the status and tried again.
    pub fn start(bus: &Bus, options: OutboxOptions) -> Arc<Self> {
        let holder = prom_types::IdMaker::new().make(bus.clock().now_ms()).to_string();
        let from = options.place.in_words();
        let core = Arc::new(Core {
            bus: bus.clone(),
            options: Arc::new(options),
            holder,
            source: OnceCell::new(),
            meters: Arc::new(OutboxMeters::new(from)),
            news: Arc::default(),
            ending: watch::Sender::new(false),
        });
        let running = core.clone();
        let task = tokio::spawn(async move { Box::pin(running.run()).await });
        Arc::new(Self { core, task: Mutex::new(Some(task)) })
    }

    /// Ends after the rows in hand, and lets other hubs go on at once.
    pub async fn end(&self) {
        self.core.ending.send_replace(true);
        let Some(mut task) = self.task.lock().take() else { return };
        if timeout(END * 2, &mut task).await.is_err() {
            tracing::warn!(outbox = self.core.options.name, "an outbox did not end in time and is cut off");
            task.abort();
        }
    }
}

impl Core {
    /// Life after life, until the end.
    async fn run(&self) {
        let task = TaskName::one("outbox", &self.options.name);
        loop {
            let mut life = pin!(self.bus.task_failures().watch(&task, self.live()));
            let ended = tokio::select! {
                ended = &mut life => ended,
                () = self.is_over() => {
                    // What is in hand is marked; without that it would be published again, which stores nothing.
                    self.ending.send_replace(true);
                    drop(timeout(END, life).await);
                    break;
                }
            };
            let now = self.bus.clock().now_ms();
            let wait = match ended {
                Ok(DrainError::Ended) => break,
                Ok(error @ DrainError::TooManyFailing) => {
                    tracing::error!(outbox = self.options.name, %error, "an outbox is not drained");
                    self.meters.is_stopped(error.to_string(), now);
                    Duration::MAX
                }
                Ok(error) => self.retry_after(error.to_string(), now),
                Err(panicked) => self.retry_after(panicked.reason, now).max(panicked.wait),
            };
            tokio::select! {
                () = self.is_over() => break,
                () = self.news.notified() => {}
                () = sleep(wait) => {}
            }
        }
        if let Some(source) = self.source.get()
            && let Err(error) = leave(&**source, &self.holder, self.options.lease).await
        {
            tracing::warn!(outbox = self.options.name, %error, "buckets could not be given back; their leases run out");
        }
    }

    fn retry_after(&self, reason: String, now: EpochMs) -> Duration {
        let tries = self.meters.status().error.map_or(0, |failure| failure.tries);
        let wait = FIRST_RETRY.saturating_mul(1 << tries.min(16)).min(LONGEST_RETRY);
        tracing::warn!(outbox = self.options.name, reason, tries, ?wait, "draining failed; it is tried again");
        let wait_ms = EpochMs::try_from(wait.as_millis()).unwrap_or(EpochMs::MAX);
        self.meters.is_retrying(reason, now, now.saturating_add(wait_ms));
        wait
    }

    async fn live(&self) -> DrainError {
        let open = self.source.get_or_try_init(|| within("connecting", open(&self.options)));
        let source = match open.await {
            Ok(source) => source.clone(),
            Err(error) => return error.into(),
        };
        let mut drainer = Drainer::new(DrainerParts {
            bus: self.bus.clone(),
            options: self.options.clone(),
            holder: self.holder.clone(),
            source: source.clone(),
            meters: self.meters.clone(),
            news: self.news.clone(),
            ending: self.ending.subscribe(),
        });
        tokio::select! {
            Err(ended) = drainer.drain() => ended,
            () = self.count(&*source) => DrainError::Bus("counting ended".to_owned()),
        }
    }

    /// Keeps the number of waiting rows current. What fails here fails the drainer too, which tells it.
    async fn count(&self, source: &dyn OutboxSource) {
        loop {
            let begin = self.bus.clock().monotonic();
            match within("counting rows", source.backlog()).await {
                Ok(backlog) => self.meters.set_backlog(backlog),
                Err(error) => tracing::debug!(outbox = self.options.name, %error, "waiting rows could not be counted"),
            }
            let took = self.bus.clock().monotonic().saturating_sub(begin);
            sleep((took * COUNT_SHARE).clamp(COUNT_EVERY, COUNT_AT_LEAST)).await;
        }
    }

    async fn is_over(&self) {
        let mut ending = self.ending.subscribe();
        tokio::select! {
            ended = ending.wait_for(|ending| *ending) => drop(ended),
            () = self.bus.closing() => {}
        }
    }

    fn source(&self) -> Result<&Arc<dyn OutboxSource>, FlowError> {
        self.source.get().ok_or_else(|| {
            let why = self.meters.status().error.map_or_else(|| "it is starting".to_owned(), |failure| failure.reason);
            FlowError::Failed { reason: format!("outbox {} is not connected: {why}", self.options.name) }
        })
    }

    async fn change(&self, change: RowChange, query: &FlowRowQuery) -> Result<FlowOutcome, FlowError> {
        let rows = within("changing rows", self.source()?.change(change, query)).await.map_err(failed)?;
        self.news.notify_one();
        let (what, s) =
            (if change == RowChange::Requeue { "requeued" } else { "dropped" }, if rows == 1 { "" } else { "s" });
        Ok(FlowOutcome { done: format!("{what} {rows} row{s}"), rows: Some(rows) })
    }
}

#[async_trait]
impl Flow for OutboxFlow {
    fn kind(&self) -> FlowKind {
        FlowKind::Outbox
    }

    fn name(&self) -> &str {
        &self.core.options.name
    }

    fn status(&self) -> FlowStatus {
        self.core.meters.status()
    }

    async fn act(&self, action: FlowAction) -> Result<FlowOutcome, FlowError> {
        match action {
            FlowAction::Requeue(query) => self.core.change(RowChange::Requeue, &query).await,
            FlowAction::Drop(query) => self.core.change(RowChange::Drop, &query).await,
            FlowAction::Restart => {
                self.core.news.notify_one();
                Ok(FlowOutcome { done: "it is tried again now".to_owned(), rows: None })
            }
            FlowAction::Seek(_) | FlowAction::Rebuild => Err(FlowError::Unfit {
                reason: format!("{} is an outbox: it can be restarted, and its rows requeued and dropped", self.name()),
            }),
        }
    }

    async fn rows(&self, query: FlowRowQuery) -> Result<Vec<FlowRow>, FlowError> {
        within("reading rows", self.core.source()?.rows(&query)).await.map_err(failed)
    }
}

fn failed(error: SourceError) -> FlowError {
    FlowError::Failed { reason: error.to_string() }
}

async fn open(options: &OutboxOptions) -> Result<Arc<dyn OutboxSource>, SourceError> {
    let keep = options.keep_sent;
    Ok(match &options.place {
        OutboxPlace::Mongo { url, database, collection, field } => {
            let collection = mongo::connect(url, database.as_deref(), collection).await?;
            match field {
                Some(field) => Arc::new(mongo::FieldSource::open(collection, field).await?),
                None => Arc::new(mongo::CollectionSource::open(collection, keep).await?),
            }
        }
        OutboxPlace::Postgres { url, table } => Arc::new(postgres::PostgresSource::open(url, table).await?),
        OutboxPlace::Sqlite { url, table } => Arc::new(sqlite::SqliteSource::open(url, table).await?),
    })
}

impl OutboxPlace {
    /// For people: without the address.
    fn in_words(&self) -> String {
        match self {
            Self::Mongo { collection, field: Some(field), .. } => format!("mongo {collection}, field {field}"),
            Self::Mongo { collection, .. } => format!("mongo {collection}"),
            Self::Postgres { table, .. } => format!("postgres {table}"),
            Self::Sqlite { table, .. } => format!("sqlite {table}"),
        }
    }
}
