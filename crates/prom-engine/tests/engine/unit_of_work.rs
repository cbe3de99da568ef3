//! The unit of work: events of any topics, settlements of any groups and documents, stored whole or not at
//! all.

use futures::FutureExt;
use prom_engine::{Bus, Error, NewTopics, Position, TopicSettings};
use prom_store::{CursorChange, CursorName, DocumentWrite, Expect, LogName};
use prom_types::{GroupName, NewEvent, TopicName};
use serde_json::json;

use crate::faults::Stubborn;
use crate::support::{World, floor, publish_numbers, take_acked};

fn event(topic: &str, number: u64) -> NewEvent {
    NewEvent::new(TopicName::parse(topic).unwrap(), json!(number))
}

fn cursor(topic: &str, group: &str) -> CursorName {
    CursorName::new(LogName::new(TopicName::parse(topic).unwrap(), 0), GroupName::parse(group).unwrap())
}

/// Settles the first `count` events of a group under an epoch of its cursor.
fn settle(epoch: u64, count: u64) -> CursorChange {
    CursorChange::Settle { epoch, settled: std::iter::once(0..count).collect(), failures: Vec::new() }
}

async fn stored(bus: &Bus, topic: &str) -> u64 {
    match bus.bounds(topic).await {
        Ok(bounds) => bounds.iter().map(|bounds| bounds.next).sum(),
        Err(Error::UnknownTopic { .. }) => 0,
        Err(error) => panic!("{error}"),
    }
}

/// A bus with three events in `orders`, and a group that has settled none of them. The group's epoch.
async fn with_a_group(world: &World) -> (Bus, u64) {
    let bus = world.bus().await;
    publish_numbers(&bus, "orders", 0..3).await;
    bus.subscribe("orders", "billing").from(Position::Earliest).start().await.unwrap().unsubscribe().await;
    let epoch = world.store.take_cursor(&cursor("orders", "billing"), 0).await.unwrap().epoch;
    (bus, epoch)
}

#[tokio::test]
async fn events_a_settlement_and_a_document_become_durable_together() {
    let world = World::new();
    let (bus, epoch) = with_a_group(&world).await;
    let mut work = bus.unit_of_work();
    work.publish(&event("invoices", 1)).unwrap();
    work.publish(&event("orders", 3)).unwrap();
    work.change_cursor(cursor("orders", "billing"), settle(epoch, 2));
    work.write(DocumentWrite::put("totals", "billing", "7").expecting(Expect::Absent));
    assert_eq!((work.len(), stored(&bus, "orders").await), (2, 3), "nothing is stored before the commit");
    let receipts = work.commit().await.unwrap();
    let offsets: Vec<_> = receipts.iter().map(|receipt| receipt.offset).collect();
    assert_eq!(offsets, [0, 3]);
    assert_eq!(floor(&bus, "orders", "billing").await, 2);
    assert_eq!(world.store.document("totals", "billing").await.unwrap().unwrap().value, "7");
    let published = |topic: &str| bus.meters().topics.iter().find(|one| one.topic.as_str() == topic).unwrap().published;
    assert_eq!((published("invoices"), published("orders")), (1, 4));
}

#[tokio::test]
async fn a_condition_that_fails_stores_nothing_of_the_unit() {
    let world = World::new();
    let (bus, epoch) = with_a_group(&world).await;
    world.store.commit(prom_store::Commit::document(DocumentWrite::put("totals", "billing", "1"))).await.unwrap();
    let unit = |epoch, expect| {
        let mut work = bus.unit_of_work();
        work.publish(&event("invoices", 1)).unwrap();
        work.publish(&event("orders", 3)).unwrap();
        work.change_cursor(cursor("orders", "billing"), settle(epoch, 2));
        work.write(DocumentWrite::put("totals", "billing", "7").expecting(expect));
        work.commit()
    };
    let conflict = unit(epoch, Expect::Absent).await;
    assert!(matches!(&conflict, Err(Error::Conflict { collection, .. }) if collection == "totals"), "{conflict:?}");
    let fenced = unit(epoch - 1, Expect::Revision(1)).await;
    assert!(matches!(fenced, Err(Error::Fenced { .. })), "{fenced:?}");
    assert_eq!((stored(&bus, "invoices").await, stored(&bus, "orders").await), (0, 3));
    assert_eq!(floor(&bus, "orders", "billing").await, 0);
    assert_eq!(world.store.document("totals", "billing").await.unwrap().unwrap().value, "1");
    unit(epoch, Expect::Revision(1)).await.unwrap();
    assert_eq!(floor(&bus, "orders", "billing").await, 2);
}

#[tokio::test]
async fn an_event_may_be_stored_in_two_topics_and_has_one_receipt() {
    let world = World::new();
    let bus = world.bus().await;
    let mut work = bus.unit_of_work();
    work.publish(&event("orders", 1)).unwrap();
    work.publish_copy(&event("orders.v2", 10)).unwrap();
    work.publish(&event("orders", 2)).unwrap();
    work.publish_copy(&event("orders.v2", 20)).unwrap();
    assert_eq!(work.len(), 2);
    let receipts = work.commit().await.unwrap();
    let events = bus.read("orders", 0, 0, 10).await.unwrap().events;
    let read: Vec<_> = events.iter().map(|event| (event.id(), event.offset())).collect();
    let told: Vec<_> = receipts.iter().map(|receipt| (receipt.id, receipt.offset)).collect();
    assert_eq!(told, read);
    assert_eq!((stored(&bus, "orders").await, stored(&bus, "orders.v2").await), (2, 2));
}

#[tokio::test]
async fn a_topic_that_is_only_proposed_comes_with_the_unit_that_is_stored() {
    let world = World::new();
    let (bus, epoch) = with_a_group(&world).await;
    let mut refused = bus.unit_of_work();
    refused.publish(&event("fresh", 1)).unwrap();
    refused.change_cursor(cursor("orders", "billing"), settle(epoch + 1, 1));
    assert!(refused.commit().await.is_err());
    assert!(world.store.document("topics", "fresh").await.unwrap().is_none());
    let mut work = bus.unit_of_work();
    work.publish(&event("fresh", 2)).unwrap();
    drop(work.commit().now_or_never());
    assert_eq!(stored(&bus, "fresh").await, 1, "dropping the answer withdraws nothing");
    assert!(world.store.document("topics", "fresh").await.unwrap().is_some());
}

#[tokio::test]
async fn a_unit_that_took_its_topic_for_a_new_one_is_admitted_again_as_a_whole() {
    let (store, world) = Stubborn::new();
    store.set(|faults| faults.is_shared = true);
    let (one, other) = (world.bus().await, world.bus().await);
    one.create_topic(TopicSettings::new("orders").unwrap().partitions(4)).await.unwrap();
    let mut work = other.unit_of_work();
    for number in 0..8 {
        work.publish(&event("orders", number)).unwrap();
        work.publish_copy(&event("orders.v2", number)).unwrap();
    }
    work.write(DocumentWrite::put("totals", "orders", "8").expecting(Expect::Absent));
    let receipts = work.commit().await.unwrap();
    assert_eq!(receipts.len(), 8);
    assert!(receipts.iter().any(|receipt| receipt.partition > 0), "they go by the real topic");
    assert_eq!((stored(&one, "orders").await, stored(&one, "orders.v2").await), (8, 8));
    assert_eq!(world.store.document("totals", "orders").await.unwrap().unwrap().revision, 1);
}

#[tokio::test]
async fn independent_events_do_not_hold_each_other_up() {
    let world = World::new();
    let bus = world.bus_with(|options| options.new_topics = NewTopics::Refuse).await;
    bus.create_topic(TopicSettings::new("numbers").unwrap()).await.unwrap();
    let mut work = bus.unit_of_work();
    work.publish(&event("numbers", 0)).unwrap();
    assert!(matches!(work.publish(&event("unknown", 1)), Err(Error::UnknownTopic { .. })));
    work.publish(&event("numbers", 2)).unwrap();
    assert_eq!(work.commit_each().await.unwrap().len(), 2);
    let mut numbers = bus.subscribe("numbers", "g").from(Position::Earliest).start().await.unwrap();
    assert_eq!(take_acked(&mut numbers, 2).await, [0, 2]);
}

#[tokio::test]
async fn a_unit_larger_than_a_batch_is_refused_whole() {
    let world = World::new();
    let bus = world.bus().await;
    let mut work = bus.unit_of_work();
    let large = NewEvent::new(TopicName::parse("orders").unwrap(), json!("x".repeat(1_000_000)));
    (0..18).for_each(|_| work.publish(&large).unwrap());
    let refused = work.commit().await;
    assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
    assert_eq!(stored(&bus, "orders").await, 0);
}
