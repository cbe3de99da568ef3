//! The window that the hub is asked for.

use prom_client::{Delivery, Error, Mode, json};
use serde_json::Value;

use crate::support::{Hub, Peer, connected, event, within};

/// Answers everything until the hub is told of another window.
async fn next_window(peer: &mut Peer) -> Value {
    loop {
        let frame = within(peer.next()).await.unwrap();
        peer.ok(&frame).await;
        if frame["op"] == "RESUME" {
            return frame["max_in_flight"].clone();
        }
    }
}

#[tokio::test]
async fn fast_handlers_get_a_larger_window_without_a_pause_also_over_the_next_connection() {
    let hub = Hub::start().await;
    let (client, mut peer) = connected(&hub).await;
    let running = client.subscribe("a", "g").concurrency(2).run(|_delivery: Delivery| async { Ok::<(), Error>(()) });
    let serve = async {
        assert_eq!(peer.subscribe().await["opts"]["maxInFlight"], 2);
        for offset in 0..8 {
            peer.lease("a", "g", event("a", offset), 90_000).await;
        }
        let window = next_window(&mut peer).await;
        assert!(window.as_u64().unwrap() > 100, "{window}");
        drop(peer);
        let mut peer = hub.welcome().await;
        assert_eq!(peer.subscribe().await["opts"]["maxInFlight"], window);
        peer.close(4200).await;
    };
    let (ran, ()) = within(async { tokio::join!(running, serve) }).await;
    ran.unwrap_err();
}

#[tokio::test]
async fn the_application_may_say_how_many_and_owners_of_partitions_get_the_usual_number() {
    let hub = Hub::start().await;
    let (client, mut peer) = connected(&hub).await;
    let subscribe = |topic: &str| client.subscribe(topic, "g");
    let cases = [
        (subscribe("a").max_in_flight(7), json!(7)),
        (subscribe("b").mode(Mode::Partitioned), json!(1000)),
        (subscribe("c").partitions(4), json!(1000)),
        (subscribe("d").on_assigned(|_| {}), json!(1000)),
    ];
    for (subscribe, expected) in cases {
        let (frame, subscription) = within(async { tokio::join!(peer.subscribe(), subscribe.start()) }).await;
        assert_eq!(frame["opts"]["maxInFlight"], expected);
        assert_eq!(frame["opts"]["ackTimeoutMs"], 90_000);
        drop(subscription);
        let left = peer.frame("UNSUBSCRIBE").await;
        peer.ok(&left).await;
    }
}
