//! Building the documents anew, or for the first time from a snapshot: beside those that are read, then in their place.
//!
//! Promises: what is read stays whole and readable meanwhile, as it stood when the build began; a build goes on after a crash. An
//! event that cannot be projected is left out and counted: its letter was written when it came.

use prom_engine::{HeldBatch, TopicOffsets};
use prom_jobs::{JobError, Snapshot, snapshot_topic, snapshots};
use prom_store::ReadLimit;

use super::error::ProjectError;
use super::event_view::EventView;
use super::limits::{BATCH_BYTES, BATCH_EVENTS};
use super::project::project;
use super::record::{DocumentBuild, ProjectorRecord, SnapshotPlace};
use super::target::{AppliedBatch, ProjectedBatch, TargetSide};
use super::work::RunningProjector;

const LIMIT: ReadLimit = ReadLimit { events: BATCH_EVENTS, bytes: BATCH_BYTES };

impl RunningProjector {
    /// The first time: from the snapshot, where the projector is told to.
    pub(super) async fn begin(&mut self) -> Result<(), ProjectError> {
        if self.known.record.is_begun {
            return Ok(());
        }
        if self.desk.settings.warm_from.is_some() && self.newest_snapshot().await?.is_some() {
            return self.begin_build().await;
        }
        let mut record = self.known.record.clone();
        record.is_begun = true;
        self.write_record(record).await
    }

    pub(super) async fn begin_build(&mut self) -> Result<(), ProjectError> {
        self.target.begin_beside().await?;
        let began = self.bus.clock().now_ms();
        let mut build = DocumentBuild { began, collections: self.target.beside(), ..DocumentBuild::default() };
        if self.desk.settings.warm_from.is_some()
            && let Some(snapshot) = self.newest_snapshot().await?
        {
            build.next = snapshot.partitions.iter().map(|part| part.covered).collect();
            let next = snapshot.partitions.first().map_or(0, |part| part.first);
            build.snapshot = Some(SnapshotPlace { id: snapshot.id, partition: 0, next });
        }
        let record = ProjectorRecord { is_begun: true, rebuild_asked: None, build: Some(build), ..self.known.record };
        tracing::info!(projector = %self.desk.settings.name, "builds its documents anew");
        self.write_record(record).await
    }

    pub(super) async fn build_step(&mut self) -> Result<(), ProjectError> {
        let Some(mut build) = self.known.record.build.clone() else {
            return Ok(());
        };
        if build.is_swapping {
            return self.finish_build(build).await;
        }
        let (events, is_over) = match build.snapshot.clone() {
            Some(place) => (self.read_snapshot(&mut build, place).await?, false),
            None => {
                let from = TopicOffsets(build.next.clone());
                let page = self.bus.read_topic(&self.desk.settings.topic, from, LIMIT).await?;
                build.next = page.next.0;
                (page.events.into_iter().map(EventView::from).collect(), page.at_end)
            }
        };
        build.is_swapping = is_over;
        self.take_beside(build, events).await
    }

    async fn take_beside(&mut self, mut build: DocumentBuild, events: Vec<EventView>) -> Result<(), ProjectError> {
        let mut events = events;
        loop {
            let projected = project(&self.bus, &self.desk.settings, &events).await?;
            let mut work = self.bus.unit_of_work();
            let none = HeldBatch::default();
            let AppliedBatch { written, .. } =
                match self.target.apply(TargetSide::Beside, &projected.batch, &none, &mut work).await {
                    Err(ProjectError::Unfit(reason)) => {
                        events = self.without_unfit(events, &reason).await?;
                        continue;
                    }
                    applied => applied?,
                };
            build.collections = self.target.beside();
            let record = ProjectorRecord { build: Some(build), ..self.known.record.clone() };
            self.known.write(&self.desk.settings.name, &record, &mut work)?;
            work.commit().await?;
            self.known.written(record);
            self.target.committed(TargetSide::Beside);
            self.desk.count(|counts| {
                counts.read += events.len() as u64;
                counts.written += written;
            });
            return Ok(());
        }
    }

    /// Tries each event alone. Nothing of that is kept in the hub's store, and in MongoDB it changes nothing that comes again.
    async fn without_unfit(&mut self, events: Vec<EventView>, reason: &str) -> Result<Vec<EventView>, ProjectError> {
        let (mut fit, before) = (Vec::with_capacity(events.len()), events.len());
        for event in events {
            let one: ProjectedBatch =
                project(&self.bus, &self.desk.settings, std::slice::from_ref(&event)).await?.batch;
            let mut scratch = self.bus.unit_of_work();
            match self.target.apply(TargetSide::Beside, &one, &HeldBatch::default(), &mut scratch).await {
                Ok(_) => fit.push(event),
                Err(ProjectError::Unfit(reason)) => {
                    tracing::warn!(projector = %self.desk.settings.name, offset = event.offset(), reason, "left out of the build");
                    self.desk.count(|counts| counts.failed += 1);
                }
                Err(error) => return Err(error),
            }
        }
        if fit.len() == before {
            return Err(ProjectError::Stopped(format!("events that fit one by one do not fit together: {reason}")));
        }
        Ok(fit)
    }

    /// From here on nothing is written beside any more: in MongoDB that may be in its place already.
    async fn finish_build(&mut self, build: DocumentBuild) -> Result<(), ProjectError> {
        let mut work = self.bus.unit_of_work();
        self.target.swap(&mut work).await?;
        let settled = self.held.until(&TopicOffsets(build.next));
        self.held.settle(&mut work, &settled);
        let record = ProjectorRecord { build: None, sweep: true, ..self.known.record.clone() };
        self.known.write(&self.desk.settings.name, &record, &mut work)?;
        work.commit().await?;
        self.known.written(record);
        self.held.settled(&settled);
        tracing::info!(projector = %self.desk.settings.name, "the new documents are in their place");
        let now = self.bus.clock().now_ms();
        self.desk.detail("rebuilt_ms", Some(now.saturating_sub(build.began).to_string()));
        self.target.open(None).await
    }

    /// The next events of the snapshot. Its last page leads to the topic.
    async fn read_snapshot(
        &mut self,
        build: &mut DocumentBuild,
        place: SnapshotPlace,
    ) -> Result<Vec<EventView>, ProjectError> {
        let all = snapshots(&self.bus, &self.desk.settings.topic).await?;
        let Some(snapshot) = all.into_iter().find(|snapshot| snapshot.id == place.id) else {
            return self.begin_with_another_snapshot().await;
        };
        let Some(part) = snapshot.partitions.get(place.partition as usize) else {
            build.snapshot = None;
            return Ok(Vec::new());
        };
        let topic = snapshot_topic(&self.desk.settings.topic)?;
        let page = self.bus.read(&topic, place.partition, place.next, LIMIT).await?;
        let entries: Vec<_> = page.events.into_iter().filter(|entry| entry.offset() < part.marker).collect();
        let is_over = page.next >= part.marker;
        build.snapshot = match is_over {
            false => Some(SnapshotPlace { next: page.next, ..place }),
            true => {
                let partition = place.partition + 1;
                let next = snapshot.partitions.get(partition as usize);
                next.map(|part| SnapshotPlace { partition, next: part.first, ..place })
            }
        };
        let view = |entry| EventView::of_snapshot(entry).map_err(ProjectError::Stopped);
        entries.iter().map(view).collect()
    }

    /// Retention was faster.
    async fn begin_with_another_snapshot(&mut self) -> Result<Vec<EventView>, ProjectError> {
        let now = self.bus.clock().now_ms();
        let record = ProjectorRecord { build: None, rebuild_asked: Some(now), ..self.known.record.clone() };
        self.write_record(record).await?;
        Err(ProjectError::Lost("the snapshot that the build began with is gone".to_owned()))
    }

    async fn newest_snapshot(&self) -> Result<Option<Snapshot>, JobError> {
        Ok(snapshots(&self.bus, &self.desk.settings.topic).await?.pop())
    }

    async fn write_record(&mut self, record: ProjectorRecord) -> Result<(), ProjectError> {
        let mut work = self.bus.unit_of_work();
        self.known.write(&self.desk.settings.name, &record, &mut work)?;
        work.commit().await?;
        self.known.written(record);
        Ok(())
    }
}
