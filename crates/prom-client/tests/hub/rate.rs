//! Publishing to a hub that limits the pace.

use std::collections::HashMap;
use std::time::Duration;

use prom_client::{ClientOptions, Notice, json};
use prom_gateway::{GatewayOptions, Rate, RateOptions};

use crate::scene::{Scene, within};

async fn limited(rates: RateOptions) -> Scene {
    Scene::with(Default::default(), GatewayOptions { rates, ..GatewayOptions::default() }).await
}

fn per_connection(per_second: f64, burst: f64) -> RateOptions {
    RateOptions { per_connection: Some(Rate { per_second, burst }), ..RateOptions::default() }
}

/// How many events of a key are stored behind a later one of it.
async fn out_of_order(scene: &Scene, topic: &str, count: usize) -> usize {
    let stored = scene.bus().read(topic, 0, 0, count + 1).await.unwrap().events;
    assert_eq!(stored.len(), count, "each is stored once");
    let mut last: HashMap<String, u64> = HashMap::new();
    let mut wrong = 0;
    for event in stored {
        let event = event.to_event().unwrap();
        let number = event.payload.to::<u64>().unwrap();
        if last.insert(event.key.unwrap(), number).is_some_and(|before| before > number) {
            wrong += 1;
        }
    }
    wrong
}

#[tokio::test]
async fn events_of_a_key_stay_in_order_through_a_rate_limit() {
    let of_a_topic = RateOptions { per_topic: Some(Rate::per_second(5000.0, 100.0)), ..RateOptions::default() };
    let cases = [
        // As a hub on a network has it, ten times as fast.
        (per_connection(2000.0, 200.0), 2500),
        (per_connection(2000.0, 1.0), 500),
        (per_connection(5000.0, 20.0), 2500),
        (of_a_topic, 2500),
    ];
    for (rates, count) in cases {
        let scene = limited(rates).await;
        for options in [ClientOptions::default(), ClientOptions::default().plain_frames()] {
            let topic = if format!("{options:?}").contains("Plain") { "plain" } else { "batched" };
            let client = scene.client_with(options).await;
            let mut notices = client.notices();
            let mut publishing = Vec::new();
            for n in 0..count {
                publishing.push(client.publish(topic, json!(n)).key(format!("k{}", n % 3)).send());
                if n % 100 == 99 {
                    // In several frames, so that tokens come back between them.
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
            }
            for one in publishing {
                within(one).await.unwrap();
            }
            assert_eq!(out_of_order(&scene, topic, count).await, 0, "{topic} through {rates:?}");
            let is_told = async { while !matches!(notices.next().await.unwrap(), Notice::PublishingSlowed { .. }) {} };
            within(is_told).await;
            within(client.close()).await;
        }
    }
}

#[tokio::test]
async fn a_client_that_gives_up_on_a_refused_event_goes_on_with_the_next() {
    let scene = limited(per_connection(5.0, 1.0)).await;
    let failing = scene.client_with(ClientOptions::default().fail_when_rate_limited()).await;
    let mut stored = 0;
    while stored < 3 {
        stored += usize::from(within(failing.publish("a", json!(1)).send()).await.is_ok());
    }
}
