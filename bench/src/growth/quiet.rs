//! Topics that twenty groups read by a pattern, and nothing happens in: a dispatcher for each topic and group, and lists of all
//! of them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use prom_client::Position;
use prom_load::PublishJob;

use super::point::{Figures, Scene, What};
use crate::load::publish::{self, PAYLOAD_BYTES};
use crate::load::topics::Topics;
use crate::ours::{self, http};

const GROUPS: usize = 20;
/// After the last subscriber came, until the memory is looked at.
const REST: Duration = Duration::from_secs(12);

pub async fn measure(scene: &mut Scene, count: usize) -> anyhow::Result<Figures> {
    let topics = Topics { count };
    let job = Arc::new(PublishJob::new(PAYLOAD_BYTES, 1, count as u64));
    publish::start(&scene.server, publish::CONNECTIONS, &topics, &job).await?.finish().await?;
    let address = scene.server.process()?.address;
    let mut members = Vec::with_capacity(GROUPS);
    for number in 0..GROUPS {
        let client = ours::connect(address).await?;
        let subscribe = client.subscribe("bench.events.*", &format!("quiet{number}")).from(Position::Latest);
        members.push((subscribe.start().await?, client));
    }
    tokio::time::sleep(REST).await;
    let mut figures = vec![scene.resident()?];
    for (what, path) in [(What::Metrics, "/metrics"), (What::Lags, "/lag"), (What::GroupList, "/groups")] {
        let begun = Instant::now();
        let answer = http::get(address, path).await.with_context(|| path.to_owned())?;
        ensure!(answer.starts_with("HTTP/1.1 200"), "{path}: {}", answer.lines().next().unwrap_or_default());
        figures.push((what, begun.elapsed().as_secs_f64() * 1e3));
    }
    figures.push((What::ResidentAfterLists, scene.server.process()?.resident_mb()?));
    for (member, client) in members {
        member.unsubscribe().await?;
        client.close().await;
    }
    Ok(figures)
}
