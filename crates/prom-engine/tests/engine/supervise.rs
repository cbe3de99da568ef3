//! Tasks that panic: their groups go on, and people can see what happened. The store falls over on command, below each task.

use std::time::Duration;

use prom_engine::{AssignmentChange, Bus, Error, HubOptions, Item, Mode, Position, TopicSettings};

use crate::faults::{Panics, Stubborn};
use crate::support::{floor, next, publish_numbers, soon, take_acked, until};

async fn why(bus: &Bus, topic: &str) -> String {
    bus.why(topic, "g").await.unwrap().partitions.remove(0).explanation
}

fn failures_of(bus: &Bus, kind: &str) -> u64 {
    bus.task_failures().totals().iter().find(|(known, _)| *known == kind).map_or(0, |(_, total)| *total)
}

#[tokio::test(start_paused = true)]
async fn a_dispatcher_that_panics_is_started_again_and_its_subscriber_gets_everything() {
    let (store, world) = Stubborn::new();
    let bus = world.bus().await;
    publish_numbers(&bus, "orders", 0..10).await;
    store.panic_at(Panics::Read, 1);
    let mut orders = bus.subscribe("orders", "g").from(Position::Earliest).start().await.unwrap();
    assert_eq!(take_acked(&mut orders, 10).await, (0..10).collect::<Vec<_>>());
    assert_eq!(floor(&bus, "orders", "g").await, 10);
    assert_eq!(failures_of(&bus, "dispatcher"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_dispatcher_that_panics_before_it_has_its_cursor_is_started_again() {
    let (store, world) = Stubborn::new();
    let bus = world.bus().await;
    publish_numbers(&bus, "orders", 0..3).await;
    store.panic_at(Panics::TakeCursor, 2);
    let mut orders = bus.subscribe("orders", "g").from(Position::Earliest).start().await.unwrap();
    assert_eq!(take_acked(&mut orders, 3).await, [0, 1, 2]);
    assert_eq!(failures_of(&bus, "dispatcher"), 2);
}

#[tokio::test(start_paused = true)]
async fn leases_of_a_dispatcher_that_panicked_are_void_and_their_events_come_again_uncounted() {
    let (store, world) = Stubborn::new();
    let bus = world.bus().await;
    publish_numbers(&bus, "orders", 0..4).await;
    let subscribe = bus.subscribe("orders", "g").from(Position::Earliest).max_in_flight(4);
    let mut orders = subscribe.start().await.unwrap();
    let (held, also_held) = (next(&mut orders).await, next(&mut orders).await);
    store.panic_at(Panics::Settle, 1);
    let told = soon(held.ack()).await.unwrap_err();
    assert!(matches!(told, Error::Restarted { .. }), "{told}");
    // What was not taken yet is gone from the queue, and the window is free again: all four come.
    let again = [next(&mut orders).await, next(&mut orders).await, next(&mut orders).await, next(&mut orders).await];
    assert_eq!(
        again.each_ref().map(|delivery| (delivery.offset(), delivery.attempt())),
        [(0, 1), (1, 1), (2, 1), (3, 1)]
    );
    let told = soon(also_held.ack()).await.unwrap_err();
    assert!(matches!(told, Error::Restarted { .. }), "an old lease settles nothing: {told}");
    for delivery in again {
        soon(delivery.ack()).await.unwrap();
    }
    assert_eq!(floor(&bus, "orders", "g").await, 4);
}

#[tokio::test(start_paused = true)]
async fn a_dispatcher_that_keeps_panicking_waits_longer_each_time_and_disturbs_no_other_topic() {
    let (store, world) = Stubborn::new();
    let bus = world.bus().await;
    publish_numbers(&bus, "orders", 0..1).await;
    store.panic_at(Panics::TakeCursor, usize::MAX);
    let mut both = bus.subscribe("orders", "g").topics(["mail"]).from(Position::Earliest).start().await.unwrap();
    for number in 0..60 {
        publish_numbers(&bus, "mail", number..number + 1).await;
        assert_eq!(take_acked(&mut both, 1).await, [number]);
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let failed = failures_of(&bus, "dispatcher");
    assert!((10..=25).contains(&failed), "{failed} starts in a minute");
    let told = why(&bus, "orders").await;
    assert!(told.contains("fell over") && told.contains("started again in"), "{told}");
    let troubles = bus.task_failures().troubles();
    assert_eq!(troubles.len(), 1);
    assert!(troubles[0].to_string().starts_with("dispatcher orders::0::g"), "{}", troubles[0]);
    bus.shutdown().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_minute_after_a_failure_why_still_tells_of_it() {
    let (store, world) = Stubborn::new();
    let bus = world.bus().await;
    publish_numbers(&bus, "orders", 0..2).await;
    let mut orders = bus.subscribe("orders", "g").from(Position::Earliest).max_in_flight(1).start().await.unwrap();
    let held = next(&mut orders).await;
    store.panic_at(Panics::Settle, 1);
    soon(held.ack()).await.unwrap_err();
    let _held_again = next(&mut orders).await;
    assert!(why(&bus, "orders").await.contains("it was started again"), "{}", why(&bus, "orders").await);
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert!(!why(&bus, "orders").await.contains("fell over"), "{}", why(&bus, "orders").await);
}

#[tokio::test(start_paused = true)]
async fn one_who_leaves_while_its_dispatcher_waits_to_start_again_does_not_wait_for_it() {
    let (store, world) = Stubborn::new();
    let bus = world.bus().await;
    publish_numbers(&bus, "orders", 0..1).await;
    store.panic_at(Panics::TakeCursor, 1);
    store.panic_at(Panics::Read, usize::MAX);
    let orders = bus.subscribe("orders", "g").from(Position::Earliest).start().await.unwrap();
    until(async || failures_of(&bus, "dispatcher") >= 8).await;
    let before = tokio::time::Instant::now();
    soon(orders.unsubscribe()).await;
    assert!(before.elapsed() < Duration::from_secs(1), "{:?}", before.elapsed());
}

#[tokio::test(start_paused = true)]
async fn owners_of_partitions_are_told_that_theirs_went_and_came_back() {
    let (store, world) = Stubborn::new();
    let bus = world.bus().await;
    publish_numbers(&bus, "orders", 0..3).await;
    let subscribe = bus.subscribe("orders", "g").from(Position::Earliest).mode(Mode::Partitioned).tell_assignments();
    let mut orders = subscribe.start().await.unwrap();
    let mut arrived = Vec::new();
    while arrived.is_empty() {
        arrived = soon(orders.next_arrivals()).await.deliveries;
    }
    store.panic_at(Panics::Settle, 1);
    soon(arrived[0].ack()).await.unwrap_err();
    let mut told = Vec::new();
    while told.len() < 2 {
        let Some(Item::Assignment(change)) = soon(orders.next_item()).await else { continue };
        told.push(change);
    }
    assert!(matches!(told[0], AssignmentChange::Revoked { .. }), "{told:?}");
    assert!(matches!(told[1], AssignmentChange::Assigned { .. }), "{told:?}");
    assert_eq!(take_acked(&mut orders, 3).await, [0, 1, 2]);
}

#[tokio::test(start_paused = true)]
async fn maintenance_that_panicked_goes_on() {
    let (store, world) = Stubborn::new();
    let bus = world.bus_with(|options| options.maintenance_interval = Some(Duration::from_secs(1))).await;
    let settings = TopicSettings::new("orders").unwrap().retain_for(Duration::from_secs(10));
    bus.create_topic(settings).await.unwrap();
    publish_numbers(&bus, "orders", 0..3).await;
    store.panic_at(Panics::Maintain, 1);
    until(async || failures_of(&bus, "maintenance") == 1).await;
    until(async || bus.read("orders", 0, 0, 1).await.unwrap().bounds.start == 3).await;
}

#[tokio::test(start_paused = true)]
async fn a_hub_whose_renewal_panicked_keeps_its_groups() {
    let (store, world) = Stubborn::new();
    let ttl = Duration::from_secs(10);
    let hub = HubOptions { url: "http://red".to_owned(), ttl };
    let bus = world.bus_with(|options| options.hub = Some(hub)).await;
    let mut orders = bus.subscribe("orders", "g").start().await.unwrap();
    store.panic_at(Panics::SayThatItLives, 1);
    until(async || failures_of(&bus, "ownership") == 1).await;
    tokio::time::sleep(ttl * 3).await;
    publish_numbers(&bus, "orders", 0..1).await;
    assert_eq!(take_acked(&mut orders, 1).await, [0]);
}
