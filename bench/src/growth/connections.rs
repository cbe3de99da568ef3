//! Connections that do nothing, while others work.

use super::point::{Figures, Scene, What};
use crate::hub::socket::connect;
use crate::load::topics::Topics;

pub async fn measure(scene: &mut Scene, count: usize) -> anyhow::Result<Figures> {
    let before = scene.server.hub()?.resident()?;
    let mut idle = Vec::with_capacity(count);
    for _ in 0..count {
        let (mut reader, writer) = connect(scene.server.hub()?.address).await?;
        reader.rest();
        idle.push((reader, writer));
    }
    let after = scene.server.hub()?.resident()?;
    let mut figures = Vec::new();
    // Few of them vanish in what the hub's memory varies by anyway.
    if count >= 1_000 {
        let each_kb = (after.anonymous_mb - before.anonymous_mb) * 1e3 / count as f64;
        figures.push((What::EachConnection, each_kb));
    }
    figures.extend(scene.latency().await?);
    figures.push((What::Publish, scene.publish(Topics::ONE).await?));
    figures.push((What::Both, scene.both(Topics::ONE).await?));
    figures.push(scene.resident()?);
    drop(idle);
    Ok(figures)
}
