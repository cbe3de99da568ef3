//! How many may connect, and what is told to those who may not.

use prom_gateway::GatewayOptions;
use serde_json::json;
use tokio_tungstenite::tungstenite::Error;

use crate::scene::{Scene, until};

#[tokio::test]
async fn beyond_the_limit_of_connections_new_ones_are_told_to_come_back_later() {
    let scene = Scene::limited(GatewayOptions { connections: 2, ..GatewayOptions::default() }).await;
    let (first, mut second) = (scene.client().await, scene.client().await);
    let url = format!("ws://{}/", scene.server.address());
    for _ in 0..20 {
        match tokio_tungstenite::connect_async(&url).await {
            Err(Error::Http(response)) => {
                assert_eq!(response.status(), 503);
                assert!(response.headers().contains_key("retry-after"));
            }
            other => panic!("{other:?}"),
        }
    }
    second.ok(json!({"op": "PUBLISH", "topic": "a", "payload": 1})).await;
    drop(first);
    until("a place is free", || async { tokio_tungstenite::connect_async(&url).await.is_ok() }).await;
}

#[tokio::test]
async fn connections_are_counted_as_they_come_and_go() {
    let scene = Scene::open().await;
    let hub = scene.server.hub();
    let clients = [scene.client().await, scene.client().await, scene.connect().await];
    assert_eq!(hub.ws_connections(), 3);
    drop(clients);
    until("none is left", || async { hub.ws_connections() == 0 }).await;
}
