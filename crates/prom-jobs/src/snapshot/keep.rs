//! Snapshots in the background: those that are due, and those that somebody left behind.

use std::collections::HashMap;

use prom_engine::{Bus, TaskName};
use prom_types::{EpochMs, TopicName};

use super::document::{forget_gone, topics_with_runs};
use super::{SnapshotBuild, SnapshotStep, snapshots};
use crate::key_index;
use crate::limits::SNAPSHOT_LOOK;
use crate::{JobError, Keeper, KeptWork, Wake};

/// Makes snapshots of topics with a `snapshot` setting, and finishes those that were begun otherwise.
pub fn keep_snapshots(keeper: &Keeper) -> Wake {
    keeper.keep(TaskName::only("snapshots"), SNAPSHOT_LOOK, SnapshotWork::default())
}

#[derive(Default)]
struct SnapshotWork {
    /// When the last one of each topic began, as far as it was looked up.
    began: HashMap<TopicName, EpochMs>,
}

impl KeptWork for SnapshotWork {
    async fn pass(&mut self, bus: &Bus) -> Result<(), JobError> {
        let mut failed = None;
        for (topic, is_under_way) in topics_with_runs(bus).await? {
            if is_under_way {
                note(&mut failed, &topic, finish(bus, &topic).await);
            }
        }
        for (topic, settings) in bus.snapshot_settings() {
            let now = bus.clock().now_ms();
            let every = EpochMs::try_from(settings.every_ms).unwrap_or(EpochMs::MAX);
            let last = match self.began.get(&topic) {
                Some(last) => *last,
                None => snapshots(bus, &topic).await?.last().map_or(EpochMs::MIN, |last| last.began_ts),
            };
            self.began.insert(topic.clone(), last);
            if now.saturating_sub(last) < every {
                continue;
            }
            note(&mut failed, &topic, finish(bus, &topic).await);
            self.began.insert(topic.clone(), now);
            note(&mut failed, &topic, tidy(bus, &topic).await);
        }
        failed.map_or(Ok(()), Err)
    }
}

/// One topic that fails keeps no other from its snapshot.
fn note(failed: &mut Option<JobError>, topic: &TopicName, done: Result<(), JobError>) {
    if let Err(error) = done {
        tracing::warn!(%topic, %error, "a snapshot failed");
        *failed = Some(error);
    }
}

async fn finish(bus: &Bus, topic: &TopicName) -> Result<(), JobError> {
    let mut build = SnapshotBuild::start(bus, topic).await?;
    loop {
        match build.step().await {
            Ok(SnapshotStep::Written(_)) => {}
            Ok(SnapshotStep::Elsewhere(_) | SnapshotStep::Done(_)) => {
                build.give_back().await;
                return Ok(());
            }
            Err(error) => {
                build.give_back().await;
                return Err(error);
            }
        }
    }
}

async fn tidy(bus: &Bus, topic: &TopicName) -> Result<(), JobError> {
    let life = bus.history(topic).await?.history.life;
    forget_gone(bus, topic, life).await?;
    key_index::fill(bus, topic, life).await
}
