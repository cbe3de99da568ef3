//! Conditional publishes: stored only if the partition or the key is as the publisher expects.

use prom_engine::{Bus, DualWrite, Error, ErrorKind, TopicSettings};
use prom_store::DocumentWrite;
use prom_types::Expectation::{self, KeyOffset, Offset};
use prom_types::{EventId, NewEvent, TopicName};
use serde_json::{Value, json};

use crate::schema::{HEARTBEAT, heartbeat, register};
use crate::support::{World, bus, publish_numbers};

const ACCOUNTS: &str = "accounts";

async fn with_accounts() -> Bus {
    let bus = bus().await;
    bus.create_topic(TopicSettings::new(ACCOUNTS).unwrap().versions()).await.unwrap();
    bus
}

fn event(topic: &str, key: &str, expected: impl Into<Option<Expectation>>) -> NewEvent {
    let mut event = NewEvent::new(TopicName::parse(topic).unwrap(), json!(key));
    event.key = Some(key.to_owned());
    event.expect = expected.into();
    event
}

fn actual(refused: &Error) -> Expectation {
    let Error::Unmet { actual, .. } = refused else { panic!("{refused}") };
    *actual
}

async fn next_of(bus: &Bus, topic: &str) -> u64 {
    match bus.bounds(topic).await {
        Ok(bounds) => bounds.iter().map(|bounds| bounds.next).sum(),
        Err(Error::UnknownTopic { .. }) => 0,
        Err(error) => panic!("{error}"),
    }
}

/// Read, add one, publish if nobody was faster; again until it is so.
async fn add_one(bus: &Bus) -> u32 {
    let mut conflicts = 0;
    loop {
        let found = bus.latest_by_key(ACCOUNTS, &["counter"]).await.unwrap().remove(0);
        let count = found.as_ref().map_or(0, |event| event.payload::<u64>().unwrap());
        let expected = KeyOffset(found.as_ref().map(|event| event.offset()));
        match bus.publish(ACCOUNTS, json!(count + 1)).key("counter").expecting(expected).await {
            Ok(_) => return conflicts,
            Err(Error::Unmet { .. }) => conflicts += 1,
            Err(error) => panic!("{error}"),
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_update_of_a_counter_is_lost() {
    let bus = with_accounts().await;
    let writers: Vec<_> = (0..20)
        .map(|_| {
            let bus = bus.clone();
            tokio::spawn(async move {
                for _ in 0..10 {
                    add_one(&bus).await;
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    let latest = bus.latest_by_key(ACCOUNTS, &["counter"]).await.unwrap().remove(0).unwrap();
    assert_eq!(latest.payload::<u64>().unwrap(), 200);
    assert_eq!(next_of(&bus, ACCOUNTS).await, 200, "each update is one event");
}

#[tokio::test]
async fn what_a_topic_cannot_tell_is_refused_as_a_bad_request() {
    let bus = bus().await;
    publish_numbers(&bus, "plain", 0..1).await;
    let refused = bus.publish("plain", json!(1)).key("k").expecting(KeyOffset(None)).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::BadRequest);
    assert!(refused.to_string().contains("versions = true"), "{refused}");
    bus.publish("fresh", json!(1)).key("k").expecting(KeyOffset(None)).await.unwrap_err();
    bus.create_topic(TopicSettings::new(ACCOUNTS).unwrap().versions()).await.unwrap();
    let refused = bus.publish(ACCOUNTS, json!(1)).expecting(KeyOffset(None)).await.unwrap_err();
    assert!(refused.to_string().contains("no key"), "{refused}");
    assert_eq!(next_of(&bus, "plain").await + next_of(&bus, ACCOUNTS).await, 1, "nothing was stored");
    bus.publish("fresh.too", json!(1)).expecting(Offset(0)).await.unwrap();
    let refused = bus.publish("fresh.too", json!(1)).expecting(Offset(0)).await.unwrap_err();
    assert_eq!((refused.kind(), actual(&refused)), (ErrorKind::Conflict, Offset(1)));
}

#[tokio::test]
async fn the_key_may_come_from_the_topic() {
    let bus = bus().await;
    let settings = TopicSettings::new(ACCOUNTS).unwrap().versions().partitions(4).key(".payload.id");
    bus.create_topic(settings).await.unwrap();
    let publish = |expected| bus.publish(ACCOUNTS, json!({"id": "a"})).expecting(expected);
    publish(KeyOffset(None)).await.unwrap();
    assert_eq!(actual(&publish(KeyOffset(None)).await.unwrap_err()), KeyOffset(Some(0)));
    publish(KeyOffset(Some(0))).await.unwrap();
}

#[tokio::test]
async fn independent_events_are_judged_one_behind_the_other_and_refused_alone() {
    let bus = with_accounts().await;
    let results = bus
        .publish_many(vec![
            event(ACCOUNTS, "a", None),
            event(ACCOUNTS, "a", KeyOffset(Some(0))),
            event(ACCOUNTS, "a", KeyOffset(Some(0))),
            event(ACCOUNTS, "b", KeyOffset(None)),
            event("others", "c", None),
        ])
        .await;
    let stored: Vec<_> = results.iter().map(|result| result.as_ref().ok().map(|receipt| receipt.offset)).collect();
    assert_eq!(stored, [Some(0), Some(1), None, Some(2), Some(0)]);
    assert_eq!(actual(results[2].as_ref().unwrap_err()), KeyOffset(Some(1)));
}

#[tokio::test]
async fn an_atomic_batch_is_judged_by_the_state_before_it_and_names_the_event() {
    let bus = with_accounts().await;
    bus.publish_batch(vec![event(ACCOUNTS, "a", KeyOffset(None)), event(ACCOUNTS, "a", Offset(0))]).await.unwrap();
    let batch =
        vec![event("others", "a", None), event(ACCOUNTS, "a", KeyOffset(Some(1))), event(ACCOUNTS, "a", Offset(3))];
    let refused = bus.publish_batch(batch).await.unwrap_err();
    assert!(matches!(refused, Error::Unmet { index: 2, actual: Offset(2), .. }), "{refused:?}");
    assert_eq!((next_of(&bus, "others").await, next_of(&bus, ACCOUNTS).await), (0, 2), "none of it is stored");
}

#[tokio::test]
async fn a_repeated_id_gets_its_first_receipt_whatever_it_expects() {
    let bus = with_accounts().await;
    let id = EventId::derived("opened");
    let publish = || bus.publish(ACCOUNTS, json!(1)).key("a").id(id).expecting(KeyOffset(None));
    let first = publish().await.unwrap();
    bus.publish(ACCOUNTS, json!(2)).key("a").await.unwrap();
    let again = publish().await.unwrap();
    assert_eq!((again.offset, again.duplicate), (first.offset, true));
}

#[tokio::test]
async fn a_unit_of_work_is_stored_only_if_its_events_may_be() {
    let world = World::new();
    let bus = world.bus().await;
    bus.create_topic(TopicSettings::new(ACCOUNTS).unwrap().versions()).await.unwrap();
    let unit = || {
        let mut work = bus.unit_of_work();
        work.publish(&event(ACCOUNTS, "a", KeyOffset(None))).unwrap();
        work.write(DocumentWrite::put("invoices", "7", "{}"));
        work
    };
    unit().commit().await.unwrap();
    assert!(matches!(unit().commit().await, Err(Error::Unmet { .. })));
    let document = world.store.document("invoices", "7").await.unwrap().unwrap();
    assert_eq!(document.revision, 1, "the document of the refused unit was not written");
}

#[tokio::test]
async fn both_copies_of_a_dual_write_are_stored_if_the_original_may_be() {
    let bus = bus().await;
    let settings = TopicSettings::new(HEARTBEAT).unwrap().versions().dual_write(DualWrite::default());
    bus.create_topic(settings).await.unwrap();
    register(&bus, HEARTBEAT, heartbeat("mem_mb")).await;
    let beat = |expected| {
        let payload = json!({"pid": 1, "name": "web", "mem_mb": 3});
        let mut event = NewEvent::new(TopicName::parse(HEARTBEAT).unwrap(), payload);
        event.key = Some("web".to_owned());
        event.expect = Some(expected);
        event
    };
    bus.publish_event(beat(KeyOffset(None))).await.unwrap();
    bus.publish_event(beat(KeyOffset(Some(0)))).await.unwrap();
    let refused = bus.publish_batch(vec![beat(KeyOffset(Some(1))), beat(KeyOffset(Some(0)))]).await.unwrap_err();
    assert!(matches!(refused, Error::Unmet { index: 1, .. }), "the event counts, not its copy: {refused:?}");
    let copies = format!("{HEARTBEAT}.v1");
    assert_eq!((next_of(&bus, HEARTBEAT).await, next_of(&bus, &copies).await), (2, 2));
}

#[tokio::test]
async fn a_schema_refuses_before_an_expectation_and_what_is_judged_elsewhere_keeps_its_turn() {
    let bus = bus().await;
    bus.create_topic(TopicSettings::new(HEARTBEAT).unwrap().versions()).await.unwrap();
    register(&bus, HEARTBEAT, heartbeat("mem_mb")).await;
    let unfit = bus.publish(HEARTBEAT, json!({"pid": 0})).key("web").expecting(KeyOffset(Some(9))).await.unwrap_err();
    assert!(matches!(unfit, Error::SchemaInvalid { .. }), "{unfit}");
    let large = json!({"pid": 1, "name": "x".repeat(400 * 1024), "mem_mb": 1});
    let publish =
        |payload: &Value, expected| bus.publish(HEARTBEAT, payload.clone()).key("web").expecting(expected).send();
    let small = json!({"pid": 1, "name": "web", "mem_mb": 1});
    assert!(bus.must_wait(&NewEvent::new(TopicName::parse(HEARTBEAT).unwrap(), large.clone())));
    let under_way = [
        publish(&large, KeyOffset(None)),
        publish(&small, KeyOffset(Some(0))),
        publish(&large, KeyOffset(Some(0))),
        publish(&large, KeyOffset(Some(1))),
    ];
    let mut stored = Vec::new();
    for publishing in under_way {
        stored.push(publishing.await.map(|receipt| receipt.offset).map_err(|refused| actual(&refused)));
    }
    assert_eq!(stored, [Ok(0), Ok(1), Err(KeyOffset(Some(1))), Ok(2)]);
}

#[tokio::test]
async fn versions_can_be_turned_on_later_and_partitions_are_not_raised_then() {
    let bus = bus().await;
    for key in ["a", "b", "a"] {
        bus.publish(ACCOUNTS, json!(key)).key(key).await.unwrap();
    }
    let settings = || TopicSettings::new(ACCOUNTS).unwrap().versions();
    bus.create_topic(settings()).await.unwrap();
    let refused = bus.publish(ACCOUNTS, json!(1)).key("a").expecting(KeyOffset(None)).await.unwrap_err();
    assert_eq!(actual(&refused), KeyOffset(Some(2)), "it knows at once what was there");
    let refused = bus.create_topic(settings().partitions(2)).await.unwrap_err();
    assert!(matches!(refused, Error::TopicChange { .. }), "{refused}");
}
