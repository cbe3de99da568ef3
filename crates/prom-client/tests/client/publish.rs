//! Publishing: frames, answers, room, giving up.

use std::time::Duration;

use futures::FutureExt;
use prom_client::{Client, Error, ErrorCode, MaybeStored, NewEvent, TopicName, json};
use serde_json::Value;

use crate::support::{Hub, connected, connected_with, meet, options, within};

fn new_event(topic: &str, payload: Value) -> NewEvent {
    NewEvent::new(TopicName::parse(topic).unwrap(), payload)
}

#[tokio::test]
async fn one_event_goes_as_a_plain_frame_with_an_id_of_the_clients() {
    let hub = Hub::start().await;
    let (client, mut peer) = connected(&hub).await;
    let publishing = client.publish("orders.placed", json!({"id": 7})).key("7").header("x-source", "web").send();
    let frame = peer.frame("PUBLISH").await;
    assert_eq!((&frame["topic"], &frame["payload"]), (&json!("orders.placed"), &json!({"id": 7})));
    assert_eq!((&frame["opts"]["key"], &frame["opts"]["headers"]["x-source"]), (&json!("7"), &json!("web")));
    peer.receipt(&frame, 41).await;
    let receipt = within(publishing).await.unwrap();
    assert_eq!((receipt.offset, json!(receipt.id)), (41, frame["opts"]["id"].clone()));
}

#[tokio::test]
async fn what_gathers_leaves_in_one_frame_and_every_caller_gets_its_own_receipt() {
    let hub = Hub::start().await;
    let (client, mut peer) = connected(&hub).await;
    let publishing: Vec<_> = (0..100).map(|n| client.publish("a", json!(n)).send()).collect();
    let frame = peer.frame("PUBLISH").await;
    let events = frame["events"].as_array().unwrap();
    assert_eq!(events.len(), 100);
    assert_eq!(events[42]["payload"], 42);
    assert!(frame.get("atomic").is_none());
    peer.receipts(&frame, 1000).await;
    for (at, publishing) in publishing.into_iter().enumerate() {
        let receipt = within(publishing).await.unwrap();
        assert_eq!(receipt.offset, 1000 + at as u64);
        assert_eq!(json!(receipt.id), frame["events"][at]["opts"]["id"]);
    }
}

#[tokio::test]
async fn a_frame_is_never_larger_than_the_hub_takes() {
    let hub = Hub::start().await;
    let welcome = json!({"features": ["batch"], "frame_bytes": 2000});
    let (client, mut peer) = meet(&hub, options(), hub.welcome_with(welcome)).await;
    let client = client.unwrap();
    let small: Vec<_> = (0..20).map(|n| client.publish("a", json!(n)).send()).collect();
    let mut seen = 0;
    while seen < 20 {
        let frame = peer.frame("PUBLISH").await;
        assert!(frame.to_string().len() <= 2000);
        match frame.get("events") {
            Some(events) => {
                seen += events.as_array().unwrap().len() as u64;
                peer.receipts(&frame, 0).await;
            }
            None => {
                seen += 1;
                peer.receipt(&frame, 0).await;
            }
        }
    }
    for publishing in small {
        within(publishing).await.unwrap();
    }
    let refused = within(client.publish("a", json!("x".repeat(3000))).send()).await.unwrap_err();
    assert!(matches!(refused, Error::TooLarge { limit: 2000, .. }), "{refused}");
    assert_eq!(refused.code(), Some(ErrorCode::TooLarge));
    let batch = vec![new_event("a", json!("x".repeat(1500))), new_event("b", json!("x".repeat(1500)))];
    let refused = within(client.publish_batch(batch)).await.unwrap_err();
    assert!(matches!(refused, Error::TooLarge { .. }), "{refused}");
    let publishing = client.publish("a", json!(1)).send();
    let frame = peer.frame("PUBLISH").await;
    peer.receipt(&frame, 3).await;
    within(publishing).await.unwrap();
}

#[tokio::test]
async fn a_hub_without_batches_gets_plain_frames() {
    let hub = Hub::start().await;
    let (client, mut peer) = meet(&hub, options(), hub.welcome_with(json!({}))).await;
    let client = client.unwrap();
    let publishing: Vec<_> = (0..3).map(|n| client.publish("a", json!(n)).send()).collect();
    for n in 0..3 {
        let frame = peer.frame("PUBLISH").await;
        assert_eq!(frame["payload"], n);
        peer.receipt(&frame, n).await;
    }
    for publishing in publishing {
        within(publishing).await.unwrap();
    }
    let batch = vec![new_event("a", json!(1)), new_event("b", json!(2))];
    let refused = within(client.publish_batch(batch)).await.unwrap_err();
    assert!(matches!(refused, Error::Unsupported { .. }), "{refused}");
}

#[tokio::test]
async fn answers_reach_their_callers_in_any_order() {
    let hub = Hub::start().await;
    let (client, mut peer) = connected_with(&hub, options().plain_frames()).await;
    let publishing: Vec<_> = (0..3).map(|n| client.publish("a", json!(n)).send()).collect();
    let mut frames = Vec::new();
    for _ in 0..3 {
        frames.push(peer.frame("PUBLISH").await);
    }
    for at in [2, 0, 1] {
        peer.receipt(&frames[at], 10 + at as u64).await;
    }
    for (at, publishing) in publishing.into_iter().enumerate() {
        assert_eq!(within(publishing).await.unwrap().offset, 10 + at as u64);
    }
}

#[tokio::test]
async fn one_refused_event_of_a_frame_does_not_spoil_the_others() {
    let hub = Hub::start().await;
    let (client, mut peer) = connected(&hub).await;
    let mut publishing: Vec<_> = (0..3).map(|n| client.publish("a", json!(n)).send()).collect();
    let frame = peer.frame("PUBLISH").await;
    let problem = json!({"code": "publish_failed", "msg": "disk full", "stored": "unknown"});
    peer.ok_with(&frame, json!({"durability": "fsync", "results": [[0, 5, 1], problem, [0, 6, 1]]})).await;
    assert_eq!(within(publishing.remove(2)).await.unwrap().offset, 6);
    let refused = within(publishing.remove(1)).await.unwrap_err();
    assert_eq!(refused.code(), Some(ErrorCode::PublishFailed));
    assert!(refused.may_be_stored(), "{refused}");
    assert_eq!(within(publishing.remove(0)).await.unwrap().offset, 5);
}

#[tokio::test]
async fn a_batch_is_sent_whole_and_answered_whole() {
    let hub = Hub::start().await;
    let (client, mut peer) = connected(&hub).await;
    let batch = client.publish_batch(vec![new_event("a", json!(1)), new_event("b", json!(2))]);
    let batch = tokio::spawn(batch);
    let frame = peer.frame("PUBLISH").await;
    assert_eq!((&frame["atomic"], frame["events"].as_array().unwrap().len()), (&json!(true), 2));
    peer.receipts(&frame, 7).await;
    let receipts = within(batch).await.unwrap().unwrap();
    assert_eq!(receipts.iter().map(|receipt| receipt.offset).collect::<Vec<_>>(), [7, 8]);
    assert!(within(client.publish_batch(Vec::new())).await.unwrap().is_empty());
}

#[tokio::test]
async fn what_is_wrong_is_refused_before_anything_is_sent() {
    let hub = Hub::start().await;
    let (client, mut peer) = connected(&hub).await;
    for refused in [
        client.publish("Not A Topic", json!(1)).send().await,
        client.publish("dlq.orders", json!(1)).send().await,
        client.publish("a", json!(1)).header("Bad Header", "x").send().await,
        client.publish("a", json!(1)).key("k".repeat(2000)).send().await,
    ] {
        assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
    }
    assert!(peer.is_quiet().await);
}

#[tokio::test]
async fn a_full_client_lets_callers_wait_and_goes_on_when_there_is_room() {
    let hub = Hub::start().await;
    let (client, mut peer) = connected_with(&hub, options().max_pending(2, 1 << 20)).await;
    let first: Vec<_> = (0..2).map(|n| client.publish("a", json!(n)).send()).collect();
    let frame = peer.frame("PUBLISH").await;
    let mut third = Box::pin(client.publish("a", json!(2)).send());
    assert!(third.as_mut().now_or_never().is_none());
    assert!(peer.is_quiet().await, "the third must wait");
    peer.receipts(&frame, 0).await;
    for publishing in first {
        within(publishing).await.unwrap();
    }
    let third = tokio::spawn(third);
    let frame = peer.frame("PUBLISH").await;
    assert_eq!(frame["payload"], 2);
    peer.receipt(&frame, 2).await;
    within(third).await.unwrap().unwrap();
}

#[tokio::test]
async fn giving_up_says_whether_the_event_may_be_stored() {
    let hub = Hub::start().await;
    let quick = options().give_up_after(Duration::from_millis(100)).max_pending(1, 1 << 20);
    let (client, mut peer) = connected_with(&hub, quick.clone()).await;
    let publishing = client.publish("a", json!(1)).send();
    let frame = peer.frame("PUBLISH").await;
    let given_up = within(publishing).await.unwrap_err();
    assert!(matches!(given_up, Error::GaveUp { stored: MaybeStored::Unknown, .. }), "{given_up}");
    // The late answer does no harm.
    peer.receipt(&frame, 1).await;
    let publishing = client.publish("a", json!(2)).send();
    let frame = peer.frame("PUBLISH").await;
    peer.receipt(&frame, 2).await;
    within(publishing).await.unwrap();

    let stopped = Hub::start().await;
    let url = stopped.url();
    drop(stopped);
    let client = Client::connect_in_background(&url, quick).unwrap();
    let (one, other) = (client.publish("a", json!(1)).send(), client.publish("a", json!(1)).send());
    for publishing in [one, other] {
        let given_up = within(publishing).await.unwrap_err();
        assert!(matches!(given_up, Error::GaveUp { stored: MaybeStored::No, .. }), "{given_up}");
        assert!(!given_up.may_be_stored());
    }
}
