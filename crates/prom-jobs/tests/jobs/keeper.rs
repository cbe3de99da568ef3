//! What background work promises: one process at a time, told when it fails, ended with the bus.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use prom_engine::{Bus, TaskName};
use prom_jobs::{JobError, Keeper, KeptWork};

use super::{bus, wait_for};

const WORK: TaskName = TaskName::only("test work");
const EVERY: Duration = Duration::from_millis(5);
const SELDOM: Duration = Duration::from_secs(3600);

/// Counts its passes.
#[derive(Clone, Default)]
struct Counting(Arc<AtomicU32>);

impl Counting {
    fn passes(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

impl KeptWork for Counting {
    async fn pass(&mut self, _: &Bus) -> Result<(), JobError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

/// Fails, panics, and then works.
struct Troubled(u32);

impl KeptWork for Troubled {
    async fn pass(&mut self, bus: &Bus) -> Result<(), JobError> {
        self.0 += 1;
        match self.0 {
            1 => {
                bus.bounds("no.such.topic").await?;
                Ok(())
            }
            2 => panic!("a pass that panics"),
            _ => Ok(()),
        }
    }
}

/// Never ends by itself.
struct Endless(Counting);

impl KeptWork for Endless {
    async fn pass(&mut self, bus: &Bus) -> Result<(), JobError> {
        self.0.pass(bus).await?;
        std::future::pending().await
    }
}

#[tokio::test]
async fn a_pass_begins_when_it_is_woken_and_not_before_its_time() {
    let (keeper, counting) = (Keeper::new(bus().await), Counting::default());
    let wake = keeper.keep(WORK, SELDOM, counting.clone());
    wake.wake();
    wait_for("a pass", || counting.passes() == 1).await;
    keeper.wake(&WORK).unwrap().wake();
    wait_for("another", || counting.passes() == 2).await;
    assert!(keeper.wake(&TaskName::only("other work")).is_none());
}

#[tokio::test]
async fn of_two_processes_one_does_the_work_and_the_other_follows_at_once_when_it_ends() {
    let bus = bus().await;
    let (first, second) = (Keeper::new(bus.clone()), Keeper::new(bus.clone()));
    let (mine, theirs) = (Counting::default(), Counting::default());
    first.keep(WORK, EVERY, mine.clone());
    wait_for("the first to work", || mine.passes() > 0).await;
    second.keep(WORK, EVERY, theirs.clone());
    wait_for("the second to see it", || second.states()[&WORK].is_elsewhere).await;
    let before = mine.passes();
    wait_for("more passes of the first", || mine.passes() > before + 3).await;
    assert_eq!(theirs.passes(), 0);
    first.end().await;
    let ended = mine.passes();
    wait_for("the second to work", || theirs.passes() > 1).await;
    assert_eq!(mine.passes(), ended);
}

#[tokio::test]
async fn a_pass_that_fails_or_panics_is_told_and_tried_again() {
    let bus = bus().await;
    let keeper = Keeper::new(bus.clone());
    keeper.keep(WORK, EVERY, Troubled(0));
    let failure = |part: &str| keeper.states()[&WORK].failed.as_ref().is_some_and(|failed| failed.contains(part));
    wait_for("the error", || failure("no.such.topic")).await;
    wait_for("the panic", || failure("a pass that panics")).await;
    assert_eq!(keeper.states()[&WORK].failures, 2);
    wait_for("the pass that works", || keeper.states()[&WORK].failed.is_none()).await;
    assert_eq!(keeper.states()[&WORK].failures, 0);
}

/// Fails once, and then lasts as long as its lease.
struct Lasting(u32);

impl KeptWork for Lasting {
    async fn pass(&mut self, bus: &Bus) -> Result<(), JobError> {
        self.0 += 1;
        if self.0 == 1 {
            bus.bounds("no.such.topic").await?;
        }
        std::future::pending().await
    }
}

#[tokio::test]
async fn a_failure_is_over_once_the_next_pass_lasts() {
    let bus = bus().await;
    let keeper = Keeper::new(bus.clone());
    keeper.keep(WORK, EVERY, Lasting(0));
    let state = || keeper.states()[&WORK].clone();
    wait_for("the error", || state().retry_at.is_some() && !state().is_under_way).await;
    wait_for("the next pass", || state().is_under_way && state().retry_at.is_none()).await;
    wait_for("the end of the failure", || state().failed.is_none()).await;
    assert_eq!((state().failures, state().is_under_way), (0, true));
    keeper.end().await;
}

#[tokio::test]
async fn a_shutdown_waits_for_no_pass() {
    let (bus, counting) = (bus().await, Counting::default());
    let keeper = Keeper::new(bus.clone());
    keeper.keep(WORK, SELDOM, Endless(counting.clone())).wake();
    wait_for("the pass", || counting.passes() == 1).await;
    tokio::time::timeout(Duration::from_secs(2), keeper.end()).await.unwrap();
    let lease = bus.acquire_lease("test work", "another", EVERY).await.unwrap();
    assert!(lease.is_some(), "its lease was not given back");
    bus.shutdown().await.unwrap();
}
