//! Handlers: settled by their results, their leases renewed while they run.

use std::time::Duration;

use prom_client::{Delivery, Error, json};
use tokio::sync::Notify;

use crate::support::{Hub, connected, event, within};

const LEASE: Duration = Duration::from_millis(400);

#[tokio::test]
async fn results_settle_errors_and_panics_are_nacked() {
    let hub = Hub::start().await;
    let (client, mut peer) = connected(&hub).await;
    let running = client.subscribe("a", "g").concurrency(4).run(|delivery: Delivery| async move {
        match delivery.offset() {
            0 => Ok(()),
            1 => Err("no stock"),
            _ => panic!("a handler that panics"),
        }
    });
    let serve = async {
        peer.subscribe().await;
        for offset in 0..3 {
            peer.lease("a", "g", event("a", offset), 30_000).await;
        }
        let mut settled = Vec::new();
        for _ in 0..3 {
            let frame = within(peer.next()).await.unwrap();
            peer.ok(&frame).await;
            settled.push((frame["op"].as_str().unwrap().to_owned(), frame["offsets"].clone(), frame["reason"].clone()));
        }
        settled.sort_by_key(|(_, offsets, _)| offsets.to_string());
        let only = |offset| json!([[offset, offset]]);
        assert_eq!(settled[0], ("ACK".to_owned(), only(0), json!(null)));
        assert_eq!(settled[1], ("NACK".to_owned(), only(1), json!("no stock")));
        assert_eq!(settled[2], ("NACK".to_owned(), only(2), json!("the handler panicked")));
        let ending = client.unsubscribe("a", "g");
        let left = async {
            let left = peer.frame("UNSUBSCRIBE").await;
            peer.ok(&left).await;
        };
        let (ended, ()) = tokio::join!(ending, left);
        ended.unwrap();
    };
    let (ran, ()) = within(async { tokio::join!(running, serve) }).await;
    ran.unwrap();
}

#[tokio::test]
async fn leases_are_renewed_at_half_time_while_a_handler_runs_and_while_they_wait() {
    let hub = Hub::start().await;
    let (client, mut peer) = connected(&hub).await;
    let (began, finish) = (Notify::new(), Notify::new());
    let running = client.subscribe("a", "g").ack_timeout(LEASE).run(|_delivery: Delivery| async {
        began.notify_one();
        finish.notified().await;
        Ok::<(), Error>(())
    });
    let serve = async {
        peer.subscribe().await;
        let leased = std::time::Instant::now();
        peer.lease("a", "g", event("a", 0), LEASE.as_millis() as u64).await;
        within(began.notified()).await;
        let ctx = json!({"max_attempts": 5, "ack_deadline_ms": 400});
        let events = [event("a", 1), event("a", 2)];
        peer.send(json!({"op": "EVENTS", "topic": "a", "group": "g", "events": events, "ctx": ctx})).await;
        // Long enough for a handler that blocks the runtime.
        let renewal = peer.frame("MODACK").await;
        assert_eq!((&renewal["offsets"], &renewal["extend_ms"]), (&json!([[1, 2]]), &json!(90_000)));
        peer.ok(&renewal).await;
        // Two rounds: longer than the lease lasts.
        for _ in 0..2 {
            let renewal = peer.frame("MODACK").await;
            assert_eq!((&renewal["offsets"], &renewal["extend_ms"]), (&json!([[0, 0]]), &json!(400)));
            peer.ok(&renewal).await;
        }
        assert!(leased.elapsed() >= LEASE * 7 / 8, "after {:?}", leased.elapsed());
        assert!(leased.elapsed() < LEASE * 2, "after {:?}", leased.elapsed());
        for offset in 0..3 {
            finish.notify_one();
            let ack = peer.frame("ACK").await;
            assert_eq!(ack["offsets"], json!([[offset, offset]]));
            peer.ok(&ack).await;
        }
        peer.close(4200).await;
    };
    let (ran, ()) = within(async { tokio::join!(running, serve) }).await;
    assert!(ran.unwrap_err().to_string().contains("4200"));
}

#[tokio::test]
async fn what_the_hub_no_longer_leases_is_not_handed_out() {
    let hub = Hub::start().await;
    let (client, mut peer) = connected(&hub).await;
    let start = client.subscribe("a", "g").ack_timeout(LEASE).start();
    let (_, subscription) = within(async { tokio::join!(peer.subscribe(), start) }).await;
    let mut subscription = subscription.unwrap();
    for offset in 0..2 {
        peer.lease("a", "g", event("a", offset), LEASE.as_millis() as u64).await;
    }
    let both = peer.frame("MODACK").await;
    peer.err(&both, "unknown_id").await;
    let (first, second) = (peer.frame("MODACK").await, peer.frame("MODACK").await);
    peer.err(&first, "unknown_id").await;
    peer.ok(&second).await;
    // The answers are read in order: with this one the others have been.
    let publishing = client.publish("a", json!(1)).send();
    let publish = peer.frame("PUBLISH").await;
    peer.receipt(&publish, 0).await;
    within(publishing).await.unwrap();
    assert_eq!(within(subscription.next()).await.unwrap().offset(), 1);
}

#[tokio::test]
async fn a_slow_application_does_not_hold_up_answers() {
    let hub = Hub::start().await;
    let (client, mut peer) = connected(&hub).await;
    let start = client.subscribe("a", "g").max_in_flight(500).start();
    let (_, subscription) = within(async { tokio::join!(peer.subscribe(), start) }).await;
    let mut subscription = subscription.unwrap();
    for offset in 0..500 {
        peer.lease("a", "g", event("a", offset), 30_000).await;
    }
    let publishing = client.publish("a", json!(1)).send();
    let publish = peer.frame("PUBLISH").await;
    peer.receipt(&publish, 0).await;
    within(publishing).await.unwrap();
    for offset in 0..500 {
        assert_eq!(within(subscription.next()).await.unwrap().offset(), offset);
    }
}
