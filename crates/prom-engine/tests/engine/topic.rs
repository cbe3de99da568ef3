//! Topics: created, changed where that breaks nothing, kept.

use futures::FutureExt;
use prom_engine::{Error, Position, TopicSettings};
use serde_json::json;

use crate::faults::Stubborn;
use crate::support::{World, bus, publish_numbers, take_acked, until};

#[tokio::test]
async fn settings_survive_a_restart() {
    let world = World::new();
    let bus = world.bus().await;
    let settings = TopicSettings::new("a.b").unwrap().partitions(3).retain_bytes(1_000_000).max_attempts(7);
    bus.create_topic(settings.clone()).await.unwrap();
    drop(bus);
    let bus = world.bus().await;
    let topics = bus.topics().await.unwrap();
    assert_eq!((topics.len(), &topics[0].settings, topics[0].partitions.len()), (1, &settings, 3));
    assert_eq!(bus.publish("a.b", json!(1)).partition(2).await.unwrap().partition, 2);
}

#[tokio::test]
async fn changes_that_break_what_readers_rely_on_are_refused() {
    let bus = bus().await;
    let plain = || TopicSettings::new("plain").unwrap();
    bus.create_topic(plain().partitions(2)).await.unwrap();
    bus.create_topic(plain().partitions(2)).await.unwrap();
    bus.create_topic(plain().partitions(4)).await.unwrap();
    bus.publish("plain", json!(1)).await.unwrap();
    let state = || TopicSettings::new("state").unwrap().compacted();
    bus.create_topic(state()).await.unwrap();
    let refused = [
        bus.create_topic(plain().partitions(3)).await,
        bus.create_topic(plain().partitions(4).compacted()).await,
        bus.create_topic(state().partitions(2)).await,
    ];
    for refusal in refused {
        assert!(matches!(refusal, Err(Error::TopicChange { .. })), "{refusal:?}");
    }
    assert!(bus.create_topic(plain().partitions(0)).await.is_err());
    let topics = bus.topics().await.unwrap();
    let partitions: Vec<_> = topics.iter().map(|topic| (&*topic.settings.name, topic.settings.partitions)).collect();
    assert_eq!(partitions, [("plain", 4), ("state", 1), ("system.audit", 1)], "the raise is on the audit trail");
}

#[tokio::test(start_paused = true)]
async fn a_topic_whose_maker_does_not_wait_is_made_and_followed_all_the_same() {
    let (store, world) = Stubborn::new();
    let bus = world.bus().await;
    let mut events = bus.subscribe("new.*", "g").from(Position::Earliest).start().await.unwrap();
    publish_numbers(&bus, "new.first", 0..1).await;
    assert_eq!(take_acked(&mut events, 1).await, [0]);
    store.hold();
    let settings = TopicSettings::new("new.topic").unwrap().partitions(2);
    assert!(bus.create_topic(settings).now_or_never().is_none());
    until(async || store.is_holding()).await;
    store.go_on().await;
    until(async || bus.topics().await.unwrap().len() == 2).await;
    bus.publish("new.topic", json!(7)).partition(1).await.unwrap();
    assert_eq!(take_acked(&mut events, 1).await, [7]);
}

#[tokio::test]
async fn who_changes_the_settings_of_a_topic_is_written_down() {
    let bus = bus().await;
    let made = || TopicSettings::new("a").unwrap();
    bus.create_topic(made()).await.unwrap();
    bus.create_topic(made()).await.unwrap();
    let twice = made().dual_write(prom_engine::DualWrite::default());
    bus.acting_for(Some("operator")).create_topic(twice).await.unwrap();
    let audit = bus.read("system.audit", 0, 0, 10).await.unwrap().events;
    let told: Vec<serde_json::Value> = audit.iter().map(|event| event.payload().unwrap()).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!((&told[0]["action"], &told[0]["topic"]), (&json!("change_topic"), &json!("a")));
    assert_eq!((&told[0]["before"]["dual_write"], told[0]["after"]["dual_write"].is_object()), (&json!(null), true));
    assert!(told[0].to_string().contains("operator"), "{}", told[0]);
}
