//! Publishing to a hub that says "not so fast".

use std::time::{Duration, Instant};

use prom_client::{Error, ErrorCode, json};

use crate::support::{Hub, connected, connected_with, options, within};

#[tokio::test]
async fn what_came_too_fast_is_sent_again_when_the_hub_takes_it_in_its_order() {
    let hub = Hub::start().await;
    let (client, mut peer) = connected(&hub).await;
    let publishing: Vec<_> = (0..4).map(|n| client.publish("a", json!(n)).send()).collect();
    let frame = peer.frame("PUBLISH").await;
    let ids: Vec<_> = (0..4).map(|at| frame["events"][at]["opts"]["id"].clone()).collect();
    let limited = json!({"code": "rate_limited", "msg": "too fast", "retry_after_ms": 100});
    let results = json!([[0, 0, 1], limited, limited, limited]);
    let asked = Instant::now();
    peer.ok_with(&frame, json!({"durability": "memory", "results": results})).await;

    let probe = peer.frame("PUBLISH").await;
    assert!(asked.elapsed() >= Duration::from_millis(100), "after {:?}", asked.elapsed());
    assert_eq!((&probe["payload"], &probe["opts"]["id"]), (&json!(1), &ids[1]), "one goes first, with its id");
    assert!(peer.is_quiet().await, "the others wait for what becomes of it");
    peer.receipt(&probe, 1).await;
    let rest = peer.frame("PUBLISH").await;
    assert_eq!(rest["events"][1]["opts"]["id"], ids[3]);
    peer.receipts(&rest, 2).await;
    for (at, publishing) in publishing.into_iter().enumerate() {
        assert_eq!(within(publishing).await.unwrap().offset, at as u64);
    }
}

#[tokio::test]
async fn who_wants_to_know_is_told_and_when_to_come_again() {
    let hub = Hub::start().await;
    let (client, mut peer) = connected_with(&hub, options().fail_when_rate_limited()).await;
    let publishing = client.publish("a", json!(1)).send();
    let frame = peer.frame("PUBLISH").await;
    peer.err_with(&frame, "rate_limited", json!({"retry_after_ms": 250})).await;
    let refused = within(publishing).await.unwrap_err();
    assert_eq!(refused.code(), Some(ErrorCode::RateLimited));
    assert_eq!(refused.retry_after(), Some(Duration::from_millis(250)));
}

#[tokio::test]
async fn retrying_ends_with_the_time_for_publishing() {
    let hub = Hub::start().await;
    let (client, mut peer) = connected_with(&hub, options().give_up_after(Duration::from_millis(150))).await;
    let publishing = client.publish("a", json!(1)).send();
    let frame = peer.frame("PUBLISH").await;
    peer.err_with(&frame, "rate_limited", json!({"retry_after_ms": 60_000})).await;
    let given_up = within(publishing).await.unwrap_err();
    assert!(matches!(given_up, Error::GaveUp { .. }), "{given_up}");
}
