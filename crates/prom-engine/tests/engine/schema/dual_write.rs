//! Events that go to two topics, both or neither.

use prom_engine::{DualWrite, Position, TopicSettings};
use serde_json::{Value, json};

use super::{HEARTBEAT, register_heartbeats};
use crate::support::{bus, next};

#[tokio::test]
async fn an_event_goes_to_its_topic_and_to_the_topic_of_its_version() {
    let bus = bus().await;
    let settings = TopicSettings::new(HEARTBEAT).unwrap().partitions(3).dual_write(DualWrite::default());
    bus.create_topic(settings).await.unwrap();
    register_heartbeats(&bus).await;
    let old = bus.publish(HEARTBEAT, json!({"pid": 1, "name": "web", "mem_mb": 3})).key("web").await.unwrap();
    bus.publish(HEARTBEAT, json!({"pid": 2, "name": "web", "mem_mib": 3})).key("web").await.unwrap();
    for (topic, pid) in [("heartbeat.received.v1", 1), ("heartbeat.received.v2", 2)] {
        assert_eq!(bus.topic_settings(topic).await.unwrap().partitions, 3, "made like the original");
        let mut copies = bus.subscribe(topic, "g").from(Position::Earliest).start().await.unwrap();
        let copy = next(&mut copies).await;
        assert_eq!(copy.payload::<Value>().unwrap()["pid"], pid);
        assert_eq!(copy.key(), Some("web"));
        if pid == 1 {
            assert_eq!((copy.id(), copy.partition()), (old.id, old.partition));
        }
    }
    let again =
        bus.publish(HEARTBEAT, json!({"pid": 1, "name": "web", "mem_mb": 3})).key("web").id(old.id).await.unwrap();
    assert!(again.duplicate);
    let copies: u64 = bus.bounds("heartbeat.received.v1").await.unwrap().iter().map(|bounds| bounds.next).sum();
    assert_eq!(copies, 1, "what is not stored again is not copied again");
}

#[tokio::test]
async fn it_ends_when_it_was_said_to_end_and_can_be_asked_for_once() {
    let bus = bus().await;
    let ended = TopicSettings::new(HEARTBEAT).unwrap().dual_write(DualWrite { until: Some(1) });
    bus.create_topic(ended).await.unwrap();
    register_heartbeats(&bus).await;
    let payload = || json!({"pid": 1, "name": "web", "mem_mb": 3});
    bus.publish(HEARTBEAT, payload()).await.unwrap();
    assert!(bus.bounds("heartbeat.received.v1").await.is_err(), "no copy was made");
    bus.publish(HEARTBEAT, payload()).dual_write().await.unwrap();
    assert_eq!(bus.bounds("heartbeat.received.v1").await.unwrap()[0].next, 1);
}
