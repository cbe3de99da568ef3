//! A topic that grows. Publishing adds to it while it is measured, so that comes last.

use prom_types::Position;

use super::point::{Figures, MEMBERS, Scene, What};
use crate::load::consume::{self, Backlog};
use crate::load::fill;
use crate::load::publish::PAYLOAD_BYTES;
use crate::load::topics::Topics;
use crate::page_cache;

/// Shorter backlogs are consumed before there is anything to measure.
const SHORTEST_BACKLOG: u64 = 100_000;

pub async fn measure(scene: &mut Scene, events: u64) -> anyhow::Result<Figures> {
    let topics = Topics::ONE;
    let backlog = Backlog { topics, payload_bytes: PAYLOAD_BYTES, events };
    fill::fill(&mut scene.server, backlog).await?;
    page_cache::write_out();
    let mut figures = vec![(What::Disk, scene.server.bytes_on_disk()? as f64 / 1e6)];
    if events >= SHORTEST_BACKLOG {
        scene.join_a_new_group(Position::Earliest);
        figures.push((What::Consume, consume::rate(&scene.server, MEMBERS, backlog, scene.spans).await?));
    }
    figures.extend(scene.latency().await?);
    figures.extend(scene.reopen().await?);
    figures.push((What::Publish, scene.publish(topics).await?));
    figures.push((What::Both, scene.both(topics).await?));
    figures.push(scene.resident()?);
    Ok(figures)
}
