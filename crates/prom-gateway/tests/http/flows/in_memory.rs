//! Flows that are whole but for their databases: rows, positions and failures are in memory.

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use prom_jobs::{
    Flow, FlowAction, FlowError, FlowFailure, FlowKind, FlowOutcome, FlowRow, FlowRowQuery, FlowSeek, FlowStage,
    FlowState, FlowStatus,
};
use tokio::sync::Semaphore;

pub struct FlowInMemory {
    kind: FlowKind,
    name: String,
    status: Mutex<FlowStatus>,
    rows: Mutex<Vec<FlowRow>>,
    /// Changes wait for it.
    database: Semaphore,
}

impl FlowInMemory {
    pub fn new(kind: FlowKind, name: &str) -> Self {
        let mut status = FlowStatus::starting(format!("mongo shop.{name}"), "topic orders.changed");
        status.state = FlowState::Running;
        Self {
            kind,
            name: name.to_owned(),
            status: Mutex::new(status),
            rows: Mutex::default(),
            database: Semaphore::new(Semaphore::MAX_PERMITS),
        }
    }

    pub fn row(self, id: &str, key: &str, status: &str) -> Self {
        let is_bad = status == "error";
        self.rows.lock().push(FlowRow {
            id: id.to_owned(),
            topic: "orders.placed".to_owned(),
            key: Some(key.to_owned()),
            status: status.to_owned(),
            ts: 1_000,
            attempts: if is_bad { 10 } else { 0 },
            last_err: is_bad.then(|| "the payload does not fit".to_owned()),
        });
        self
    }

    /// As after ten rows, with two stages.
    pub fn busy(self) -> Self {
        {
            let mut status = self.status.lock();
            status.pending = Some(7);
            status.oldest = Some(0);
            (status.counts.read, status.counts.written, status.counts.skipped, status.counts.failed) = (10, 8, 1, 1);
            status.position = Some("8265E6F2".to_owned());
            status.details.insert("collection".to_owned(), "orders".to_owned());
            let stage = |name, p50_ms, p99_ms| FlowStage { name, last_ms: 4, p50_ms, p99_ms };
            status.stages = vec![stage("commit_to_publish", 3, 12), stage("publish_to_document", 5, 40)];
        }
        self
    }

    pub fn failing(self, state: FlowState, reason: &str) -> Self {
        {
            let mut status = self.status.lock();
            status.state = state;
            let retry_at = (state == FlowState::Retrying).then_some(9_000);
            status.error = Some(FlowFailure { reason: reason.to_owned(), since: 1_000, tries: 3, retry_at });
        }
        self
    }

    /// Until [`FlowInMemory::mend`], no change of it is done.
    pub fn with_a_silent_database(self) -> Self {
        Self { database: Semaphore::new(0), ..self }
    }

    pub fn mend(&self) {
        self.database.add_permits(1000);
    }

    pub fn position(&self) -> Option<String> {
        self.status.lock().position.clone()
    }

    pub fn shared(self) -> Arc<Self> {
        Arc::new(self)
    }

    fn change_rows(&self, wanted: &FlowRowQuery, change: impl Fn(&mut Vec<FlowRow>, usize)) -> u64 {
        let mut rows = self.rows.lock();
        let found: Vec<usize> =
            rows.iter().enumerate().filter(|(_, row)| is_wanted(row, wanted)).map(|(at, _)| at).collect();
        let most = wanted.limit.unwrap_or(usize::MAX);
        let taken: Vec<usize> = found.into_iter().take(most).collect();
        taken.iter().rev().for_each(|at| change(&mut rows, *at));
        taken.len() as u64
    }

    fn unfit(&self, asked: &str) -> FlowError {
        FlowError::Unfit { reason: format!("{} cannot {asked}", self.name) }
    }
}

fn is_wanted(row: &FlowRow, wanted: &FlowRowQuery) -> bool {
    wanted.status.as_ref().is_none_or(|status| row.status == *status)
        && (wanted.ids.is_empty() || wanted.ids.contains(&row.id))
        && wanted.topic.as_ref().is_none_or(|topic| row.topic == *topic)
        && wanted.key.as_ref().is_none_or(|key| row.key.as_ref() == Some(key))
}

#[async_trait]
impl Flow for FlowInMemory {
    fn kind(&self) -> FlowKind {
        self.kind
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn status(&self) -> FlowStatus {
        self.status.lock().clone()
    }

    async fn act(&self, action: FlowAction) -> Result<FlowOutcome, FlowError> {
        drop(self.database.acquire().await.map_err(|error| FlowError::Failed { reason: error.to_string() })?);
        let done = |text: &str| Ok(FlowOutcome { done: text.to_owned(), rows: None });
        match (self.kind, action) {
            (_, FlowAction::Restart) => {
                let mut status = self.status.lock();
                (status.state, status.error) = (FlowState::Running, None);
                done("tried again")
            }
            (FlowKind::Feed, FlowAction::Seek(FlowSeek::Time(at))) => {
                self.status.lock().position = Some(at.to_string());
                done("goes on at a time")
            }
            (FlowKind::Feed, FlowAction::Seek(FlowSeek::Token(token))) if token.starts_with("82") => {
                self.status.lock().position = Some(token);
                done("goes on after a token")
            }
            (FlowKind::Feed, FlowAction::Seek(_)) => Err(self.unfit("resume after what is no token")),
            (FlowKind::Projection, FlowAction::Rebuild) => done("building processes_2"),
            (FlowKind::Outbox, FlowAction::Requeue(wanted)) => {
                let rows = self.change_rows(&wanted, |rows, at| "pending".clone_into(&mut rows[at].status));
                Ok(FlowOutcome { done: "requeued".to_owned(), rows: Some(rows) })
            }
            (FlowKind::Outbox, FlowAction::Drop(wanted)) => {
                let rows = self.change_rows(&wanted, |rows, at| drop(rows.remove(at)));
                Ok(FlowOutcome { done: "dropped".to_owned(), rows: Some(rows) })
            }
            _ => Err(self.unfit("do this")),
        }
    }

    async fn rows(&self, wanted: FlowRowQuery) -> Result<Vec<FlowRow>, FlowError> {
        drop(self.database.acquire().await.map_err(|error| FlowError::Failed { reason: error.to_string() })?);
        let rows = self.rows.lock();
        let found = rows.iter().filter(|row| is_wanted(row, &wanted)).cloned();
        Ok(found.take(wanted.limit.unwrap_or(usize::MAX)).collect())
    }
}
