//! Closing: what is under way is finished first.

use std::time::Duration;

use prom_client::{ConnectionState, Delivery, Error, json};
use tokio::sync::Notify;

use crate::support::{Hub, connected, connected_with, event, options, within};

#[tokio::test]
async fn closing_waits_for_answers_and_handlers_and_takes_nothing_new() {
    let hub = Hub::start().await;
    let (client, mut peer) = connected(&hub).await;
    let publishing = client.publish("a", json!(1)).send();
    let publish = peer.frame("PUBLISH").await;
    let (started, finish) = (Notify::new(), Notify::new());
    let running = client.subscribe("a", "g").run(|_delivery: Delivery| async {
        started.notify_one();
        finish.notified().await;
        Ok::<(), Error>(())
    });
    let closing = async {
        started.notified().await;
        client.close().await;
    };
    let serve = async {
        peer.subscribe().await;
        peer.lease("a", "g", event("a", 0), 30_000).await;
        peer.lease("a", "g", event("a", 1), 30_000).await;
        let pause = peer.frame("PAUSE").await;
        peer.ok(&pause).await;
        let refused = client.publish("a", json!(2)).await.unwrap_err();
        assert!(matches!(refused, Error::Closed { .. }), "{refused}");
        peer.receipt(&publish, 7).await;
        assert!(peer.is_quiet().await, "the handler runs");
        finish.notify_one();
        let ack = peer.frame("ACK").await;
        assert_eq!(ack["offsets"], json!([[0, 0]]));
        peer.ok(&ack).await;
        let left = peer.frame("UNSUBSCRIBE").await;
        peer.ok(&left).await;
        assert!(peer.next().await.is_none(), "then it hangs up");
    };
    let (ran, (), ()) = within(async { tokio::join!(running, closing, serve) }).await;
    ran.unwrap();
    assert_eq!(within(publishing).await.unwrap().offset, 7);
    assert_eq!(client.state(), ConnectionState::Closed { reason: "it was asked to close".to_owned() });
    assert!(hub.is_left_alone().await);
}

#[tokio::test]
async fn closing_ends_in_time_whatever_the_hub_does() {
    let hub = Hub::start().await;
    let (client, mut peer) = connected_with(&hub, options().drain_timeout(Duration::from_millis(100))).await;
    let publishing = client.publish("a", json!(1)).send();
    peer.frame("PUBLISH").await;
    within(client.close()).await;
    let failed = within(publishing).await.unwrap_err();
    assert!(matches!(failed, Error::GaveUp { .. }) && failed.may_be_stored(), "{failed}");
}

#[tokio::test]
async fn closing_without_a_hub_gives_up_what_waits() {
    let hub = Hub::start().await;
    let (client, peer) = connected_with(&hub, options().drain_timeout(Duration::from_millis(100))).await;
    drop(peer);
    drop(hub);
    let publishing = client.publish("a", json!(1)).send();
    within(client.close()).await;
    assert!(within(publishing).await.is_err());
    within(client.close()).await;
}

#[tokio::test]
async fn dropping_the_last_handle_finishes_and_hangs_up() {
    let hub = Hub::start().await;
    let (client, mut peer) = connected(&hub).await;
    let publishing = client.publish("a", json!(1)).send();
    drop(client);
    let publish = peer.frame("PUBLISH").await;
    peer.receipt(&publish, 3).await;
    assert_eq!(within(publishing).await.unwrap().offset, 3);
    assert!(within(peer.next()).await.is_none());
}

#[test]
fn a_runtime_that_goes_away_leaves_no_caller_waiting() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (client, publishing) = runtime.block_on(async {
        let hub = Hub::start().await;
        let (client, _peer) = connected(&hub).await;
        let publishing = client.publish("a", json!(1)).send();
        (client, publishing)
    });
    drop(runtime);
    assert!(matches!(client.state(), ConnectionState::Closed { .. }));
    let other = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    assert!(other.block_on(publishing).is_err());
    assert!(other.block_on(async { client.publish("a", json!(1)).await }).is_err());
}
