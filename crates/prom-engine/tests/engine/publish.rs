//! Publishing: receipts, refusals that leave no trace, atomic batches, topics made on the way.

use futures::FutureExt;
use prom_engine::{Bus, Error, ErrorKind, NewTopics, TopicSettings};
use prom_types::{EventId, Invalid, Json, NewEvent, Receipt, TopicName, limits};
use serde_json::json;

use crate::faults::Stubborn;
use crate::support::{World, bus, publish_numbers, soon, until};

fn event(topic: &str, payload: serde_json::Value) -> NewEvent {
    NewEvent::new(TopicName::parse(topic).unwrap(), payload)
}

#[tokio::test(start_paused = true)]
async fn exact_ids_are_stored_once_also_after_partitions_were_raised() {
    let bus = bus().await;
    bus.create_topic(TopicSettings::new("orders").unwrap()).await.unwrap();
    let publish = async |n: u32| {
        let id = EventId::derived(&n.to_string());
        bus.publish("orders", json!(n)).key(format!("k{n}")).exact_id(id).await.unwrap()
    };
    let mut first = Vec::new();
    for n in 0..40 {
        first.push(publish(n).await);
    }
    bus.create_topic(TopicSettings::new("orders").unwrap().partitions(4)).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(11 * 60)).await;
    for (n, receipt) in (0..).zip(&first) {
        let repeated = Receipt { duplicate: true, ..receipt.clone() };
        assert_eq!(publish(n).await, repeated, "the first receipt, with its partition");
    }
    let stored: u64 = bus.bounds("orders").await.unwrap().iter().map(|bounds| bounds.next).sum();
    assert_eq!(stored, 40);
}

#[tokio::test]
async fn offsets_count_from_zero_in_each_topic() {
    let bus = bus().await;
    for expected in 0..3 {
        assert_eq!(bus.publish("a", json!(1)).await.unwrap().offset, expected);
        assert_eq!(bus.publish("b", json!(1)).await.unwrap().offset, expected);
    }
}

#[tokio::test]
async fn what_was_published_is_read_back_whole() {
    let bus = bus().await;
    let cause = EventId::derived("cause");
    let receipt = bus
        .publish("orders.placed", json!({"id": 7}))
        .key("7")
        .header("x-a", "b")
        .tag("t")
        .caused_by(cause)
        .sid("s")
        .ts(5)
        .await
        .unwrap();
    let page = bus.read("orders.placed", 0, 0, 10).await.unwrap();
    let event = page.events[0].to_event().unwrap();
    assert_eq!(event.id, receipt.id);
    assert_eq!(event.stored_ts, receipt.stored_ts);
    assert_eq!((event.ts, event.key.as_deref(), event.sid.as_deref()), (5, Some("7"), Some("s")));
    assert_eq!(page.events[0].headers().get("x-a"), Some("b"));
    assert_eq!((event.tags, event.caused_by), (vec!["t".to_owned()], vec![cause]));
}

#[tokio::test]
async fn refused_input_is_typed_and_leaves_no_trace() {
    let bus = bus().await;
    let huge = Json::from(json!("x".repeat(limits::PAYLOAD_BYTES)));
    let refusals = [
        bus.publish("Not A Topic", json!(1)).await,
        bus.publish("new.topic", json!(1)).header("Authorization", "x").await,
        bus.publish("new.topic", huge).await,
        bus.publish("new.topic", json!(1)).partition(1).await,
        bus.publish("dlq.orders", json!(1)).await,
        bus.publish("system.audit", json!(1)).await,
    ];
    for refusal in refusals {
        let error = refusal.unwrap_err();
        assert!(matches!(error, Error::Invalid(_)), "{error}");
        assert_eq!(error.kind(), ErrorKind::BadRequest);
    }
    assert!(bus.topics().await.unwrap().is_empty());
    assert!(matches!(bus.read("new.topic", 0, 0, 1).await, Err(Error::UnknownTopic { .. })));
}

#[tokio::test]
async fn a_batch_is_all_or_nothing_also_across_topics() {
    let bus = bus().await;
    let mut bad = event("b", json!(2));
    bad.key = Some("k".repeat(limits::KEY_BYTES + 1));
    let refused = bus.publish_batch(vec![event("a", json!(1)), bad]).await;
    assert!(matches!(refused, Err(Error::Invalid(Invalid::TooLarge { what: "key", .. }))));
    assert!(bus.topics().await.unwrap().is_empty());

    let receipts =
        bus.publish_batch(vec![event("a", json!(1)), event("b", json!(2)), event("a", json!(3))]).await.unwrap();
    let offsets: Vec<_> = receipts.iter().map(|receipt| receipt.offset).collect();
    assert_eq!(offsets, [0, 0, 1]);
    assert_eq!(bus.topics().await.unwrap().len(), 2);
    assert!(bus.publish_batch(Vec::new()).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_repeated_id_gives_the_first_receipt() {
    let bus = bus().await;
    let id = EventId::derived("once");
    let first = bus.publish("a", json!(1)).id(id).await.unwrap();
    let second = bus.publish("a", json!(2)).id(id).await.unwrap();
    assert!(!first.duplicate);
    assert_eq!(second, Receipt { duplicate: true, ..first });
    assert_eq!(bus.read("a", 0, 0, 10).await.unwrap().events.len(), 1);
}

#[tokio::test]
async fn first_publishes_that_race_make_one_topic_and_keep_their_order() {
    let bus = bus().await;
    let sent: Vec<_> = (0..100).map(|number| bus.publish("race", json!(number)).send()).collect();
    for (number, pending) in sent.into_iter().enumerate() {
        assert_eq!(soon(pending).await.unwrap().offset, number as u64);
    }
    assert_eq!(bus.topics().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_topic_made_by_publishing_is_there_even_if_the_receipt_was_not_awaited() {
    let world = World::new();
    let bus = world.bus().await;
    drop(bus.publish("quiet", json!(1)).send());
    drop(bus);
    let bus = world.bus().await;
    assert_eq!(bus.read("quiet", 0, 0, 10).await.unwrap().events.len(), 1);
}

#[tokio::test]
async fn topics_are_not_made_where_that_is_not_allowed() {
    let bus = World::new().bus_with(|options| options.new_topics = NewTopics::Refuse).await;
    assert!(matches!(bus.publish("a", json!(1)).await, Err(Error::UnknownTopic { .. })));
    bus.create_topic(TopicSettings::new("a").unwrap()).await.unwrap();
    bus.publish("a", json!(1)).await.unwrap();
}

#[tokio::test]
async fn a_key_decides_the_partition_and_a_chosen_one_wins() {
    let bus = bus().await;
    bus.create_topic(TopicSettings::new("p").unwrap().partitions(8)).await.unwrap();
    for key in ["a", "b", "c"] {
        let expected = prom_types::partition_of(key, 8);
        for _ in 0..2 {
            assert_eq!(bus.publish("p", json!(1)).key(key).await.unwrap().partition, expected);
        }
    }
    assert_eq!(bus.publish("p", json!(1)).key("a").partition(7).await.unwrap().partition, 7);
}

#[tokio::test]
async fn a_compacted_topic_refuses_events_without_a_key() {
    let bus = bus().await;
    bus.create_topic(TopicSettings::new("state").unwrap().compacted()).await.unwrap();
    let error = bus.publish("state", json!(1)).await.unwrap_err();
    assert!(matches!(error, Error::KeyRequired { .. }), "{error}");
    let batch = bus.publish_batch(vec![event("other", json!(1)), event("state", json!(1))]).await;
    assert!(matches!(batch, Err(Error::KeyRequired { .. })));
    assert!(matches!(bus.read("other", 0, 0, 1).await, Err(Error::UnknownTopic { .. })));
}

/// What a publisher may walk away from.
enum Way {
    One,
    Batch,
    Many,
    Gathered,
}

/// Publishes one event to a topic that is new, in a future that is polled once and dropped.
fn walk_away(bus: &Bus, topic: &str, way: &Way) {
    let events = vec![event(topic, json!(1))];
    match way {
        Way::One => drop(bus.publish(topic, json!(1)).send().now_or_never()),
        Way::Batch => drop(bus.publish_batch(events).now_or_never()),
        Way::Many => drop(bus.publish_many(events).now_or_never()),
        Way::Gathered => {
            let mut work = bus.unit_of_work();
            work.publish(&events[0]).unwrap();
            drop(work.commit_each());
        }
    }
}

fn published(bus: &Bus) -> u64 {
    bus.meters().topics.iter().map(|meters| meters.published).sum()
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_does_not_wait_for_the_answer_has_published_all_the_same() {
    for way in [Way::One, Way::Batch, Way::Many, Way::Gathered] {
        let (store, world) = Stubborn::new();
        let bus = world.bus().await;
        store.hold();
        walk_away(&bus, "a", &way);
        assert_eq!(published(&bus), 0, "nothing is durable yet");
        store.go_on().await;
        until(async || published(&bus) == 1).await;
        assert_eq!(bus.read("a", 0, 0, 10).await.unwrap().events.len(), 1);
        let documents = store.faults.lock().topic_documents;
        assert_eq!(documents, 1, "it came with its topic");
        bus.publish("a", json!(2)).await.unwrap();
        let documents = store.faults.lock().topic_documents;
        assert_eq!(documents, 1, "the topic is known to be stored");
        assert_eq!(published(&bus), 2, "nothing counts twice");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_not_awaited_counts_too() {
    let bus = bus().await;
    drop(bus.publish("a", json!(1)).send());
    until(async || published(&bus) == 1).await;
    let sent = bus.publish("a", json!(1)).send();
    let elsewhere = std::thread::spawn(move || drop(sent));
    elsewhere.join().unwrap();
    until(async || published(&bus) == 2).await;
}

#[tokio::test]
async fn a_publish_that_fails_after_the_publisher_left_counts_for_nothing() {
    let (store, world) = Stubborn::new();
    let bus = world.bus().await;
    publish_numbers(&bus, "a", 0..1).await;
    store.set(|faults| faults.refuse_appends = true);
    drop(bus.publish("a", json!(1)).send());
    store.set(|faults| faults.refuse_appends = false);
    publish_numbers(&bus, "a", 0..1).await;
    assert_eq!(published(&bus), 2);
}

#[tokio::test]
async fn only_what_is_no_batch_may_be_stored_piece_by_piece() {
    let (store, world) = Stubborn::new();
    let bus = world.bus().await;
    let events = || vec![event("a", json!(1)), event("b", json!(2))];
    for _ in 0..2 {
        bus.publish_batch(events()).await.unwrap();
    }
    assert_eq!(store.faults.lock().each, 0);
    bus.publish_many(events()).await;
    assert_eq!(store.faults.lock().each, 1);
}
