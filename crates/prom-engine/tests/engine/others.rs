//! Several buses on one store: each goes by what the others made of a topic.

use futures::FutureExt;
use prom_engine::{Bus, Error, NewTopics, Position, TopicLetters, TopicSettings};
use prom_store::Outcome;
use prom_types::{NewEvent, Receipt, TopicName, partition_of};
use serde_json::json;

use crate::faults::Stubborn;
use crate::support::{World, next, soon, stays_silent, take_acked, until};

fn orders() -> TopicSettings {
    TopicSettings::new("orders").unwrap()
}

fn event(topic: &str, key: Option<&str>) -> NewEvent {
    let mut event = NewEvent::new(TopicName::parse(topic).unwrap(), json!(key));
    event.key = key.map(str::to_owned);
    event
}

async fn gathered(bus: &Bus, events: &[NewEvent]) -> Result<Vec<Receipt>, Error> {
    let mut work = bus.unit_of_work();
    events.iter().for_each(|event| work.publish(event).unwrap());
    work.commit_each().await
}

async fn stored(bus: &Bus, topic: &str) -> u64 {
    let info = bus.topic(topic).await.unwrap();
    info.partitions.iter().map(|partition| partition.bounds.next - partition.bounds.start).sum()
}

/// Two buses that hear nothing of each other.
async fn deaf() -> (Bus, Bus) {
    let (store, world) = Stubborn::new();
    store.set(|faults| faults.is_shared = true);
    (world.bus().await, world.bus().await)
}

#[tokio::test]
async fn a_publish_that_took_its_topic_for_a_new_one_goes_where_the_real_one_says() {
    for way in 0..4 {
        let (one, other) = deaf().await;
        let settings = orders().partitions(4).retain_bytes(1_000_000);
        one.create_topic(settings.clone()).await.unwrap();
        other.publish("known", json!(0)).await.unwrap();
        let keys = ["a", "b", "c", "d", "e", "f"];
        let mut events: Vec<_> = keys.map(|key| event("orders", Some(key))).into();
        events.insert(3, event("known", None));
        let mut receipts = match way {
            0 => gathered(&other, &events).await.unwrap(),
            1 => other.publish_batch(events.clone()).await.unwrap(),
            2 => other.publish_many(events.clone()).await.into_iter().map(Result::unwrap).collect(),
            _ => {
                let sent: Vec<_> = events.iter().map(|event| other.publish_event(event.clone())).collect();
                futures::future::try_join_all(sent).await.unwrap()
            }
        };
        assert_eq!(receipts.remove(3).offset, 1, "way {way}");
        let partitions: Vec<_> = receipts.iter().map(|receipt| receipt.partition).collect();
        assert_eq!(partitions, keys.map(|key| partition_of(key, 4)), "way {way}");
        for (receipt, key) in receipts.iter().zip(keys) {
            let page = one.read("orders", receipt.partition, receipt.offset, 1).await.unwrap();
            assert_eq!((page.events[0].id(), page.events[0].key()), (receipt.id, Some(key)));
        }
        assert_eq!(stored(&one, "orders").await, 6, "each is there once");
        assert_eq!(one.topics().await.unwrap()[1].settings, settings, "nothing was written over it");
        assert_eq!(other.topic_settings("orders").await.unwrap(), settings);
        let meters = other.meters();
        assert_eq!(meters.topics.iter().map(|topic| topic.published).sum::<u64>(), 8, "way {way}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_publisher_that_walks_away_has_published_also_under_a_wrong_guess() {
    for is_gathered in [false, true] {
        let (store, world) = Stubborn::new();
        store.set(|faults| faults.is_shared = true);
        let (one, other) = (world.bus().await, world.bus().await);
        one.create_topic(orders().partitions(4)).await.unwrap();
        store.hold();
        if is_gathered {
            assert!(gathered(&other, &[event("orders", Some("a"))]).now_or_never().is_none())
        } else {
            drop(other.publish_event(event("orders", Some("a"))))
        }
        store.go_on().await;
        until(async || stored(&one, "orders").await == 1).await;
        assert_eq!(one.topic("orders").await.unwrap().partitions[partition_of("a", 4) as usize].bounds.next, 1);
    }
}

#[tokio::test]
async fn an_event_that_the_real_topic_refuses_is_refused_and_nothing_is_stored() {
    let (one, other) = deaf().await;
    one.create_topic(orders().compacted()).await.unwrap();
    let told = gathered(&other, &[event("fresh", None), event("orders", None)]).await;
    let is_clear = |error: &Error| matches!(error, Error::PublishFailed { stored: Outcome::NotStored, .. });
    assert!(told.as_ref().is_err_and(is_clear), "{told:?}");
    assert!(told.unwrap_err().to_string().contains("takes no event without a key"));
    let (one_more, other_more) = deaf().await;
    one_more.create_topic(orders().compacted()).await.unwrap();
    let batch = other_more.publish_batch(vec![event("fresh", None), event("orders", None)]).await;
    assert!(matches!(batch, Err(Error::KeyRequired { .. })), "{batch:?}");
    let single = other.publish("orders", json!(1)).await;
    assert!(matches!(single, Err(Error::KeyRequired { .. })), "{single:?}");
    for bus in [one, one_more] {
        assert_eq!(stored(&bus, "orders").await, 0);
        assert!(matches!(bus.topic("fresh").await, Err(Error::UnknownTopic { .. })));
    }
}

#[tokio::test]
async fn proposals_of_two_buses_with_the_same_settings_are_one_topic() {
    let (store, world) = Stubborn::new();
    store.set(|faults| faults.is_shared = true);
    let (one, other) = (world.bus().await, world.bus().await);
    let (first, second) = tokio::join!(one.publish("orders", json!(1)), other.publish("orders", json!(2)));
    assert_eq!((first.unwrap().offset, second.unwrap().offset), (0, 1));
    let document = world.store.document("topics", "orders").await.unwrap().unwrap();
    assert_eq!(document.revision, 1, "the second changed nothing");
}

#[tokio::test]
async fn a_change_is_checked_against_what_is_stored() {
    let (one, other) = deaf().await;
    one.create_topic(orders().partitions(2)).await.unwrap();
    assert_eq!(other.publish("orders", json!(1)).partition(0).await.unwrap().partition, 0);
    one.create_topic(orders().partitions(4)).await.unwrap();
    let lowered = other.create_topic(orders().partitions(3)).await;
    assert!(matches!(lowered, Err(Error::TopicChange { .. })), "{lowered:?}");
    other.create_topic(orders().partitions(4).max_attempts(3)).await.unwrap();
    let settings = one.topics().await.unwrap().remove(0).settings;
    assert_eq!((settings.partitions, settings.max_attempts), (4, Some(3)));
    assert_eq!(other.publish("orders", json!(1)).partition(3).await.unwrap().partition, 3);
}

#[tokio::test(start_paused = true)]
async fn a_change_that_was_overtaken_on_its_way_is_checked_again() {
    let (store, world) = Stubborn::new();
    store.set(|faults| faults.is_shared = true);
    let buses = [world.bus().await, world.bus().await];
    buses[0].create_topic(orders().partitions(2)).await.unwrap();
    store.hold();
    let mut under_way = Vec::new();
    for (bus, partitions) in buses.iter().zip([8, 4]) {
        let (bus, before) = (bus.clone(), under_way.len());
        under_way.push(tokio::spawn(async move { bus.create_topic(orders().partitions(partitions)).await }));
        until(async || store.commits_held() > before).await;
    }
    store.go_on().await;
    let overtaken = soon(under_way.remove(1)).await.unwrap();
    assert!(matches!(overtaken, Err(Error::TopicChange { .. })), "{overtaken:?}");
    soon(under_way.remove(0)).await.unwrap().unwrap();
    for bus in buses {
        assert_eq!(bus.topics().await.unwrap()[0].settings.partitions, 8, "they were never lowered");
        assert_eq!(bus.publish("orders", json!(1)).partition(7).await.unwrap().partition, 7);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_buses_that_raise_partitions_at_once_never_lower_them() {
    let world = World::new();
    let buses = [world.bus().await, world.bus().await];
    buses[0].create_topic(orders()).await.unwrap();
    let mut raising = tokio::task::JoinSet::new();
    for (number, bus) in buses.iter().cloned().enumerate() {
        raising.spawn(async move {
            for partitions in (2 + number as u32..60).step_by(2) {
                match bus.create_topic(orders().partitions(partitions)).await {
                    Ok(()) | Err(Error::TopicChange { .. }) => {}
                    Err(other) => panic!("{other}"),
                }
            }
        });
    }
    while let Some(raised) = raising.join_next().await {
        raised.unwrap();
    }
    for bus in &buses {
        until(async || bus.topic_settings("orders").await.unwrap().partitions == 59).await;
    }
    let raises = buses[0].read("system.audit", 0, 0, 100).await.unwrap().events;
    let raised: Vec<_> = raises.iter().map(|event| event.payload::<serde_json::Value>().unwrap()).collect();
    let chain = raised.windows(2).all(|pair| pair[0]["after"] == pair[1]["before"]);
    assert!(chain, "a raise went by settings that did not hold: {raised:?}");
}

#[tokio::test(start_paused = true)]
async fn a_pattern_gets_the_events_of_a_topic_that_another_bus_made() {
    let world = World::new();
    let (one, other) = (world.bus().await, world.bus().await);
    let mut events = other.subscribe("orders.*", "billing").start().await.unwrap();
    let mut tail = other.tail("orders.*").start().await.unwrap();
    one.publish("orders.placed", json!(1)).await.unwrap();
    one.create_topic(TopicSettings::new("orders.paid").unwrap().partitions(3)).await.unwrap();
    one.publish("orders.paid", json!(2)).partition(2).await.unwrap();
    let mut taken = take_acked(&mut events, 2).await;
    taken.sort_unstable();
    assert_eq!(taken, [1, 2]);
    for _ in 0..2 {
        assert!(soon(tail.next()).await.unwrap().is_some());
    }
}

#[tokio::test(start_paused = true)]
async fn partitions_that_another_bus_raised_are_used_and_served() {
    let world = World::new();
    let (one, other) = (world.bus().await, world.bus().await);
    one.create_topic(orders()).await.unwrap();
    other.publish("orders", json!(0)).await.unwrap();
    let mut events = other.subscribe("orders", "billing").from(Position::Earliest).start().await.unwrap();
    assert_eq!(take_acked(&mut events, 1).await, [0]);
    one.create_topic(orders().partitions(4).key(".payload.customer")).await.unwrap();
    until(async || other.topic_settings("orders").await.unwrap().partitions == 4).await;
    let receipt = other.publish("orders", json!({"customer": "web:1"})).await.unwrap();
    assert_eq!(receipt.partition, partition_of("web:1", 4), "the topic's own program made the key");
    assert_eq!(next(&mut events).await.key(), Some("web:1"));
    one.publish("orders", json!({"customer": "x"})).partition(3).await.unwrap();
    assert_eq!(next(&mut events).await.key(), Some("x"));
    assert_eq!(other.meters().topics[0].published, 2, "it goes on counting");
    assert!(stays_silent(&mut events, std::time::Duration::from_secs(1)).await);
}

#[tokio::test]
async fn the_store_is_asked_before_a_topic_counts_as_unknown() {
    let (store, world) = Stubborn::new();
    store.set(|faults| faults.is_shared = true);
    let one = world.bus().await;
    let strict = async || world.bus_with(|options| options.new_topics = NewTopics::Refuse).await;
    let buses = [strict().await, strict().await, strict().await, strict().await, strict().await, world.bus().await];
    one.create_topic(orders().partitions(4)).await.unwrap();
    one.publish("orders", json!(0)).partition(3).await.unwrap();
    let [reader, publisher, batcher, looker, subscriber, chooser] = buses;
    assert_eq!(reader.read("orders", 3, 0, 10).await.unwrap().events.len(), 1);
    assert_eq!(publisher.publish("orders", json!(1)).key("a").await.unwrap().partition, partition_of("a", 4));
    let receipts = batcher.publish_batch(vec![event("orders", Some("b"))]).await.unwrap();
    assert_eq!(receipts[0].partition, partition_of("b", 4));
    assert_eq!(looker.topic("orders").await.unwrap().partitions.len(), 4);
    assert_eq!(chooser.publish("orders", json!(2)).partition(2).await.unwrap().partition, 2);
    let mut latest = subscriber.subscribe("orders", "late").from(Position::Latest).start().await.unwrap();
    one.publish("orders", json!(7)).partition(3).await.unwrap();
    assert_eq!(take_acked(&mut latest, 1).await, [7], "what was there before is not the group's");
    let unknown = publisher.publish("never", json!(1)).await;
    assert!(matches!(unknown, Err(Error::UnknownTopic { .. })), "{unknown:?}");
    let beyond = chooser.publish("new", json!(1)).partition(2).await;
    assert!(matches!(beyond, Err(Error::Invalid(_))), "{beyond:?}");
    assert!(matches!(one.topic("new").await, Err(Error::UnknownTopic { .. })), "a refused event makes no topic");
}

#[tokio::test(start_paused = true)]
async fn a_topic_that_another_bus_deleted_is_gone_here_and_comes_back_when_it_is_made_again() {
    let world = World::new();
    let (one, other) = (world.bus().await, world.bus().await);
    one.create_topic(orders().partitions(3)).await.unwrap();
    let mut events = other.subscribe("orders", "billing").from(Position::Earliest).start().await.unwrap();
    other.publish("orders", json!(1)).partition(1).await.unwrap();
    let first = next(&mut events).await;
    one.delete_topic("orders", TopicLetters::Keep).await.unwrap();
    until(async || other.topic_settings("orders").await.is_err()).await;
    assert!(soon(first.ack()).await.is_err());
    let name = TopicName::parse("orders").unwrap();
    until(async || world.store.cursors(Some(&name)).await.unwrap().is_empty()).await;
    let receipt = one.publish("orders", json!(2)).await.unwrap();
    assert_eq!(receipt.partition, 0, "it has one partition now");
    assert_eq!(take_acked(&mut events, 1).await, [2]);
    let receipt = other.publish("orders", json!(3)).await.unwrap();
    assert_eq!((receipt.partition, take_acked(&mut events, 1).await), (0, vec![3]));
    assert!(events.failure().is_none());
}
