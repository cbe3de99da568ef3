//! Two hubs on three servers under load from four clients, while servers and hubs are killed and stopped.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use prom_testkit::Random;
use prom_testkit::history::clients::GroupOrder;

use super::cluster::{Cluster, Duty, HUB_TTL, PromisedGroup};
use crate::rounds::rounds;

const HUBS: usize = 2;
const PARTITIONS: u32 = 4;
const GROUPS: &[PromisedGroup] = &[
    PromisedGroup { name: "by-key", order: GroupOrder::Key },
    PromisedGroup { name: "by-partition", order: GroupOrder::Partition },
];
/// Work between two faults.
const CALM: Duration = Duration::from_secs(2);

/// `PROM_HUBS_SECONDS` makes it longer, with random faults chosen by `PROM_HUBS_SEED`. `PROM_HUBS_HISTORY` names the file
/// to keep.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_duplicated_or_reordered_when_primaries_and_hubs_are_killed_and_hubs_are_stopped() {
    let (seconds, seed) = (rounds("PROM_HUBS_SECONDS", 1), rounds("PROM_HUBS_SEED", 1));
    let history = std::env::var_os("PROM_HUBS_HISTORY").map(PathBuf::from);
    eprintln!("hubs: at least {seconds} s, seed {seed}");
    let mut cluster = Cluster::start(HUBS, PARTITIONS, GROUPS, history).await;
    let mut workers = Vec::new();
    for (name, hub) in [("alpha", 0), ("beta", 1), ("carl", 0), ("delta", 1)] {
        workers.push(cluster.worker(name, hub, Duty::PublishAndSubscribe).await);
    }
    cluster.until_it_flows("at the beginning").await;
    let (begin, mut random) = (Instant::now(), Random::seeded(seed));
    every_fault(&mut cluster).await;
    while begin.elapsed() < Duration::from_secs(seconds) {
        some_fault(&mut cluster, &mut random).await;
    }
    calm(&cluster).await;
    let summary = cluster.finish(workers, 0).await;
    assert!(summary.logged > 1000 && summary.deliveries >= 2 * summary.logged, "it proved nothing: {summary:?}");
    assert!(summary.redeliveries > 0 && summary.epochs > 0, "nothing was taken over: {summary:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_fails_leaves_its_history_and_the_logs_of_hubs_and_servers() {
    let folder = tempfile::tempdir().unwrap();
    let history = folder.path().join("run.ndjson");
    let failing = history.clone();
    let run = tokio::spawn(async move {
        let mut cluster = Cluster::start(1, 1, GROUPS, Some(failing)).await;
        let killed = cluster.kill_primary().await;
        cluster.restart_server(killed);
        cluster.set.until_whole().await.unwrap();
        panic!("as planned");
    });
    assert!(run.await.is_err_and(|ended| ended.is_panic()));
    let text = |extension: &str| std::fs::read_to_string(history.with_extension(extension)).unwrap();
    let primaries = text("ndjson").lines().filter(|line| line.contains("\"primary\"")).count();
    assert!(primaries >= 1, "who was primary is not in the history");
    text("hub-1.log");
    let starts: usize = (1..=3).map(|n| text(&format!("server-{n}.log")).matches("MongoDB starting").count()).sum();
    assert_eq!(starts, 4, "a server that came back has written over its log");
}

/// Kills the primary twice; kills the hub that serves a group, and stops the hub that serves it then.
async fn every_fault(cluster: &mut Cluster) {
    calm(cluster).await;
    lose_primary(cluster).await;

    calm(cluster).await;
    let owner = cluster.owner_of(GROUPS[0].name).await;
    cluster.kill_hub(owner);
    // Long enough that it is considered dead before it is back.
    tokio::time::sleep(HUB_TTL + CALM).await;
    cluster.restart_hub(owner);
    cluster.until_it_flows("after a hub was killed").await;

    calm(cluster).await;
    lose_primary(cluster).await;

    calm(cluster).await;
    let owner = cluster.owner_of(GROUPS[0].name).await;
    cluster.pause_hub(owner, HUB_TTL + CALM).await;
    cluster.until_it_flows("after a hub was stopped").await;
}

/// Includes stops too short for a takeover, and two faults at once.
async fn some_fault(cluster: &mut Cluster, random: &mut Random) {
    let hub = random.index(HUBS);
    let time = Duration::from_millis(random.within(0..2 * HUB_TTL.as_millis() as u64));
    match random.within(0..5) {
        0 => lose_primary(cluster).await,
        1 => {
            cluster.kill_hub(hub);
            tokio::time::sleep(time).await;
            cluster.restart_hub(hub);
        }
        2 => cluster.pause_hub(hub, time).await,
        3 => {
            (0..HUBS).for_each(|hub| cluster.kill_hub(hub));
            tokio::time::sleep(time).await;
            (0..HUBS).for_each(|hub| cluster.restart_hub(hub));
        }
        _ => {
            cluster.kill_hub(hub);
            lose_primary_for(cluster, time).await;
            cluster.restart_hub(hub);
        }
    }
    cluster.until_it_flows("after a random fault").await;
    tokio::time::sleep(Duration::from_millis(random.within(0..3000))).await;
}

async fn lose_primary(cluster: &mut Cluster) {
    let server = cluster.kill_primary().await;
    cluster.until_it_flows("after a primary was killed").await;
    cluster.restart_server(server);
}

/// The server comes back after some time, whether or not events flow.
async fn lose_primary_for(cluster: &mut Cluster, time: Duration) {
    let server = cluster.kill_primary().await;
    tokio::time::sleep(time).await;
    cluster.restart_server(server);
}

/// Load without faults, for a fixed time.
async fn calm(cluster: &Cluster) {
    tokio::time::sleep(CALM).await;
    cluster.until_it_flows("in calm").await;
}
