//! Shutting down: drained, durable, and no failed attempts.

use std::time::Duration;

use prom_engine::{Delivery, Error, Position};
use serde_json::json;

use crate::faults::Stubborn;
use crate::support::{World, bus, next, publish_numbers, soon, until};

/// A memory store that stays open when a bus is done with it.
fn reopened(world: &World) -> World {
    World::over(world.store.clone(), world.clock.clone())
}

#[tokio::test(start_paused = true)]
async fn handlers_finish_and_their_acks_are_durable() {
    let world = World::over(crate::faults::Stubborn::store(), crate::support::TokioClock::new());
    let bus = world.bus().await;
    publish_numbers(&bus, "numbers", 0..3).await;
    let runner = bus.clone();
    let running = tokio::spawn(async move {
        let slow = |_: Delivery| async {
            tokio::time::sleep(Duration::from_secs(2)).await;
            Ok::<(), String>(())
        };
        runner.subscribe("numbers", "g").from(Position::Earliest).run(slow).await
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    soon(bus.shutdown()).await.unwrap();
    soon(running).await.unwrap().unwrap();

    let bus = reopened(&world).bus().await;
    let mut numbers = bus.subscribe("numbers", "g").start().await.unwrap();
    let rest = next(&mut numbers).await;
    assert_eq!((rest.offset(), rest.attempt()), (1, 1), "the first was acked, the others count for nothing");
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_waits_no_longer_than_it_was_told_and_counts_nothing() {
    let world = World::over(crate::faults::Stubborn::store(), crate::support::TokioClock::new());
    for _ in 0..10 {
        let bus = world.bus_with(|options| options.drain_timeout = Duration::from_secs(3)).await;
        if bus.topics().await.unwrap().is_empty() {
            publish_numbers(&bus, "numbers", 0..1).await;
        }
        let group = bus.subscribe("numbers", "g").from(Position::Earliest).max_attempts(1);
        let mut numbers = group.start().await.unwrap();
        let held = next(&mut numbers).await;
        assert_eq!(held.attempt(), 1);
        let began = tokio::time::Instant::now();
        soon(bus.shutdown()).await.unwrap();
        assert!(began.elapsed() >= Duration::from_secs(3));
        assert!(soon(numbers.next()).await.is_none());
    }
    let log = prom_store::LogName::new(prom_types::TopicName::parse("numbers").unwrap(), 0);
    let name = prom_store::CursorName::new(log, prom_types::GroupName::parse("g").unwrap());
    assert!(world.store.cursor(&name).await.unwrap().unwrap().failures.is_empty());
}

#[tokio::test]
async fn after_a_shutdown_everything_answers_that_the_bus_is_closed() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..1).await;
    let mut numbers = bus.subscribe("numbers", "g").from(Position::Earliest).start().await.unwrap();
    let held = next(&mut numbers).await;
    soon(held.ack()).await.unwrap();
    soon(bus.shutdown()).await.unwrap();
    soon(bus.shutdown()).await.unwrap();
    assert!(soon(numbers.next()).await.is_none());
    assert!(matches!(bus.publish("numbers", json!(1)).await, Err(Error::Closed)));
    assert!(matches!(bus.publish_batch(Vec::new()).await, Err(Error::Closed)));
    assert!(matches!(bus.subscribe("numbers", "g").start().await.err(), Some(Error::Closed)));
    assert!(matches!(bus.tail("numbers").start().await.err(), Some(Error::Closed)));
    assert!(matches!(bus.read("numbers", 0, 0, 1).await, Err(Error::Closed)));
}

#[tokio::test]
async fn a_shutdown_without_subscribers_is_immediate() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..1).await;
    soon(bus.shutdown()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_goes_on_when_its_caller_stops_waiting_and_later_callers_wait_for_its_end() {
    let (store, world) = Stubborn::new();
    let bus = world.bus().await;
    publish_numbers(&bus, "numbers", 0..1).await;
    let mut numbers = bus.subscribe("numbers", "g").from(Position::Earliest).start().await.unwrap();
    let _held = next(&mut numbers).await;
    let impatient = tokio::time::timeout(Duration::from_secs(1), bus.shutdown()).await;
    assert!(impatient.is_err(), "the handler is not done");
    assert_eq!(store.faults.lock().closes, 0);
    soon(bus.shutdown()).await.unwrap();
    assert_eq!(store.faults.lock().closes, 1, "closed once, and before anybody hears of the end");
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_that_is_not_awaited_still_closes_the_store() {
    let (store, world) = Stubborn::new();
    let bus = world.bus().await;
    publish_numbers(&bus, "numbers", 0..1).await;
    let mut numbers = bus.subscribe("numbers", "g").from(Position::Earliest).start().await.unwrap();
    let held = next(&mut numbers).await;
    let impatient = tokio::time::timeout(Duration::from_secs(1), bus.shutdown()).await;
    assert!(impatient.is_err(), "the handler is not done");
    drop((numbers, held, bus));
    until(async || store.faults.lock().closes == 1).await;
}

#[tokio::test]
async fn everybody_who_shuts_down_hears_that_the_store_did_not_close() {
    let (store, world) = Stubborn::new();
    let bus = world.bus().await;
    store.set(|faults| faults.fail_close = true);
    let (first, second) = soon(async { tokio::join!(bus.shutdown(), bus.shutdown()) }).await;
    let third = soon(bus.shutdown()).await;
    for told in [first, second, third] {
        let told = told.unwrap_err();
        assert!(matches!(&told, Error::CloseFailed { reason } if reason.contains("hiccuped")), "{told}");
    }
    assert_eq!(store.faults.lock().closes, 1);
}
