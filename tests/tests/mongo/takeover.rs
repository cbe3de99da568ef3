//! Two hubs, members on both, one hub killed: the members of the other one get everything.

use std::time::{Duration, Instant};

use prom_testkit::history::clients::GroupOrder;

use super::cluster::{Cluster, Duty, HUB_TTL, PromisedGroup, TOPIC, Worker, until};

const PARTITIONS: u32 = 8;
const MEMBERS_EACH: usize = 3;
const GROUPS: &[PromisedGroup] = &[PromisedGroup { name: "stock", order: GroupOrder::Partition }];
/// Above the time to live, on a busy machine.
const TAKING_OVER: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Killed {
    /// The hub that dispatches the group.
    Owner,
    /// The hub that serves the other members.
    Other,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_partitions_go_to_the_members_of_the_other_hub_when_the_owner_is_killed() {
    let taken_over = take_over(Killed::Owner).await;
    assert!(taken_over < HUB_TTL + TAKING_OVER, "{taken_over:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_behind_a_killed_hub_that_owns_nothing_leave_at_once() {
    let taken_over = take_over(Killed::Other).await;
    assert!(taken_over < HUB_TTL, "{taken_over:?}");
}

async fn take_over(killed: Killed) -> Duration {
    let mut cluster = Cluster::start(2, PARTITIONS, GROUPS, None).await;
    let mut members: [Vec<Worker>; 2] = [Vec::new(), Vec::new()];
    for number in 0..MEMBERS_EACH {
        for (hub, members) in members.iter_mut().enumerate() {
            let name = format!("member-{}-{number}", hub + 1);
            members.push(cluster.worker(&name, hub, Duty::Subscribe).await);
        }
    }
    let owner = cluster.owner_of(GROUPS[0].name).await;
    let gone = if killed == Killed::Owner { owner } else { 1 - owner };
    let left = 1 - gone;
    let mut publishers = Vec::new();
    for name in ["publisher-1", "publisher-2"] {
        publishers.push(cluster.worker(name, left, Duty::Publish).await);
    }
    until("a share for every member", async || {
        let all: Vec<&Worker> = members.iter().flatten().collect();
        has_shares(&cluster, owner, &all).await
    })
    .await;
    cluster.until_it_flows("at the beginning").await;

    let begin = Instant::now();
    cluster.kill_hub(gone);
    cluster.until_it_flows("after a hub was killed").await;
    let taken_over = begin.elapsed();
    until("all partitions with the remaining members", async || {
        let others: Vec<&Worker> = members[left].iter().collect();
        has_shares(&cluster, left, &others).await
    })
    .await;
    eprintln!(
        "takeover: {killed:?} killed, time to live {HUB_TTL:?}; every partition handled new events after {taken_over:?}, all are settled with the others after {:?}",
        begin.elapsed()
    );
    // Its members stay away; their events have gone to others.
    let workers = members.into_iter().flatten().chain(publishers).collect();
    let summary = cluster.finish(workers, left).await;
    assert!(summary.logged > 20 && summary.deliveries >= summary.logged, "it proved nothing: {summary:?}");
    taken_over
}

/// Exactly these members have all partitions, each at least one, and nothing moves.
async fn has_shares(cluster: &Cluster, hub: usize, members: &[&Worker]) -> bool {
    let path = format!("/partitions?topic={TOPIC}&group={}", GROUPS[0].name);
    let Some(told) = cluster.get(hub, &path).await else { return false };
    let Some(partitions) = told["partitions"].as_array() else { return false };
    let is_theirs = |owner: &serde_json::Value| members.iter().any(|member| owner == member.name());
    let has_one = |member: &&Worker| partitions.iter().any(|one| one["owner"] == member.name());
    partitions.len() == PARTITIONS as usize
        && partitions.iter().all(|one| is_theirs(&one["owner"]) && one["moving_to"].is_null())
        && members.iter().all(has_one)
}
