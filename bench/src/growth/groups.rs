//! Groups of one topic. First all but one have no members; then all of them read, each everything.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use prom_client::{Client, Delivery, Position};
use prom_load::PublishJob;
use tokio::sync::Notify;

use super::point::{Figures, Scene, What};
use crate::load::crew::Crew;
use crate::load::publish::{self, PAYLOAD_BYTES};
use crate::load::topics::Topics;
use crate::ours;

/// Over which members are spread.
const CONNECTIONS: usize = 8;
/// Of all groups together.
const DELIVERIES: u64 = 2_000_000;
const PATIENCE: Duration = Duration::from_secs(120);

pub async fn measure(scene: &mut Scene, count: usize) -> anyhow::Result<Figures> {
    let topics = Topics::ONE;
    let clients = connect(scene).await?;
    for number in 0..count {
        let client = &clients[number % CONNECTIONS];
        let subscribe = client.subscribe(&topics.name(0), &group(number)).from(Position::Latest);
        subscribe.start().await?.unsubscribe().await?;
    }
    let mut figures = vec![(What::Publish, scene.publish(topics).await?)];
    figures.push((What::Both, scene.both(topics).await?));
    figures.extend(scene.latency().await?);
    figures.push((What::Deliveries, deliveries(scene, &clients, count).await?));
    figures.push(scene.resident()?);
    for client in clients {
        client.close().await;
    }
    figures.extend(scene.reopen().await?);
    Ok(figures)
}

async fn connect(scene: &Scene) -> anyhow::Result<Vec<Client>> {
    let mut clients = Vec::with_capacity(CONNECTIONS);
    for _ in 0..CONNECTIONS {
        clients.push(ours::connect(scene.server.process()?.address).await?);
    }
    Ok(clients)
}

fn group(number: usize) -> String {
    format!("many{number}")
}

/// Per second, when every group has a member. New groups: the others have a backlog by now.
async fn deliveries(scene: &Scene, clients: &[Client], count: usize) -> anyhow::Result<f64> {
    let events = DELIVERIES / count as u64;
    let (handled, all_there) = (Arc::new(AtomicU64::new(0)), Arc::new(Notify::new()));
    let wanted = events * count as u64;
    let mut members = Crew::default();
    for number in 0..count {
        let client = clients[number % CONNECTIONS].clone();
        let group = format!("reading{number}");
        let subscribe = client.subscribe(&Topics::ONE.name(0), &group).from(Position::Latest);
        subscribe.start().await?.unsubscribe().await?;
        let (handled, all_there) = (handled.clone(), all_there.clone());
        members.add(async move {
            let handle = |_: Delivery| {
                if handled.fetch_add(1, Ordering::Relaxed) + 1 == wanted {
                    all_there.notify_one();
                }
                std::future::ready(Ok::<(), Infallible>(()))
            };
            Ok(client.subscribe(&Topics::ONE.name(0), &group).run(handle).await?)
        });
    }
    let job = Arc::new(PublishJob::new(PAYLOAD_BYTES, 1, events));
    let begun = Instant::now();
    publish::start(&scene.server, publish::CONNECTIONS, &Topics::ONE, &job).await?.finish().await?;
    let done = tokio::time::timeout(PATIENCE, members.during(all_there.notified())).await;
    let so_far = handled.load(Ordering::Relaxed);
    done.with_context(|| format!("after {PATIENCE:?} {so_far} of {wanted} deliveries were handled"))??;
    Ok(wanted as f64 / begun.elapsed().as_secs_f64())
}
