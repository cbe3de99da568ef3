//! Batches: taken together, settled together.

use prom_client::{Batch, Client, Error, Subscription, json};
use serde_json::Value;

use crate::subscribe::subscribed;
use crate::support::{Hub, Peer, connected, event, is_lease_lost, meet, options, within};

async fn scene(hub: &Hub) -> (Client, Peer, Subscription) {
    let (client, mut peer) = connected(hub).await;
    let subscription = subscribed(&client, &mut peer).await;
    (client, peer, subscription)
}

/// All of these came in one frame.
async fn batch(peer: &mut Peer, subscription: &mut Subscription, events: &[(&str, u64)]) -> Batch {
    let events: Vec<Value> = events.iter().map(|(topic, offset)| event(topic, *offset)).collect();
    let ctx = json!({"max_attempts": 5, "ack_deadline_ms": 30_000});
    peer.send(json!({"op": "EVENTS", "topic": "orders.*", "group": "billing", "events": events, "ctx": ctx})).await;
    within(subscription.next_batch(events.len())).await.unwrap()
}

fn offsets(batch: &Batch) -> Vec<u64> {
    batch.events().map(|event| event.offset()).collect()
}

#[tokio::test]
async fn a_batch_is_acked_by_ranges_of_each_log_and_answered_once() {
    let hub = Hub::start().await;
    let (_client, mut peer, mut subscription) = scene(&hub).await;
    let placed = |offset| ("orders.placed", offset);
    let batch =
        batch(&mut peer, &mut subscription, &[placed(3), placed(4), placed(9), ("orders.paid", 1), placed(5)]).await;
    assert_eq!(offsets(&batch), [3, 4, 9, 1, 5]);
    let acking = tokio::spawn(batch.ack());
    let (first, second) = (peer.frame("ACK").await, peer.frame("ACK").await);
    assert_eq!((&first["topic"], &first["offsets"]), (&json!("orders.paid"), &json!([[1, 1]])));
    assert_eq!((&second["topic"], &second["offsets"]), (&json!("orders.placed"), &json!([[3, 5], [9, 9]])));
    peer.ok(&first).await;
    assert!(peer.is_quiet().await && !acking.is_finished(), "only a part is answered");
    peer.ok(&second).await;
    within(acking).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_batch_holds_no_more_than_asked_for_and_the_rest_follows() {
    let hub = Hub::start().await;
    let (_client, mut peer, mut subscription) = scene(&hub).await;
    let all: Vec<_> = (0..5).map(|offset| ("orders.placed", offset)).collect();
    let five = batch(&mut peer, &mut subscription, &all).await;
    assert_eq!(five.len(), 5);
    let more: Vec<_> = (5..10).map(|offset| ("orders.placed", offset)).collect();
    let ctx = json!({"max_attempts": 5, "ack_deadline_ms": 30_000});
    let events: Vec<Value> = more.iter().map(|(topic, offset)| event(topic, *offset)).collect();
    peer.send(json!({"op": "EVENTS", "topic": "orders.*", "group": "billing", "events": events, "ctx": ctx})).await;
    let three = within(subscription.next_batch(3)).await.unwrap();
    let rest = within(subscription.next_batch(3)).await.unwrap();
    assert_eq!((offsets(&three), offsets(&rest)), (vec![5, 6, 7], vec![8, 9]));
}

#[tokio::test]
async fn an_event_that_was_lost_is_named_and_the_others_are_settled() {
    let hub = Hub::start().await;
    let (_client, mut peer, mut subscription) = scene(&hub).await;
    let all: Vec<_> = (1..=4).map(|offset| ("orders.placed", offset)).collect();
    let acking = batch(&mut peer, &mut subscription, &all).await.ack();
    let frame = peer.frame("ACK").await;
    assert_eq!(frame["offsets"], json!([[1, 4]]));
    peer.ok_with(&frame, json!({"unknown": [[2, 3]]})).await;
    match within(acking).await {
        Err(Error::LeaseLost { offset, .. }) => assert_eq!(offset, 2),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_refused_batch_is_settled_one_by_one() {
    let hub = Hub::start().await;
    let (_client, mut peer, mut subscription) = scene(&hub).await;
    let acking = batch(&mut peer, &mut subscription, &[("orders.placed", 1), ("orders.placed", 2)]).await.ack();
    let together = peer.frame("ACK").await;
    peer.err(&together, "unknown_id").await;
    let (first, second) = (peer.frame("ACK").await, peer.frame("ACK").await);
    assert_eq!((&first["offsets"], &second["offsets"]), (&json!([[1, 1]]), &json!([[2, 2]])));
    peer.ok(&first).await;
    peer.err(&second, "unknown_id").await;
    assert!(is_lease_lost(within(acking).await));
}

#[tokio::test]
async fn a_hub_without_batches_gets_an_ack_for_each() {
    let hub = Hub::start().await;
    let (client, mut peer) = meet(&hub, options(), hub.welcome_with(json!({}))).await;
    let client = client.unwrap();
    let mut subscription = subscribed(&client, &mut peer).await;
    let acking = batch(&mut peer, &mut subscription, &[("orders.placed", 1), ("orders.placed", 2)]).await.ack();
    for offset in [1, 2] {
        let ack = peer.frame("ACK").await;
        assert_eq!(ack["id"], event("orders.placed", offset)["id"]);
        peer.ok(&ack).await;
    }
    within(acking).await.unwrap();
}

#[tokio::test]
async fn a_batch_of_a_lost_connection_cannot_be_settled() {
    let hub = Hub::start().await;
    let (client, mut peer, mut subscription) = scene(&hub).await;
    let batch = batch(&mut peer, &mut subscription, &[("orders.placed", 1), ("orders.placed", 2)]).await;
    let acking = batch.ack();
    peer.frame("ACK").await;
    drop(peer);
    assert!(is_lease_lost(within(acking).await), "the answer did not come");
    let _peer = hub.welcome().await;
    assert!(is_lease_lost(within(batch.ack()).await), "its leases are gone");
    drop(client);
}
