//! Settling: out of order, twice, too late, many at once.

use std::time::Duration;

use prom_engine::{Error, Position, ack_all};
use serde_json::json;

use crate::support::{World, bus, floor, next, publish_numbers, soon, stays_silent};

#[tokio::test]
async fn the_floor_never_passes_an_unsettled_event() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..4).await;
    let mut numbers = bus.subscribe("numbers", "g").from(Position::Earliest).start().await.unwrap();
    let mut held = Vec::new();
    for _ in 0..4 {
        held.push(next(&mut numbers).await);
    }
    soon(held[1].ack()).await.unwrap();
    soon(held[3].ack()).await.unwrap();
    let cursor = &bus.cursor("numbers", "g").await.unwrap()[0];
    assert_eq!((cursor.offset, cursor.acked_above, cursor.last_id), (0, 2, None));
    soon(held[0].ack()).await.unwrap();
    let cursor = &bus.cursor("numbers", "g").await.unwrap()[0];
    assert_eq!((cursor.offset, cursor.acked_above), (2, 1));
    assert_eq!(cursor.last_id, Some(held[1].id()));
    soon(held[2].ack()).await.unwrap();
    assert_eq!(floor(&bus, "numbers", "g").await, 4);
}

#[tokio::test]
async fn an_answered_ack_survives_a_restart_and_an_unacked_event_comes_again() {
    let world = World::new();
    let bus = world.bus().await;
    publish_numbers(&bus, "numbers", 0..3).await;
    let group = bus.subscribe("numbers", "g").from(Position::Earliest);
    let mut numbers = group.start().await.unwrap();
    let (first, _second, third) = (next(&mut numbers).await, next(&mut numbers).await, next(&mut numbers).await);
    soon(first.ack()).await.unwrap();
    soon(third.ack()).await.unwrap();
    drop((numbers, bus));

    let bus = world.bus().await;
    let mut numbers = bus.subscribe("numbers", "g").start().await.unwrap();
    let again = next(&mut numbers).await;
    assert_eq!((again.offset(), again.attempt()), (1, 1));
    soon(again.ack()).await.unwrap();
    assert_eq!(floor(&bus, "numbers", "g").await, 3);
}

#[tokio::test]
async fn acking_twice_is_fine() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..1).await;
    let mut numbers = bus.subscribe("numbers", "g").from(Position::Earliest).start().await.unwrap();
    let delivery = next(&mut numbers).await;
    soon(delivery.ack()).await.unwrap();
    soon(delivery.ack()).await.unwrap();
    soon(delivery.nack("too late to matter")).await.unwrap();
    assert!(matches!(soon(delivery.modack(Duration::from_secs(1))).await, Err(Error::NotLeased { .. })));
}

#[tokio::test(start_paused = true)]
async fn only_the_live_lease_can_settle() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..1).await;
    let group = bus.subscribe("numbers", "g").from(Position::Earliest).ack_timeout(Duration::from_secs(1));
    let mut numbers = group.start().await.unwrap();
    let expired = next(&mut numbers).await;
    let live = next(&mut numbers).await;
    assert_eq!(live.attempt(), 2);
    assert!(matches!(soon(expired.ack()).await, Err(Error::NotLeased { .. })));
    soon(live.ack()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn modack_keeps_a_lease_alive_beyond_its_deadline() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..1).await;
    let group = bus.subscribe("numbers", "g").from(Position::Earliest).ack_timeout(Duration::from_secs(1));
    let mut numbers = group.start().await.unwrap();
    let delivery = next(&mut numbers).await;
    assert!(delivery.ack_deadline() <= Duration::from_secs(1));
    soon(delivery.modack(Duration::from_secs(60))).await.unwrap();
    assert!(stays_silent(&mut numbers, Duration::from_secs(30)).await);
    soon(delivery.ack()).await.unwrap();
}

#[tokio::test]
async fn a_batch_is_acked_with_one_call_over_several_topics() {
    let bus = bus().await;
    let mut all = bus.subscribe("n.*", "g").start().await.unwrap();
    publish_numbers(&bus, "n.a", 0..50).await;
    publish_numbers(&bus, "n.b", 0..50).await;
    let mut taken = 0;
    while taken < 100 {
        let batch = soon(all.next_batch()).await;
        assert!(batch.len() <= 100);
        taken += batch.len();
        soon(ack_all(batch)).await.unwrap();
    }
    assert_eq!((floor(&bus, "n.a", "g").await, floor(&bus, "n.b", "g").await), (50, 50));
}

#[tokio::test]
async fn an_ack_is_sent_when_it_is_called_not_when_it_is_awaited() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..2).await;
    let mut numbers = bus.subscribe("numbers", "g").from(Position::Earliest).start().await.unwrap();
    let first = next(&mut numbers).await.ack();
    let second = next(&mut numbers).await.ack();
    soon(second).await.unwrap();
    assert_eq!(floor(&bus, "numbers", "g").await, 2);
    soon(first).await.unwrap();
}

#[tokio::test]
async fn a_ticket_settles_without_the_event() {
    let bus = bus().await;
    bus.publish("a", json!(1)).await.unwrap();
    let mut events = bus.subscribe("a", "g").from(Position::Earliest).start().await.unwrap();
    let ticket = next(&mut events).await.ticket();
    soon(ticket.ack()).await.unwrap();
    assert_eq!(floor(&bus, "a", "g").await, 1);
}

#[tokio::test]
async fn what_was_acked_before_leaving_is_settled() {
    for round in 0..50 {
        let bus = bus().await;
        publish_numbers(&bus, "numbers", 0..20).await;
        let mut numbers = bus.subscribe("numbers", "g").from(Position::Earliest).start().await.unwrap();
        let mut acks = Vec::new();
        for _ in 0..20 {
            acks.push(next(&mut numbers).await.ack());
        }
        drop(numbers);
        for ack in acks {
            soon(ack).await.unwrap_or_else(|error| panic!("round {round}: {error}"));
        }
        assert_eq!(floor(&bus, "numbers", "g").await, 20);
    }
}
