//! Memory depends on windows and caches, not on the backlog. Measured in a separate process.

use std::process::Command;

use promethean::{Json, NewEvent, Position, TopicName};

use super::home::{Home, floor, next, soon};

const EVENTS: u64 = 200_000;
const PAYLOAD_BYTES: usize = 1_000;
/// Far below the 200 MB of the backlog; the caches of these sizes take a few.
const MOST_GROWTH_MB: u64 = 64;

const ALONE: &str = "PROM_TEST_ALONE";

#[test]
fn a_backlog_of_two_hundred_megabytes_behind_a_slow_subscriber_does_not_grow_memory() {
    if std::env::var_os(ALONE).is_none() {
        // Other tests of this binary would be measured too.
        let this = "e2e::backlog::a_backlog_of_two_hundred_megabytes_behind_a_slow_subscriber_does_not_grow_memory";
        let mut child = Command::new(std::env::current_exe().unwrap());
        let done = child.args(["--exact", this, "--nocapture"]).env(ALONE, "1").output().unwrap();
        let said = String::from_utf8_lossy(&done.stdout) + String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success() && said.contains("1 passed"), "{said}");
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.unwrap().block_on(fill_while_a_subscriber_is_slow());
}

async fn fill_while_a_subscriber_is_slow() {
    let home = Home::of(prom_tests::small_files());
    let bus = home.start().await;
    let group = bus.subscribe("metrics", "slow").from(Position::Earliest);
    let mut slow = group.max_in_flight(100).start().await.unwrap();
    let payload = Json::trusted(format!("\"{}\"", "x".repeat(PAYLOAD_BYTES)).into());
    let event = NewEvent::new(TopicName::parse("metrics").unwrap(), payload);
    let batch = vec![event; 1_000];
    let (mut before, mut most) = (0, 0);
    for round in 0..EVENTS / 1_000 {
        soon(bus.publish_batch(batch.clone())).await.unwrap();
        soon(next(&mut slow).await.ack()).await.unwrap();
        // The first rounds warm up constant costs.
        match round {
            0..10 => before = resident_mb(),
            _ => most = most.max(resident_mb()),
        }
    }
    assert_eq!(floor(&bus, "metrics", "slow").await, EVENTS / 1_000);
    assert!(most - before.min(most) < MOST_GROWTH_MB, "grew from {before} MB to {most} MB");

    // The same for a subscriber that reads all of it at once.
    let mut read = EVENTS / 1_000;
    while read < EVENTS {
        let taken = soon(slow.next_batch()).await;
        read += taken.len() as u64;
        soon(slow.ack_all(taken)).await.unwrap();
        most = most.max(resident_mb());
    }
    assert_eq!(floor(&bus, "metrics", "slow").await, EVENTS);
    assert!(most - before.min(most) < MOST_GROWTH_MB, "grew from {before} MB to {most} MB");
    eprintln!("resident: {before} MB before, {most} MB at most");
    home.close_sound(bus).await;
}

fn resident_mb() -> u64 {
    const PAGE_BYTES: u64 = 4096;
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = statm.split(' ').nth(1).unwrap().parse().unwrap();
    (pages * PAGE_BYTES) >> 20
}
