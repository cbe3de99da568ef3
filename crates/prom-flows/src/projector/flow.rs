//! A projector as the hub shows and steers it.

use std::sync::Arc;

use async_trait::async_trait;
use prom_engine::{Bus, Error};
use prom_jobs::{Flow, FlowAction, FlowBoard, FlowError, FlowKind, FlowOutcome, FlowStatus, Keeper};

use super::desk::ProjectorDesk;
use super::error::ProjectError;
use super::limits::TAKE_OVER;
use super::record::KnownRecord;
use super::settings::ProjectorSettings;
use super::work::ProjectorWork;

/// How often a record is read again because the projector wrote it meanwhile.
const TRIES: usize = 16;

/// A projector of this hub. It works as long as the keeper does.
#[derive(Clone)]
pub struct Projector {
    bus: Bus,
    desk: Arc<ProjectorDesk>,
}

impl Projector {
    /// Begins to work under a lease, and shows itself on the board.
    pub fn start(bus: &Bus, keeper: &Keeper, board: &FlowBoard, settings: ProjectorSettings) -> Result<Self, String> {
        settings.check()?;
        let desk = ProjectorDesk::new(settings);
        desk.kept_by(keeper);
        let projector = Self { bus: bus.clone(), desk: desk.clone() };
        board.add(Arc::new(projector.clone()));
        let wake = keeper.keep(desk.task.clone(), TAKE_OVER, ProjectorWork::new(desk.clone()));
        wake.wake();
        Ok(projector)
    }

    async fn ask_for_rebuild(&self) -> Result<(), ProjectError> {
        let name = &self.desk.settings.name;
        for _ in 0..TRIES {
            let known = KnownRecord::read(&self.bus, name).await?;
            let mut record = known.record.clone();
            record.rebuild_asked = Some(self.bus.clock().now_ms());
            let mut work = self.bus.unit_of_work();
            known.write(name, &record, &mut work)?;
            match work.commit().await {
                Ok(_) => return Ok(()),
                Err(Error::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(ProjectError::Passing("the projector writes too much at the moment; try again".to_owned()))
    }
}

#[async_trait]
impl Flow for Projector {
    fn kind(&self) -> FlowKind {
        FlowKind::Projection
    }

    fn name(&self) -> &str {
        &self.desk.settings.name
    }

    fn status(&self) -> FlowStatus {
        self.desk.status()
    }

    async fn act(&self, action: FlowAction) -> Result<FlowOutcome, FlowError> {
        let name = self.name();
        let done = match action {
            FlowAction::Restart => format!("projector {name} is tried again now"),
            FlowAction::Rebuild => {
                if let Some(reason) = super::open::cannot_rebuild(&self.desk.settings) {
                    return Err(FlowError::Unfit { reason });
                }
                self.ask_for_rebuild().await.map_err(|error| FlowError::Failed { reason: error.to_string() })?;
                format!("projector {name} builds its documents anew; the old ones are read until they are complete")
            }
            FlowAction::Seek(_) => {
                let group = self.desk.settings.group();
                let topic = &self.desk.settings.topic;
                let reason = format!("a projector is moved as its group: prom cursor set {topic} {group} …");
                return Err(FlowError::Unfit { reason });
            }
            FlowAction::Requeue(_) | FlowAction::Drop(_) => {
                let reason = format!("projector {name} has no rows; what it could not project is in the dead letters");
                return Err(FlowError::Unfit { reason });
            }
        };
        self.desk.bell.notify_one();
        Ok(FlowOutcome { done, rows: None })
    }
}
