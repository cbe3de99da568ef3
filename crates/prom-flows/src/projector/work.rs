//! The work of a projector: batch after batch for as long as this hub has its lease.
//!
//! ```text
//!   hold the cursors ─▶ read ─▶ project ─▶ write ─▶ settle ─┐
//!         ▲               ▲                                 │
//!         │ lost          └──────────── next ◀──────────────┘
//!         └── failed: shown, waits, doubling ── stopped: shown, waits for an operator
//! ```
//!
//! Promises: an event that cannot be projected goes to the dead letters in the commit that settles it, and nothing else with it; a
//! failure of a database loses and doubles nothing; every wait is visible, and an operator can end it.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use prom_engine::{Bus, HeldBatch, HeldCursors, Position};
use prom_jobs::{FlowState, JobError, KeptWork};
use prom_store::ReadLimit;
use tokio::time::{Instant, sleep};

use super::desk::ProjectorDesk;
use super::error::ProjectError;
use super::event_view::EventView;
use super::limits::{BATCH_BYTES, BATCH_EVENTS, CONTENDED_WAIT, FIRST_WAIT, LONGEST_WAIT, LOOK};
use super::open;
use super::project::project;
use super::record::KnownRecord;
use super::target::{AppliedBatch, ProjectionTarget, TargetSide};

pub(crate) struct ProjectorWork {
    desk: Arc<ProjectorDesk>,
}

impl ProjectorWork {
    pub fn new(desk: Arc<ProjectorDesk>) -> Self {
        Self { desk }
    }
}

impl KeptWork for ProjectorWork {
    async fn pass(&mut self, bus: &Bus) -> Result<(), JobError> {
        let mut failures = 0;
        loop {
            self.desk.moves_if_new();
            let error = match run(&self.desk, bus, &mut failures).await {
                Ok(never) => match never {},
                Err(error) => error,
            };
            if !bus.is_open() {
                return Ok(());
            }
            failures += 1;
            let longest = if matches!(error, ProjectError::Contended(_)) { CONTENDED_WAIT } else { LONGEST_WAIT };
            let wait = FIRST_WAIT.saturating_mul(1 << (failures - 1).min(16)).min(longest);
            self.pause(bus, &error, failures, wait).await;
        }
    }
}

impl ProjectorWork {
    async fn pause(&self, bus: &Bus, error: &ProjectError, failures: u32, wait: Duration) {
        let (desk, now) = (&self.desk, bus.clock().now_ms());
        let name = &desk.settings.name;
        let rung = desk.bell.notified();
        match error {
            // Once or twice is what an operator who moves a cursor brings about.
            ProjectError::Lost(reason) if failures < 3 => {
                tracing::debug!(projector = %name, reason, "begins where its cursor is now");
                sleep(wait).await;
            }
            ProjectError::Stopped(reason) => {
                tracing::error!(projector = %name, reason, "the projector stops until somebody restarts it");
                desk.failed(reason, now, None);
                rung.await;
            }
            error => {
                let reason = error.to_string();
                tracing::warn!(projector = %name, reason, failures, ?wait, "the projector failed; it is tried again");
                let wait_ms = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
                desk.failed(&reason, now, Some(now.saturating_add(wait_ms)));
                tokio::select! {
                    () = sleep(wait) => {}
                    () = rung => {}
                }
            }
        }
    }
}

async fn run(desk: &Arc<ProjectorDesk>, bus: &Bus, failures: &mut u32) -> Result<Infallible, ProjectError> {
    let mut running = RunningProjector::open(desk.clone(), bus).await?;
    loop {
        running.step().await?;
        *failures = 0;
    }
}

/// A projector with its cursors and its target open.
pub(super) struct RunningProjector {
    pub desk: Arc<ProjectorDesk>,
    pub bus: Bus,
    pub held: HeldCursors,
    pub target: Box<dyn ProjectionTarget>,
    pub known: KnownRecord,
    looked: Instant,
}

impl RunningProjector {
    async fn open(desk: Arc<ProjectorDesk>, bus: &Bus) -> Result<Self, ProjectError> {
        let settings = &desk.settings;
        let known = KnownRecord::read(bus, &settings.name).await?;
        let held = bus.hold_cursors(&settings.topic, &settings.group(), Position::Earliest).await?;
        let mut target = open::target(bus, settings)?;
        target.open(known.record.build.as_ref().map(|build| build.collections.as_slice())).await?;
        let mut running = Self { desk, bus: bus.clone(), held, target, known, looked: Instant::now() };
        running.settle_what_is_there().await?;
        running.begin().await?;
        Ok(running)
    }

    /// What was written and not settled when a hub was killed.
    async fn settle_what_is_there(&mut self) -> Result<(), ProjectError> {
        let ahead = self.target.is_ahead();
        let mut floors = self.held.floors();
        for (partition, next) in ahead {
            if let Some(floor) = floors.0.get_mut(partition as usize) {
                *floor = next.max(*floor);
            }
        }
        let batch = self.held.until(&floors);
        if !batch.is_empty() {
            let mut work = self.bus.unit_of_work();
            self.held.settle(&mut work, &batch);
            work.commit().await?;
            self.held.settled(&batch);
        }
        Ok(())
    }

    /// A batch, a step of a build, or a wait for one of them.
    async fn step(&mut self) -> Result<(), ProjectError> {
        if self.known.record.build.is_some() {
            self.build_step().await?;
            self.desk.moves(FlowState::Snapshot);
            return Ok(());
        }
        if self.looked.elapsed() >= LOOK {
            return self.look().await;
        }
        let batch = self.held.read(ReadLimit { events: BATCH_EVENTS, bytes: BATCH_BYTES }).await?;
        if !batch.is_empty() {
            self.take(batch).await?;
        }
        // Only now: what it failed with holds until something was done.
        self.desk.moves(FlowState::Running);
        self.show_place();
        if self.held.behind() > 0 {
            return Ok(());
        }
        if self.speak_of_silence().await? {
            return Ok(());
        }
        let rest = LOOK.saturating_sub(self.looked.elapsed()).min(self.until_due());
        tokio::select! {
            arrived = self.held.arrived() => Ok(arrived?),
            () = self.desk.bell.notified() => self.look().await,
            () = sleep(rest) => Ok(()),
        }
    }

    /// How long until something is to be done without an event.
    fn until_due(&self) -> Duration {
        let wait = |due: i64| due.saturating_sub(self.bus.clock().now_ms()).max(1).unsigned_abs();
        self.target.next_due().map_or(LOOK, |due| Duration::from_millis(wait(due)))
    }

    /// What is due without an event, if anything is.
    async fn speak_of_silence(&mut self) -> Result<bool, ProjectError> {
        let now = self.bus.clock().now_ms();
        if self.target.next_due().is_none_or(|due| due > now) {
            return Ok(false);
        }
        let mut work = self.bus.unit_of_work();
        let done = self.target.due(now, &mut work).await?;
        self.held.fence(&mut work);
        work.commit().await?;
        self.target.committed(TargetSide::Live);
        self.desk.count(|counts| counts.written += done);
        self.desk.add("fell_silent", done);
        Ok(done > 0)
    }

    pub(super) fn show_place(&mut self) {
        let behind = self.held.behind();
        self.desk.stands_at(ProjectorDesk::places(&self.held.floors().0), behind);
    }

    /// What operators may have changed, also at another hub.
    async fn look(&mut self) -> Result<(), ProjectError> {
        self.looked = Instant::now();
        self.held.check().await?;
        self.known = KnownRecord::read(&self.bus, &self.desk.settings.name).await?;
        if self.known.record.rebuild_asked.is_some() && self.known.record.build.is_none() {
            return self.begin_build().await;
        }
        if self.known.record.sweep {
            self.target.sweep().await?;
            let mut record = self.known.record.clone();
            record.sweep = false;
            let mut work = self.bus.unit_of_work();
            self.known.write(&self.desk.settings.name, &record, &mut work)?;
            work.commit().await?;
            self.known.written(record);
        }
        self.target.forget_some().await
    }

    /// Halves a batch that its target refuses, until the event is found that it is about.
    async fn take(&mut self, batch: HeldBatch) -> Result<(), ProjectError> {
        let mut left = vec![batch];
        while let Some(piece) = left.pop() {
            match (self.take_piece(&piece).await, piece.events.len()) {
                (Ok(()), _) => {}
                (Err(ProjectError::Unfit(reason)), 0) => return Err(ProjectError::Stopped(reason)),
                (Err(ProjectError::Unfit(reason)), 1) => self.give_up(&piece, &reason).await?,
                (Err(ProjectError::Unfit(_)), many) => {
                    let (first, rest) = piece.split_at(many / 2);
                    left.extend([rest, first]);
                }
                (Err(error), _) => return Err(error),
            }
        }
        Ok(())
    }

    async fn take_piece(&mut self, piece: &HeldBatch) -> Result<(), ProjectError> {
        let events: Vec<EventView> = piece.events.iter().cloned().map(EventView::from).collect();
        let projected = project(&self.bus, &self.desk.settings, &events).await?;
        let mut work = self.bus.unit_of_work();
        for (at, reason) in &projected.unfit {
            if let Some(event) = piece.events.get(*at) {
                self.held.write_letter(&mut work, event, reason)?;
            }
        }
        let AppliedBatch { written, older } =
            self.target.apply(TargetSide::Live, &projected.batch, piece, &mut work).await?;
        self.held.settle(&mut work, piece);
        work.commit().await?;
        self.target.committed(TargetSide::Live);
        self.held.settled(piece);
        self.desk.stages.note(&events, self.bus.clock().now_ms());
        self.desk.count(|counts| {
            counts.read += events.len() as u64;
            counts.written += written;
            counts.skipped += projected.without_key + projected.left_out + older;
            counts.failed += projected.unfit.len() as u64;
        });
        self.desk.add("without_key", projected.without_key);
        self.desk.add("lost", piece.lost);
        Ok(())
    }

    /// The one event of the batch goes to the dead letters.
    async fn give_up(&mut self, piece: &HeldBatch, reason: &str) -> Result<(), ProjectError> {
        let mut work = self.bus.unit_of_work();
        for event in &piece.events {
            tracing::warn!(projector = %self.desk.settings.name, ?event, reason, "event went to the dead letters");
            self.held.write_letter(&mut work, event, reason)?;
        }
        self.held.settle(&mut work, piece);
        // In a target of its own a transaction would carry the place; the cursors are ahead of it until the next batch.
        work.commit().await?;
        self.held.settled(piece);
        self.desk.count(|counts| {
            counts.read += piece.events.len() as u64;
            counts.failed += piece.events.len() as u64;
        });
        Ok(())
    }
}
