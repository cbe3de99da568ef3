//! Moving a cursor: rewinds, skips, fences, is audited; what is refused changes nothing.

use std::time::Duration;

use prom_engine::{Error, Position};
use prom_types::EventId;

use crate::support::{bus, floor, next, publish_numbers, soon, stays_silent, take_acked, until};

#[tokio::test]
async fn rewinding_delivers_again_and_fences_what_is_in_flight() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..4).await;
    let mut numbers = bus.subscribe("numbers", "g").from(Position::Earliest).start().await.unwrap();
    assert_eq!(take_acked(&mut numbers, 2).await, [0, 1]);
    let fenced = next(&mut numbers).await;
    assert_eq!(soon(bus.set_cursor("numbers", 0, "g", Position::Offset(1))).await.unwrap(), 1);
    assert!(matches!(soon(fenced.ack()).await, Err(Error::NotLeased { .. })));
    assert_eq!(take_acked(&mut numbers, 3).await, [1, 2, 3]);
    assert_eq!(floor(&bus, "numbers", "g").await, 4);
}

#[tokio::test(start_paused = true)]
async fn skipping_to_the_end_leaves_nothing_to_deliver() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..4).await;
    let mut numbers = bus.subscribe("numbers", "g").from(Position::Earliest).start().await.unwrap();
    let held = next(&mut numbers).await;
    soon(bus.set_cursor("numbers", 0, "g", Position::Latest)).await.unwrap();
    assert!(stays_silent(&mut numbers, Duration::from_millis(100)).await);
    assert_eq!(bus.lag("numbers", "g").await.unwrap().lag_events, 0);
    drop(held);
    publish_numbers(&bus, "numbers", 4..5).await;
    assert_eq!(take_acked(&mut numbers, 1).await, [4]);
}

#[tokio::test]
async fn a_cursor_is_moved_also_without_subscribers() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..4).await;
    let group = bus.subscribe("numbers", "g").from(Position::Earliest);
    let mut numbers = group.clone().start().await.unwrap();
    take_acked(&mut numbers, 4).await;
    let third = bus.read("numbers", 0, 2, 1).await.unwrap().events[0].id();
    numbers.unsubscribe().await;
    until(async || bus.why("numbers", "g").await.unwrap().partitions[0].status.is_none()).await;
    soon(bus.set_cursor("numbers", 0, "g", Position::AfterId(third))).await.unwrap();
    assert_eq!(floor(&bus, "numbers", "g").await, 3);
    let mut numbers = group.start().await.unwrap();
    assert_eq!(take_acked(&mut numbers, 1).await, [3]);
}

#[tokio::test]
async fn a_position_beyond_the_end_is_refused_and_nothing_changes() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..4).await;
    let mut numbers = bus.subscribe("numbers", "g").from(Position::Earliest).start().await.unwrap();
    let held = next(&mut numbers).await;
    let before = bus.cursor("numbers", "g").await.unwrap();
    let refused = bus.set_cursor("numbers", 0, "g", Position::Offset(5)).await;
    assert!(matches!(refused, Err(Error::CursorBeyondEnd { asked: 5, next: 4, .. })));
    let unknown = bus.set_cursor("numbers", 0, "g", Position::AfterId(EventId::derived("?"))).await;
    assert!(matches!(unknown, Err(Error::UnknownEvent { .. })));
    assert!(bus.set_cursor("numbers", 1, "g", Position::Earliest).await.is_err());
    assert_eq!(bus.cursor("numbers", "g").await.unwrap(), before);
    assert!(matches!(bus.read("system.audit", 0, 0, 1).await, Err(Error::UnknownTopic { .. })));
    soon(held.ack()).await.expect("nothing was fenced");
}

#[tokio::test]
async fn a_moved_cursor_is_in_the_audit_trail() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..4).await;
    let mut numbers = bus.subscribe("numbers", "g").from(Position::Earliest).start().await.unwrap();
    take_acked(&mut numbers, 3).await;
    soon(bus.set_cursor("numbers", 0, "g", Position::Earliest)).await.unwrap();
    let page = bus.read("system.audit", 0, 0, 10).await.unwrap();
    let entry: serde_json::Value = page.events[0].payload().unwrap();
    assert_eq!(entry["action"], "set_cursor");
    assert_eq!((&entry["group"], &entry["before"], &entry["after"]), (&"g".into(), &3.into(), &0.into()));
}
