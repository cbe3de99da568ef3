//! Who is alive: a client that answers a ping.

use std::time::{Duration, Instant};

use futures::StreamExt;
use prom_gateway::GatewayOptions;
use prom_protocol::websocket::{Message, Role, encode};
use serde_json::json;

use crate::raw::{Farewell, Raw};
use crate::scene::{Scene, until};

fn impatient() -> GatewayOptions {
    GatewayOptions {
        ping_interval: Duration::from_millis(50),
        silence_limit: Duration::from_millis(300),
        ..GatewayOptions::default()
    }
}

#[tokio::test]
async fn a_client_that_only_answers_pings_stays_and_one_that_does_not_is_closed() {
    let scene = Scene::limited(impatient()).await;
    let (mut answering, mut mute) = (scene.client().await, Raw::client(&scene).await);
    let begin = Instant::now();
    // Reading answers the pings; nothing else is said.
    while begin.elapsed() < Duration::from_millis(1000) {
        let next = tokio::time::timeout(Duration::from_millis(20), answering.socket.next()).await;
        assert!(!matches!(next, Ok(None | Some(Err(_)))), "{next:?}");
    }
    assert_eq!(mute.farewell().await, Farewell { errors: vec![], close: Some(4001) });
    answering.ok(json!({"op": "PUBLISH", "topic": "a", "payload": 1})).await;
    drop(mute);
    until("only one is left", || async { scene.server.hub().ws_connections() == 1 }).await;
}

#[tokio::test]
async fn a_ping_is_answered_with_its_own_bytes() {
    let scene = Scene::open().await;
    let mut client = scene.client().await;
    let ping = tokio_tungstenite::tungstenite::Message::Ping(vec![1, 2, 3].into());
    futures::SinkExt::send(&mut client.socket, ping).await.unwrap();
    assert_eq!(client.message().await, Some(tokio_tungstenite::tungstenite::Message::Pong(vec![1, 2, 3].into())));
}

#[tokio::test]
async fn the_leases_of_a_client_that_fell_silent_go_back() {
    let scene = Scene::limited(impatient()).await;
    scene.bus.publish("a", json!(1)).await.unwrap();
    let subscribe = json!({"op": "SUBSCRIBE", "topic": "a", "group": "g", "opts": {"from": "earliest"}});
    let mut mute = Raw::client(&scene).await;
    mute.send(subscribe.clone()).await;
    assert_eq!(mute.frame().await["op"], "OK");
    assert_eq!(mute.frame().await["op"], "EVENT");
    let mut other = scene.client().await;
    other.ok(subscribe).await;
    assert_eq!(other.event().await["ctx"]["attempt"], 1);
}

#[tokio::test]
async fn pings_of_a_client_that_never_reads_cost_no_memory() {
    let options = GatewayOptions { write_buffer_bytes: 64 * 1024, ..GatewayOptions::default() };
    let scene = Scene::limited(options).await;
    let mut raw = Raw::client(&scene).await;
    let mut ping = Vec::new();
    encode::ping(&mut ping, Role::Client, [0; 4]);
    ping[1] |= 125;
    ping.extend_from_slice(&[7; 125]);
    let many = ping.repeat(1000);
    // As long as it takes everything it answers everything; the socket's own buffers are a few megabytes.
    let mut sent = 0;
    while let Ok(written) = tokio::time::timeout(Duration::from_millis(500), raw.send_bytes(&many)).await {
        sent += many.len();
        assert!(sent < 200 << 20, "it goes on taking pings whose answers are not read: {written:?}");
    }
    // Taking the answers sets it going again.
    let drain = async {
        while let Some(message) = raw.message().await {
            assert_eq!(message, Message::Pong);
        }
    };
    assert!(tokio::time::timeout(Duration::from_millis(300), drain).await.is_err(), "it hung up");
    drop(raw);
    until("the connection is gone", || async { scene.server.hub().ws_connections() == 0 }).await;
}
