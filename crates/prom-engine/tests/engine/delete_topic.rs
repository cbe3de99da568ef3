//! Deleting a topic: nothing of it is left, nothing of it comes back, and those who read it go on.

use std::time::Duration;

use prom_engine::{Error, GapReason, Item, Mode, Position, TopicLetters, TopicSettings};
use prom_store::{CursorName, LogName};
use prom_types::{GroupName, TopicName};
use serde_json::{Value, json};

use crate::support::{World, bus, next, publish_numbers, soon, take_acked};

async fn audited(bus: &prom_engine::Bus) -> Vec<Value> {
    let page = bus.read("system.audit", 0, 0, 100).await.unwrap();
    page.events.iter().map(|event| event.payload().unwrap()).collect()
}

#[tokio::test]
async fn nothing_of_it_is_left_but_an_entry_in_the_audit_trail() {
    let world = World::new();
    let bus = world.bus().await;
    publish_numbers(&bus, "numbers", 0..5).await;
    publish_numbers(&bus, "others", 0..2).await;
    let mut numbers = bus.subscribe("numbers", "g").from(Position::Earliest).start().await.unwrap();
    take_acked(&mut numbers, 2).await;
    let preview = bus.preview_delete_topic("numbers", TopicLetters::Keep).await.unwrap();
    assert_eq!(bus.topic("numbers").await.unwrap().partitions[0].bounds.next, 5, "a look changes nothing");
    let deleted = soon(bus.acting_for(Some("alpha")).delete_topic("numbers", TopicLetters::Keep)).await.unwrap();
    assert_eq!(deleted, preview);
    assert_eq!((deleted[0].events, deleted[0].groups.len()), (5, 1));
    assert!(matches!(bus.topic("numbers").await, Err(Error::UnknownTopic { .. })));
    assert!(bus.topics().await.unwrap().iter().all(|topic| topic.settings.name.as_str() != "numbers"));
    assert!(world.store.cursors(Some(&TopicName::parse("numbers").unwrap())).await.unwrap().is_empty());
    assert_eq!(bus.topic("others").await.unwrap().partitions[0].bounds.next, 2);
    let again = bus.delete_topic("numbers", TopicLetters::Keep).await;
    assert!(matches!(again, Err(Error::UnknownTopic { .. })), "{again:?}");
    let audited = audited(&bus).await;
    assert_eq!(audited.len(), 1);
    assert_eq!((&audited[0]["action"], &audited[0]["subject"]), (&json!("delete_topic"), &json!("alpha")));
    assert_eq!(audited[0]["groups"], json!(["g"]));
}

#[tokio::test]
async fn a_subscription_hears_what_it_will_not_get_and_goes_on_with_the_topic_that_is_made_anew() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers.a", 0..4).await;
    let mut numbers = bus.subscribe("numbers.*", "g").from(Position::Earliest).max_in_flight(1).start().await.unwrap();
    let held = next(&mut numbers).await;
    soon(bus.delete_topic("numbers.a", TopicLetters::Keep)).await.unwrap();
    let Some(Item::Gap(gap)) = soon(numbers.next_item()).await else {
        panic!("no gap was told");
    };
    assert_eq!((gap.topic.as_str(), gap.from, gap.to, gap.reason), ("numbers.a", 0, 4, GapReason::Deleted));
    let late = soon(held.ack()).await;
    assert!(late.is_err(), "an ack from before counts for nothing");
    publish_numbers(&bus, "numbers.a", 20..22).await;
    publish_numbers(&bus, "numbers.b", 30..31).await;
    let mut taken = take_acked(&mut numbers, 3).await;
    taken.sort_unstable();
    assert_eq!(taken, [20, 21, 30]);
    assert!(numbers.failure().is_none());
}

#[tokio::test]
async fn a_topic_that_is_made_anew_uses_no_offset_twice_and_is_read_from_its_beginning() {
    let world = World::new();
    let bus = world.bus().await;
    publish_numbers(&bus, "numbers", 0..7).await;
    let mut numbers = bus.subscribe("numbers", "g").from(Position::Earliest).start().await.unwrap();
    take_acked(&mut numbers, 7).await;
    soon(bus.delete_topic("numbers", TopicLetters::Keep)).await.unwrap();
    let receipt = bus.publish("numbers", json!(100)).await.unwrap();
    assert!(receipt.offset >= 7, "{receipt:?}");
    assert_eq!(take_acked(&mut numbers, 1).await, [100]);
    let mut fresh = bus.subscribe("numbers", "other").from(Position::Earliest).start().await.unwrap();
    assert_eq!(take_acked(&mut fresh, 1).await, [100]);
    assert!(fresh.take_gaps().is_empty() && numbers.take_gaps().is_empty(), "nothing is missing");
    let name = CursorName::new(LogName::new(TopicName::parse("numbers").unwrap(), 0), GroupName::parse("g").unwrap());
    assert_eq!(world.store.cursor(&name).await.unwrap().unwrap().floor, receipt.offset + 1);
}

#[tokio::test]
async fn a_topic_with_owners_of_partitions_goes_and_comes_back() {
    let bus = bus().await;
    bus.create_topic(TopicSettings::new("numbers").unwrap().partitions(4)).await.unwrap();
    let mut numbers =
        bus.subscribe("numbers", "g").mode(Mode::Partitioned).from(Position::Earliest).start().await.unwrap();
    for number in 0..8u64 {
        bus.publish("numbers", json!(number)).key(number.to_string()).await.unwrap();
    }
    take_acked(&mut numbers, 8).await;
    soon(bus.delete_topic("numbers", TopicLetters::Keep)).await.unwrap();
    bus.create_topic(TopicSettings::new("numbers").unwrap().partitions(2)).await.unwrap();
    for number in 100..104u64 {
        bus.publish("numbers", json!(number)).key(number.to_string()).await.unwrap();
    }
    let mut taken = take_acked(&mut numbers, 4).await;
    taken.sort_unstable();
    assert_eq!(taken, [100, 101, 102, 103]);
    assert_eq!(bus.partition_owners("numbers", "g").await.unwrap().unwrap().partitions.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn dead_letters_stay_unless_they_are_asked_for() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..1).await;
    let mut numbers = bus.subscribe("numbers", "g").from(Position::Earliest).max_attempts(1).start().await.unwrap();
    soon(next(&mut numbers).await.nack("no")).await.unwrap();
    while bus.topic("dlq.numbers").await.is_err() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    soon(bus.delete_topic("numbers", TopicLetters::Keep)).await.unwrap();
    assert_eq!(bus.topic("dlq.numbers").await.unwrap().partitions[0].bounds.next, 1);
    publish_numbers(&bus, "numbers", 1..2).await;
    let deleted = soon(bus.delete_topic("numbers", TopicLetters::Delete)).await.unwrap();
    assert_eq!(deleted.iter().map(|one| one.topic.as_str()).collect::<Vec<_>>(), ["numbers", "dlq.numbers"]);
    assert!(bus.topic("dlq.numbers").await.is_err());
    let refused = bus.delete_topic("system.audit", TopicLetters::Keep).await;
    assert!(matches!(refused, Err(Error::TopicChange { .. })), "{refused:?}");
}

/// Publishers go on while the topic is deleted again and again: what was acknowledged after a deletion is there, and no
/// offset is given out twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_acknowledged_after_a_deletion_is_stored_however_they_race() {
    let bus = bus().await;
    let publisher = bus.clone();
    let publishing = tokio::spawn(async move {
        let mut offsets = Vec::new();
        for number in 0..2000u64 {
            match publisher.publish("numbers", json!(number)).await {
                Ok(receipt) => offsets.push(receipt.offset),
                Err(Error::UnknownTopic { .. } | Error::PublishFailed { .. }) => {}
                Err(other) => panic!("{other}"),
            }
            tokio::task::yield_now().await;
        }
        offsets
    });
    let mut deleted = 0;
    while !publishing.is_finished() {
        deleted += u64::from(bus.delete_topic("numbers", TopicLetters::Keep).await.is_ok());
        tokio::task::yield_now().await;
    }
    let offsets = publishing.await.unwrap();
    assert!(deleted > 0 && !offsets.is_empty());
    assert!(offsets.is_sorted_by(|one, other| one < other), "an offset was used twice");
    bus.publish("numbers", json!(1)).await.unwrap();
    let bounds = bus.topic("numbers").await.unwrap().partitions[0].bounds;
    let there = offsets.iter().filter(|offset| **offset >= bounds.start).count() as u64;
    assert_eq!(bus.read("numbers", 0, bounds.start, 5000).await.unwrap().events.len() as u64, there + 1);
}

/// A subscriber stays through deletions that race with publishing, and gets what is published last.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subscriber_is_attached_to_a_topic_that_is_made_while_the_old_one_goes() {
    let bus = bus().await;
    for round in 0..30u64 {
        bus.publish("numbers", json!(0)).await.unwrap();
        let mut numbers = bus.subscribe("numbers", "g").from(Position::Earliest).start().await.unwrap();
        let (publisher, deleter) = (bus.clone(), bus.clone());
        let deleting = tokio::spawn(async move { deleter.delete_topic("numbers", TopicLetters::Keep).await.is_ok() });
        let publishing = tokio::spawn(async move {
            for number in 1..20u64 {
                drop(publisher.publish("numbers", json!(number)).await);
            }
        });
        deleting.await.unwrap();
        publishing.await.unwrap();
        bus.publish("numbers", json!(1000 + round)).await.unwrap();
        loop {
            let Some(delivery) = soon(numbers.next()).await else {
                // Its cursor went with the old topic at that very moment: it subscribes again, as a client does.
                let failure = numbers.failure();
                assert!(matches!(failure, Some(Error::Fenced { .. })), "round {round}: {failure:?}");
                numbers = bus.subscribe("numbers", "g").start().await.unwrap();
                continue;
            };
            let number: u64 = delivery.payload().unwrap();
            drop(delivery.ack().await);
            if number == 1000 + round {
                break;
            }
        }
    }
}
