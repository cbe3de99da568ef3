//! Handlers: settled by their result, renewed while they run, as many at a time as asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use prom_engine::{Delivery, Position};

use crate::support::{World, bus, floor, publish_numbers, soon, until};

#[tokio::test(start_paused = true)]
async fn ok_acks_an_error_nacks_and_a_panic_is_a_failed_attempt() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..3).await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (noting, runner) = (seen.clone(), bus.clone());
    let running = tokio::spawn(async move {
        let handler = |delivery: Delivery| {
            let seen = noting.clone();
            async move {
                let number: u64 = delivery.payload().unwrap();
                seen.lock().push((number, delivery.attempt()));
                match (number, delivery.attempt()) {
                    (1, 1) => Err("not now"),
                    (2, 1) => panic!("on purpose"),
                    _ => Ok(()),
                }
            }
        };
        runner.subscribe("numbers", "g").from(Position::Earliest).run(handler).await
    });
    until(async || bus.groups().await.unwrap().len() == 1 && floor(&bus, "numbers", "g").await == 3).await;
    let mut seen = seen.lock().clone();
    seen.sort_unstable();
    assert_eq!(seen, [(0, 1), (1, 1), (1, 2), (2, 1), (2, 2)]);
    bus.shutdown().await.unwrap();
    soon(running).await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_slow_handler_keeps_its_lease_and_those_that_wait_their_turn_keep_theirs() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..4).await;
    let attempts = Arc::new(Mutex::new(Vec::new()));
    let (noting, runner) = (attempts.clone(), bus.clone());
    let running = tokio::spawn(async move {
        let slow = |delivery: Delivery| {
            let attempts = noting.clone();
            async move {
                tokio::time::sleep(Duration::from_secs(100)).await;
                attempts.lock().push(delivery.attempt());
                Ok::<(), String>(())
            }
        };
        let group = runner.subscribe("numbers", "g").from(Position::Earliest).ack_timeout(Duration::from_secs(30));
        group.run(slow).await
    });
    tokio::time::sleep(Duration::from_secs(401)).await;
    until(async || floor(&bus, "numbers", "g").await == 4).await;
    assert_eq!(*attempts.lock(), [1, 1, 1, 1]);
    bus.shutdown().await.unwrap();
    soon(running).await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn as_many_handlers_run_at_a_time_as_asked_for() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..20).await;
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (counting, peak, runner) = (now.clone(), most.clone(), bus.clone());
    tokio::spawn(async move {
        let handler = |_: Delivery| {
            let (now, most) = (counting.clone(), peak.clone());
            async move {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_secs(1)).await;
                now.fetch_sub(1, Ordering::SeqCst);
                Ok::<(), String>(())
            }
        };
        runner.subscribe("numbers", "g").from(Position::Earliest).concurrency(5).run(handler).await
    });
    tokio::time::sleep(Duration::from_secs(5)).await;
    until(async || floor(&bus, "numbers", "g").await == 20).await;
    assert_eq!(most.load(Ordering::SeqCst), 5);
}

#[tokio::test(start_paused = true)]
async fn with_manual_acks_the_result_settles_nothing() {
    let world = World::new();
    let bus = world.bus().await;
    publish_numbers(&bus, "numbers", 0..2).await;
    let runner = bus.clone();
    tokio::spawn(async move {
        let handler = |delivery: Delivery| async move {
            match delivery.offset() {
                0 => Ok(()),
                _ => delivery.ack().await,
            }
        };
        runner.subscribe("numbers", "g").from(Position::Earliest).manual_ack().run(handler).await
    });
    until(async || bus.cursor("numbers", "g").await.is_ok_and(|cursor| cursor[0].acked_above == 1)).await;
    assert_eq!(floor(&bus, "numbers", "g").await, 0);
}
