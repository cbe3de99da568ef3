//! Dispatchers with nothing to do: they cost next to nothing, and nobody can tell that they rest.

use std::time::Duration;

use prom_engine::{Bus, DispatcherCounts, Error, GroupChange, Position, Subscription, TopicSettings};
use serde_json::json;

use crate::support::{bus, floor, next, publish_numbers, soon, stays_silent, take_acked, until};

const RESTING: DispatcherCounts = DispatcherCounts { working: 0, resting: 1 };
const WORKING: DispatcherCounts = DispatcherCounts { working: 1, resting: 0 };

/// A group that has settled one event of a topic, and has rested since.
async fn rested() -> (Bus, Subscription) {
    let bus = bus().await;
    publish_numbers(&bus, "a", 0..1).await;
    let mut events = bus.subscribe("a", "g").from(Position::Earliest).start().await.unwrap();
    assert_eq!(take_acked(&mut events, 1).await, [0]);
    assert_eq!(bus.meters().dispatchers, WORKING, "not at once: the next event may be near");
    until(async || bus.meters().dispatchers == RESTING).await;
    (bus, events)
}

async fn epoch(bus: &Bus) -> u64 {
    bus.why("a", "g").await.unwrap().partitions[0].epoch
}

#[tokio::test(start_paused = true)]
async fn a_dispatcher_that_rests_goes_on_with_the_next_event_and_takes_no_cursor_for_it() {
    let (bus, mut events) = rested().await;
    let before = epoch(&bus).await;
    for number in 1..4 {
        publish_numbers(&bus, "a", number..number + 1).await;
        assert_eq!(take_acked(&mut events, 1).await, [number]);
        assert_eq!(floor(&bus, "a", "g").await, number + 1);
        until(async || bus.meters().dispatchers == RESTING).await;
    }
    assert_eq!(epoch(&bus).await, before);
    assert!(stays_silent(&mut events, Duration::from_secs(60)).await);
}

#[tokio::test(start_paused = true)]
async fn quiet_topics_have_neither_a_working_dispatcher_nor_a_meter() {
    let bus = bus().await;
    for number in 0..100 {
        publish_numbers(&bus, &format!("a.{number}"), 0..1).await;
    }
    bus.create_topic(TopicSettings::new("a.wide").unwrap().partitions(8)).await.unwrap();
    let mut events = bus.subscribe("a.**", "g").start().await.unwrap();
    bus.create_topic(TopicSettings::new("a.later").unwrap()).await.unwrap();
    until(async || bus.meters().dispatchers.resting == 109).await;
    assert!(stays_silent(&mut events, Duration::from_secs(60)).await);
    assert_eq!(bus.meters().dispatchers, DispatcherCounts { working: 0, resting: 109 });
    assert_eq!(bus.meters().groups, []);
    assert_eq!(bus.why("a.7", "g").await.unwrap().partitions[0].status.as_ref().unwrap().subscribers, 1);
    publish_numbers(&bus, "a.wide", 5..6).await;
    publish_numbers(&bus, "a.later", 6..7).await;
    let mut taken = take_acked(&mut events, 2).await;
    taken.sort_unstable();
    assert_eq!(taken, [5, 6]);
}

#[tokio::test(start_paused = true)]
async fn a_new_group_with_something_to_do_does_not_rest_first() {
    let bus = bus().await;
    publish_numbers(&bus, "a", 0..3).await;
    let mut events = bus.subscribe("a", "g").from(Position::Earliest).start().await.unwrap();
    assert_eq!(take_acked(&mut events, 3).await, [0, 1, 2]);
}

#[tokio::test(start_paused = true)]
async fn who_holds_a_delivery_keeps_its_dispatcher_working() {
    let (bus, mut events) = rested().await;
    publish_numbers(&bus, "a", 1..2).await;
    let delivery = next(&mut events).await;
    let ticket = delivery.ticket();
    soon(delivery.ack()).await.unwrap();
    drop(delivery);
    assert!(stays_silent(&mut events, Duration::from_secs(60)).await);
    assert_eq!(bus.meters().dispatchers, WORKING);
    soon(prom_engine::ack_tickets(vec![ticket])).await.into_iter().for_each(|again| again.unwrap());
    until(async || bus.meters().dispatchers == RESTING).await;
}

#[tokio::test(start_paused = true)]
async fn an_event_that_is_not_settled_keeps_its_dispatcher_working() {
    let (bus, mut events) = rested().await;
    publish_numbers(&bus, "a", 1..2).await;
    drop(next(&mut events).await);
    // Its lease runs out, and it comes again.
    assert_eq!(next(&mut events).await.attempt(), 2);
    assert_eq!(bus.meters().dispatchers, WORKING);
}

#[tokio::test(start_paused = true)]
async fn dispatchers_rest_while_their_subscriber_has_no_room_and_each_gets_its_turn() {
    let bus = bus().await;
    for number in 0..50 {
        publish_numbers(&bus, &format!("a.{number}"), number..number + 1).await;
    }
    let subscribe = bus.subscribe("a.**", "g").from(Position::Earliest).max_in_flight(5);
    let mut events = subscribe.ack_timeout(Duration::from_secs(3600)).start().await.unwrap();
    until(async || bus.meters().dispatchers == DispatcherCounts { working: 5, resting: 45 }).await;
    let mut taken = Vec::new();
    for _ in 0..50 {
        // Slower than a dispatcher takes to rest.
        tokio::time::sleep(Duration::from_secs(15)).await;
        taken.extend(take_acked(&mut events, 1).await);
    }
    taken.sort_unstable();
    assert_eq!(taken, (0..50).collect::<Vec<_>>());
    until(async || bus.meters().dispatchers == DispatcherCounts { working: 0, resting: 50 }).await;
}

#[tokio::test(start_paused = true)]
async fn another_subscriber_gets_what_the_first_has_no_room_for_though_the_dispatcher_rests() {
    let bus = bus().await;
    let mut stuck =
        bus.subscribe("**", "g").max_in_flight(1).ack_timeout(Duration::from_secs(3600)).start().await.unwrap();
    publish_numbers(&bus, "first", 0..1).await;
    let held = next(&mut stuck).await;
    publish_numbers(&bus, "second", 1..3).await;
    until(async || bus.meters().dispatchers == DispatcherCounts { working: 1, resting: 1 }).await;
    let mut other = bus.subscribe("**", "g").start().await.unwrap();
    assert_eq!(take_acked(&mut other, 2).await, [1, 2]);
    soon(held.ack()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_subscriber_leaves_and_another_joins_while_the_dispatcher_rests() {
    let (bus, events) = rested().await;
    let mut others = bus.subscribe("a", "g").start().await.unwrap();
    soon(events.unsubscribe()).await;
    assert_eq!(bus.meters().dispatchers, RESTING);
    publish_numbers(&bus, "a", 1..2).await;
    assert_eq!(take_acked(&mut others, 1).await, [1]);
    until(async || bus.meters().dispatchers == RESTING).await;
    soon(others.unsubscribe()).await;
    until(async || bus.meters().dispatchers == DispatcherCounts::default()).await;
}

#[tokio::test(start_paused = true)]
async fn what_operators_order_reaches_a_dispatcher_that_rests() {
    let (bus, mut events) = rested().await;
    let why = bus.why("a", "g").await.unwrap();
    let status = why.partitions[0].status.as_ref().expect("it is there");
    assert_eq!((status.subscribers, why.partitions[0].explanation.as_str()), (1, "everything is settled"));
    until(async || bus.meters().dispatchers == RESTING).await;

    bus.set_cursor("a", 0, "g", Position::Earliest).await.unwrap();
    assert_eq!(take_acked(&mut events, 1).await, [0], "again");
    until(async || bus.meters().dispatchers == RESTING).await;

    bus.change_group("a", "g", GroupChange { max_attempts: Some(1), ..GroupChange::default() }).await.unwrap();
    until(async || bus.meters().dispatchers == RESTING).await;
    bus.publish("a", json!(1)).await.unwrap();
    soon(next(&mut events).await.nack("no")).await.unwrap();
    until(async || bus.lag("a", "g").await.unwrap().dead_letters == 1).await;
}

#[tokio::test(start_paused = true)]
async fn lag_is_known_without_waking_a_dispatcher() {
    let (bus, _events) = rested().await;
    let lag = bus.lag("a", "g").await.unwrap();
    assert_eq!((lag.lag_events, lag.in_flight), (0, 0));
    assert_eq!(bus.meters().dispatchers, RESTING);
}

#[tokio::test(start_paused = true)]
async fn deleting_a_group_ends_subscriptions_whose_dispatchers_rest() {
    let (bus, mut events) = rested().await;
    soon(bus.delete_group("g")).await.unwrap();
    assert!(soon(events.next()).await.is_none());
    assert!(matches!(events.failure(), Some(Error::UnknownGroup { .. })));
    assert_eq!(bus.meters().dispatchers, DispatcherCounts::default());
    let mut events = bus.subscribe("a", "g").from(Position::Earliest).start().await.unwrap();
    assert_eq!(take_acked(&mut events, 1).await, [0], "a new group begins anew");
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_does_not_wait_for_dispatchers_that_rest() {
    let (bus, mut events) = rested().await;
    let began = tokio::time::Instant::now();
    bus.shutdown().await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(1));
    assert!(soon(events.next()).await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_subscriber_that_leaves_as_soon_as_it_came_is_let_go_by_a_dispatcher_that_rests() {
    let bus = bus().await;
    bus.create_topic(TopicSettings::new("a").unwrap()).await.unwrap();
    for _ in 0..100 {
        let first = bus.subscribe("a", "g").start().await.unwrap();
        until(async || bus.meters().dispatchers == RESTING).await;
        tokio::time::sleep(Duration::from_millis(1)).await;
        // The dispatcher is woken once for all of it.
        drop(first);
        let second = bus.subscribe("a", "g").start().await.unwrap();
        soon(second.unsubscribe()).await;
    }
}
