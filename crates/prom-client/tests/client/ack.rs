//! Acks: gathered into ranges, answered one by one.

use futures::future::join_all;
use prom_client::{Client, Delivery, Error, Subscription, json};

use crate::subscribe::subscribed;
use crate::support::{Hub, Peer, connected, event, is_lease_lost, meet, options, within};

async fn deliveries(peer: &mut Peer, subscription: &mut Subscription, topic: &str, offsets: &[u64]) -> Vec<Delivery> {
    let mut deliveries = Vec::new();
    for offset in offsets {
        peer.lease("orders.*", "billing", event(topic, *offset), 30_000).await;
        deliveries.push(within(subscription.next()).await.unwrap());
    }
    deliveries
}

async fn scene(hub: &Hub) -> (Client, Peer, Subscription) {
    let (client, mut peer) = connected(hub).await;
    let subscription = subscribed(&client, &mut peer).await;
    (client, peer, subscription)
}

#[tokio::test]
async fn acks_that_gather_leave_as_ranges_of_each_log() {
    let hub = Hub::start().await;
    let (_client, mut peer, mut subscription) = scene(&hub).await;
    let mut all = deliveries(&mut peer, &mut subscription, "orders.placed", &[3, 4, 5, 9]).await;
    all.extend(deliveries(&mut peer, &mut subscription, "orders.paid", &[7]).await);
    let acking = join_all(all.iter().rev().map(Delivery::ack));
    let (paid, placed) = (peer.frame("ACK").await, peer.frame("ACK").await);
    assert_eq!((&paid["topic"], &paid["offsets"]), (&json!("orders.paid"), &json!([[7, 7]])));
    assert_eq!((&placed["topic"], &placed["partition"]), (&json!("orders.placed"), &json!(0)));
    assert_eq!(placed["offsets"], json!([[3, 5], [9, 9]]));
    peer.ok(&placed).await;
    peer.ok(&paid).await;
    for settled in within(acking).await {
        settled.unwrap();
    }
}

#[tokio::test]
async fn those_that_were_no_longer_leased_are_told_apart() {
    let hub = Hub::start().await;
    let (_client, mut peer, mut subscription) = scene(&hub).await;
    let all = deliveries(&mut peer, &mut subscription, "orders.placed", &[1, 2, 3]).await;
    let acking = join_all(all.iter().map(Delivery::ack));
    let range = peer.frame("ACK").await;
    peer.ok_with(&range, json!({"unknown": [[2, 2]]})).await;
    let mut settled = within(acking).await;
    settled.remove(2).unwrap();
    assert!(is_lease_lost(settled.remove(1)));
    settled.remove(0).unwrap();
}

#[tokio::test]
async fn a_refused_range_is_settled_one_by_one() {
    let hub = Hub::start().await;
    let (_client, mut peer, mut subscription) = scene(&hub).await;
    let all = deliveries(&mut peer, &mut subscription, "orders.placed", &[1, 2]).await;
    let acking = join_all(all.iter().map(Delivery::ack));
    let range = peer.frame("ACK").await;
    assert_eq!(range["offsets"], json!([[1, 2]]));
    peer.err(&range, "unknown_id").await;
    let (one, two) = (peer.frame("ACK").await, peer.frame("ACK").await);
    assert_eq!(one["offsets"], json!([[1, 1]]));
    peer.err(&one, "unknown_id").await;
    peer.ok(&two).await;
    let mut settled = within(acking).await;
    settled.remove(1).unwrap();
    assert!(is_lease_lost(settled.remove(0)));
}

#[tokio::test]
async fn a_hub_without_batches_gets_one_ack_per_frame() {
    let hub = Hub::start().await;
    let (client, mut peer) = meet(&hub, options(), hub.welcome_with(json!({}))).await;
    let mut subscription = subscribed(&client.unwrap(), &mut peer).await;
    let all = deliveries(&mut peer, &mut subscription, "orders.placed", &[1, 2]).await;
    let acking = join_all(all.iter().map(Delivery::ack));
    for offset in [1, 2] {
        let ack = peer.frame("ACK").await;
        assert_eq!(ack["id"], event("orders.placed", offset)["id"]);
        peer.ok(&ack).await;
    }
    for settled in within(acking).await {
        settled.unwrap();
    }
}

#[tokio::test]
async fn nacks_carry_their_reason_and_modacks_their_time() {
    let hub = Hub::start().await;
    let (_client, mut peer, mut subscription) = scene(&hub).await;
    let all = deliveries(&mut peer, &mut subscription, "orders.placed", &[1, 2]).await;
    let nacking = all[0].nack_after(&"ä".repeat(4000), std::time::Duration::from_secs(3));
    let modacking = all[1].ticket().modack(std::time::Duration::from_secs(9));
    let (nack, modack) = (peer.frame("NACK").await, peer.frame("MODACK").await);
    assert_eq!((nack["reason"].as_str().unwrap().len(), &nack["delay_ms"]), (4096, &json!(3000)));
    assert_eq!((&modack["offsets"], &modack["extend_ms"]), (&json!([[2, 2]]), &json!(9000)));
    peer.ok(&nack).await;
    peer.err(&modack, "ack_failed").await;
    within(nacking).await.unwrap();
    let refused = within(modacking).await.unwrap_err();
    assert!(matches!(refused, Error::Refused { .. }), "{refused}");
}
