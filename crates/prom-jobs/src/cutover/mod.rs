//! Cutover: a topic's history, or its state, every event as the latest version has it.
//!
//! ```text
//!   heartbeat.received 0 … n ─▶ upcast, checked ─┬▶ heartbeat.received.v2            the same id, key, headers and time
//!                                                ├▶ or documents                     the latest event of each key
//!                                                ├▶ or heartbeat.received.snapshot.v2    the same, sorted, with a marker
//!                                                └▶ how far it is                    in one commit
//! ```
//!
//! Each step stores what it made and the progress together, so a crash at any moment leaves neither a hole nor a double, and
//! the next run goes on where the last one ended. The progress goes with the topic and with its target: if one of them is deleted
//! meanwhile, the step is refused, and nothing is counted that is not there. Of two at once the one that began last goes on.

mod book;
mod history;
mod plan;
mod progress;
mod state;

use prom_engine::{Bus, Normalized, NotNormalized, StoredEvent, VERSION_HEADER};
use prom_types::limits;
use serde::{Deserialize, Serialize};

use self::history::HistoryCutover;
pub use self::plan::{CutoverPlace, CutoverPlan, CutoverTarget};
pub use self::progress::CutoverProgress;
use self::state::StateCutover;
use crate::JobError;
use crate::limits::START_TRIES;

/// What becomes of events that cannot be brought to the version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnfitEvent {
    /// The cutover stops there and says which one it is.
    Stop,
    /// They are counted and left out.
    Skip,
}

/// A cutover under way.
pub struct Cutover {
    plan: CutoverPlan,
    way: CutoverWay,
}

enum CutoverWay {
    History(Box<HistoryCutover>),
    State(Box<StateCutover>),
}

/// Why an event was not taken over.
enum NotTaken {
    Unfit(String),
    WithoutKey,
    Failed(JobError),
}

impl Cutover {
    /// Begins a cutover, or goes on with one. The audit trail tells who did. One that is still under way, such as that of a
    /// client that has just left, may end a step meanwhile: then this one looks again.
    pub async fn start(bus: &Bus, plan: CutoverPlan, unfit: UnfitEvent) -> Result<Self, JobError> {
        for _ in 0..START_TRIES {
            match Self::begin(bus, plan.clone(), unfit).await {
                Err(JobError::Running { .. } | JobError::Deleted { .. }) => {}
                begun => return begun,
            }
        }
        Self::begin(bus, plan, unfit).await
    }

    async fn begin(bus: &Bus, plan: CutoverPlan, unfit: UnfitEvent) -> Result<Self, JobError> {
        let way = match &plan.place {
            CutoverPlace::Topic(_) | CutoverPlace::Collection(_) => {
                CutoverWay::History(Box::new(HistoryCutover::begin(bus, plan.clone(), unfit).await?))
            }
            CutoverPlace::Snapshot(target) => {
                CutoverWay::State(Box::new(StateCutover::begin(bus, plan.clone(), target.clone(), unfit).await?))
            }
        };
        Ok(Self { plan, way })
    }

    /// What it does.
    pub fn plan(&self) -> &CutoverPlan {
        &self.plan
    }

    /// How far it is.
    pub fn progress(&self) -> &CutoverProgress {
        match &self.way {
            CutoverWay::History(history) => history.progress(),
            CutoverWay::State(state) => state.progress(),
        }
    }

    /// Of what is counted, what earlier runs had read.
    pub fn read_before(&self) -> u64 {
        match &self.way {
            CutoverWay::History(history) => history.read_before(),
            CutoverWay::State(state) => state.read_before(),
        }
    }

    /// Takes some more events over, together with the progress.
    pub async fn step(&mut self) -> Result<&CutoverProgress, JobError> {
        match &mut self.way {
            CutoverWay::History(history) => history.step().await,
            CutoverWay::State(state) => state.step().await,
        }
    }
}

impl CutoverPlan {
    /// The event, if it could be brought to the version.
    fn of_version(&self, normalized: Normalized) -> Result<StoredEvent, NotTaken> {
        let event = normalized.map_err(|why| match why {
            NotNormalized::Stopped => NotTaken::Failed(JobError::Stopped { topic: self.topic.clone() }),
            NotNormalized::Unfit(reason) => NotTaken::Unfit(reason),
        })?;
        self.check_version(&event).map_err(NotTaken::Failed)?;
        Ok(event)
    }

    /// Another version may be registered at any moment; its events do not belong into this target.
    fn check_version(&self, event: &StoredEvent) -> Result<(), JobError> {
        if event.is_tombstone() {
            return Ok(());
        }
        let headers = event.headers();
        let stamped = headers.get(VERSION_HEADER);
        // An event with as many headers as there may be is not stamped.
        if stamped == Some(self.version.to_string().as_str()) || headers.len() >= limits::HEADERS {
            return Ok(());
        }
        Err(self.other_version(self.version, stamped.unwrap_or("none")))
    }

    fn other_version(&self, running: u32, latest: &str) -> JobError {
        let (topic, target) = (self.topic.clone(), self.place.to_string());
        JobError::OtherVersion { topic, target, running, latest: latest.to_owned() }
    }

    fn unfit(&self, stored: &StoredEvent, reason: String) -> JobError {
        JobError::Unfit {
            topic: self.topic.clone(),
            id: stored.id().to_string(),
            partition: stored.partition(),
            offset: stored.offset(),
            version: self.version,
            reason,
        }
    }
}
