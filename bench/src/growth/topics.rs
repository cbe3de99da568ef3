//! Topics that take turns; one group reads them all by a pattern. The latency is that of one topic among them.

use super::point::{Figures, Scene, What};
use crate::load::topics::Topics;

pub async fn measure(scene: &mut Scene, count: usize) -> anyhow::Result<Figures> {
    let topics = Topics { count };
    let mut figures = vec![(What::Publish, scene.publish(topics).await?)];
    figures.push((What::Both, scene.both(topics).await?));
    figures.extend(scene.latency().await?);
    figures.push(scene.resident()?);
    figures.extend(scene.reopen().await?);
    Ok(figures)
}
