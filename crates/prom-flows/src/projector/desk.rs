//! What a projector shows of itself, and how others reach it: shared by its work and by those who ask.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use prom_engine::TaskName;
use prom_jobs::{FlowCounts, FlowFailure, FlowState, FlowStatus, Keeper};
use prom_types::EpochMs;
use tokio::sync::Notify;

use super::limits::REASON_CHARS;
use super::settings::{ProjectorSettings, ProjectorTarget};
use super::stages::StageTimes;

pub(crate) struct ProjectorDesk {
    pub settings: ProjectorSettings,
    pub task: TaskName,
    pub stages: StageTimes,
    /// An operator wants something: it looks at once.
    pub bell: Notify,
    keeper: Mutex<Option<Keeper>>,
    shown: Mutex<FlowStatus>,
}

impl ProjectorDesk {
    pub fn new(settings: ProjectorSettings) -> Arc<Self> {
        let names: Vec<&str> = settings.collections.iter().map(|one| one.name.as_str()).collect();
        let place = match &settings.target {
            ProjectorTarget::Store | ProjectorTarget::Topic { .. } => "store".to_owned(),
            ProjectorTarget::Mongo { database, .. } => {
                database.as_ref().map_or_else(|| "mongo".to_owned(), |database| format!("mongo {database}"))
            }
        };
        let to = match &settings.target {
            ProjectorTarget::Topic { into, .. } => format!("topic {into}"),
            _ => format!("{place} {}", names.join(", ")),
        };
        let mut shown = FlowStatus::starting(format!("topic {}", settings.topic), to);
        shown.details.insert("group".to_owned(), settings.group());
        let task = TaskName::one("projector", &settings.name);
        let stages = StageTimes::default();
        let (bell, keeper) = (Notify::new(), Mutex::new(None));
        Arc::new(Self { settings, task, stages, bell, keeper, shown: Mutex::new(shown) })
    }

    pub fn kept_by(&self, keeper: &Keeper) {
        *self.keeper.lock() = Some(keeper.clone());
    }

    /// It goes on: whatever it failed with is over.
    pub fn moves(&self, state: FlowState) {
        let mut shown = self.shown.lock();
        (shown.state, shown.error) = (state, None);
    }

    /// The lease is had; what comes next says more.
    pub fn moves_if_new(&self) {
        let mut shown = self.shown.lock();
        if shown.error.is_none() {
            shown.state = FlowState::Starting;
        }
    }

    /// Adds to a number among the details.
    pub fn add(&self, name: &str, more: u64) {
        if more > 0 {
            let details = &mut self.shown.lock().details;
            let before: u64 = details.get(name).and_then(|known| known.parse().ok()).unwrap_or(0);
            details.insert(name.to_owned(), before.saturating_add(more).to_string());
        }
    }

    pub fn count(&self, count: impl FnOnce(&mut FlowCounts)) {
        count(&mut self.shown.lock().counts);
    }

    pub fn stands_at(&self, position: String, pending: u64) {
        let mut shown = self.shown.lock();
        (shown.position, shown.pending) = (Some(position), Some(pending));
    }

    pub fn detail(&self, name: &str, value: Option<String>) {
        let details = &mut self.shown.lock().details;
        match value {
            Some(value) => details.insert(name.to_owned(), value),
            None => details.remove(name),
        };
    }

    /// It failed, and is tried again at `retry_at`, or waits for an operator.
    pub fn failed(&self, reason: &str, now: EpochMs, retry_at: Option<EpochMs>) {
        let mut shown = self.shown.lock();
        let before = shown.error.take();
        let (since, tries) = before.map_or((now, 0), |before| (before.since, before.tries));
        let reason = reason.chars().take(REASON_CHARS).collect();
        shown.error = Some(FlowFailure { reason, since, tries: tries.saturating_add(1), retry_at });
        shown.state = if retry_at.is_some() { FlowState::Retrying } else { FlowState::Stopped };
    }

    pub fn status(&self) -> FlowStatus {
        let mut status = self.shown.lock().clone();
        status.stages = self.stages.stages();
        let kept = self.keeper.lock().as_ref().and_then(|keeper| keeper.states().remove(&self.task));
        let Some(kept) = kept else { return status };
        if kept.is_elsewhere {
            (status.state, status.error, status.pending, status.position) = (FlowState::Elsewhere, None, None, None);
        } else if let Some(reason) = kept.failed.filter(|_| !kept.is_under_way) {
            // The work tells of its failures by itself, but not of one that ended it, and not that there is no lease.
            let since = kept.last_pass.unwrap_or_default();
            let retry_at = kept.retry_at.or(kept.last_pass);
            status.state = FlowState::Retrying;
            status.error = Some(FlowFailure { reason, since, tries: kept.failures, retry_at });
        }
        status
    }

    /// The position of each partition in words.
    pub fn places(offsets: &[u64]) -> String {
        let named: BTreeMap<usize, &u64> = offsets.iter().enumerate().collect();
        let texts: Vec<String> = named.into_iter().map(|(partition, offset)| format!("{partition}:{offset}")).collect();
        texts.join(" ")
    }
}
