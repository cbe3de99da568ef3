//! Tails: everything, for everybody, without acks.

use prom_engine::{Position, Tail};
use serde_json::json;

use crate::support::{World, bus, publish_numbers, soon};

async fn take(tail: &mut Tail, count: usize) -> Vec<u64> {
    let mut taken = Vec::new();
    for _ in 0..count {
        let event = soon(tail.next()).await.unwrap().expect("the bus is open");
        taken.push(event.payload().unwrap());
    }
    taken
}

#[tokio::test]
async fn every_tail_sees_every_event() {
    let bus = bus().await;
    publish_numbers(&bus, "n.a", 0..3).await;
    let mut early = bus.tail("n.**").from(Position::Earliest).start().await.unwrap();
    let mut also = bus.tail("n.a").from(Position::Offset(1)).start().await.unwrap();
    let mut late = bus.tail("n.*").start().await.unwrap();
    publish_numbers(&bus, "n.a", 3..5).await;
    assert_eq!(take(&mut early, 5).await, [0, 1, 2, 3, 4]);
    assert_eq!(take(&mut also, 4).await, [1, 2, 3, 4]);
    assert_eq!(take(&mut late, 2).await, [3, 4]);
    assert!(bus.groups().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_tail_follows_topics_that_come_later_and_is_woken_by_appends() {
    let bus = bus().await;
    let mut tail = bus.tail("later.*").start().await.unwrap();
    let publisher = bus.clone();
    tokio::spawn(async move { publish_numbers(&publisher, "later.one", 0..2).await });
    assert_eq!(take(&mut tail, 2).await, [0, 1]);
    publish_numbers(&bus, "later.two", 5..6).await;
    assert_eq!(take(&mut tail, 1).await, [5]);
    publish_numbers(&bus, "later.one", 2..3).await;
    assert_eq!(take(&mut tail, 1).await, [2]);
}

#[tokio::test]
async fn a_long_topic_comes_whole_and_in_order() {
    let bus = bus().await;
    let sent: Vec<_> = (0..5000u64).map(|number| bus.publish("long", json!(number)).send()).collect();
    for pending in sent {
        pending.await.unwrap();
    }
    let mut tail = bus.tail("long").from(Position::Earliest).start().await.unwrap();
    assert_eq!(take(&mut tail, 5000).await, (0..5000).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_tail_that_retention_overtook_is_told_of_the_gap() {
    let world = World::new();
    let bus = world.bus().await;
    publish_numbers(&bus, "numbers", 0..5).await;
    let mut tail = bus.tail("numbers").from(Position::Earliest).start().await.unwrap();
    let log = prom_store::LogName::new(prom_types::TopicName::parse("numbers").unwrap(), 0);
    world.store.trim(&log, 3).await.unwrap();
    assert_eq!(take(&mut tail, 2).await, [3, 4]);
    let gaps = tail.take_gaps();
    assert_eq!((gaps.len(), gaps[0].from, gaps[0].to), (1, 0, 3));
}

#[tokio::test]
async fn a_tail_ends_with_the_bus() {
    let bus = bus().await;
    let mut tail = bus.tail("a").start().await.unwrap();
    let waiting = tokio::spawn(async move { tail.next().await });
    bus.shutdown().await.unwrap();
    assert!(soon(waiting).await.unwrap().unwrap().is_none());
}
