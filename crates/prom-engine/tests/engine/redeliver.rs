//! What fails comes again: after a nack, after a deadline, after a restart.

use std::time::Duration;

use prom_engine::Position;
use tokio::time::Instant;

use crate::support::{World, bus, next, publish_numbers, soon, take_acked};

#[tokio::test(start_paused = true)]
async fn a_nacked_event_comes_again_as_attempt_two_after_a_backoff() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..1).await;
    let mut numbers = bus.subscribe("numbers", "g").from(Position::Earliest).start().await.unwrap();
    let first = next(&mut numbers).await;
    assert_eq!((first.attempt(), first.max_attempts()), (1, 5));
    soon(first.nack("not now")).await.unwrap();
    let nacked = Instant::now();
    let second = next(&mut numbers).await;
    assert_eq!(second.attempt(), 2);
    assert!(nacked.elapsed() >= Duration::from_millis(150), "{:?}", nacked.elapsed());
    soon(second.ack()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_nack_may_name_its_own_delay() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..1).await;
    let mut numbers = bus.subscribe("numbers", "g").from(Position::Earliest).start().await.unwrap();
    soon(next(&mut numbers).await.nack_after("later", Duration::from_secs(90))).await.unwrap();
    let nacked = Instant::now();
    assert_eq!(next(&mut numbers).await.attempt(), 2);
    assert!(nacked.elapsed() >= Duration::from_secs(90));
}

#[tokio::test(start_paused = true)]
async fn a_failed_event_does_not_hold_up_the_others() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..10).await;
    let mut numbers = bus.subscribe("numbers", "g").from(Position::Earliest).max_in_flight(1).start().await.unwrap();
    soon(next(&mut numbers).await.nack("not now")).await.unwrap();
    assert_eq!(take_acked(&mut numbers, 9).await, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(take_acked(&mut numbers, 1).await, [0]);
}

#[tokio::test(start_paused = true)]
async fn attempts_survive_a_restart() {
    let world = World::new();
    let bus = world.bus().await;
    publish_numbers(&bus, "numbers", 0..1).await;
    let mut numbers = bus.subscribe("numbers", "g").from(Position::Earliest).start().await.unwrap();
    soon(next(&mut numbers).await.nack("one")).await.unwrap();
    soon(next(&mut numbers).await.nack("two")).await.unwrap();
    drop((numbers, bus));

    let bus = world.bus().await;
    let mut numbers = bus.subscribe("numbers", "g").start().await.unwrap();
    assert_eq!(next(&mut numbers).await.attempt(), 3);
}
