//! Where a hub listens: loopback without auth, and HTTP at an address of its own if asked.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use prom_auth::{AuthOptions, Authenticator};
use prom_engine::{Bus, BusOptions};
use prom_gateway::{GatewayOptions, Hub, ServeError, ServerOptions};
use prom_store::{MemoryStore, SystemClock};
use serde_json::json;
use tokio::net::TcpStream;

use crate::raw::Raw;
use crate::scene::{Scene, auth, loopback, serve};

async fn hub(auth: AuthOptions) -> Arc<Hub> {
    let clock = Arc::new(SystemClock::new());
    let bus = Bus::start(Arc::new(MemoryStore::new(clock.clone())), BusOptions::default()).await.unwrap();
    Hub::new(bus, Authenticator::new(auth).unwrap(), clock, GatewayOptions::default())
}

async fn status(address: SocketAddr, path: &str) -> u16 {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    client.get(format!("http://{address}{path}")).send().await.unwrap().status().as_u16()
}

#[tokio::test]
async fn without_auth_only_loopback_is_listened_on() {
    let everywhere = SocketAddr::from(([0, 0, 0, 0], 0));
    let open = hub(AuthOptions::default()).await;
    for options in [
        ServerOptions { listen: everywhere, ..loopback() },
        ServerOptions { ops_listen: Some(everywhere), ..loopback() },
    ] {
        match serve(open.clone(), &options).await.err() {
            Some(ServeError::Unprotected { address }) => assert_eq!(address.ip(), everywhere.ip()),
            other => panic!("{other:?}"),
        }
    }
    let server = serve(hub(auth()).await, &ServerOptions { listen: everywhere, ..loopback() }).await;
    assert!(server.is_ok(), "with auth it is the owner's choice");
}

#[tokio::test]
async fn a_port_that_is_taken_is_named() {
    let scene = Scene::open().await;
    let taken = ServerOptions { listen: scene.server.address(), ..loopback() };
    match serve(hub(AuthOptions::default()).await, &taken).await.err() {
        Some(error @ ServeError::Bind { .. }) => {
            assert!(error.to_string().contains(&scene.server.address().to_string()), "{error}");
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn websocket_and_http_share_one_port_unless_http_has_its_own() {
    let scene = Scene::open().await;
    assert_eq!(status(scene.server.address(), "/healthz").await, 200);
    assert_eq!(scene.server.ops_address(), None);
    scene.client().await;

    let listen = ServerOptions { ops_listen: Some(SocketAddr::from(([127, 0, 0, 1], 0))), ..loopback() };
    let hub = hub(AuthOptions::default()).await;
    let server = serve(hub.clone(), &listen).await.unwrap();
    let ops = server.ops_address().unwrap();
    assert_ne!(ops, server.address());
    let split = Scene { bus: hub.bus.clone(), server };
    assert_eq!(status(split.server.address(), "/healthz").await, 426);
    assert_eq!(status(ops, "/healthz").await, 200);
    split.client().await.ok(json!({"op": "PUBLISH", "topic": "a", "payload": 1})).await;
    assert_eq!(status(ops, "/replay?topic=a").await, 200);
    let upgrade = tokio_tungstenite::connect_async(format!("ws://{ops}/ws")).await;
    assert!(matches!(upgrade, Err(tokio_tungstenite::tungstenite::Error::Http(answer)) if answer.status() == 400));
    assert_eq!(Raw::upgrade(&split, "/ws", &[]).await.0, 101);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_all_come_at_once_are_held_until_they_are_accepted() {
    const CLIENTS: usize = 600;
    let allowed = std::fs::read_to_string("/proc/sys/net/core/somaxconn");
    if allowed.is_ok_and(|allowed| allowed.trim().parse::<usize>().is_ok_and(|allowed| allowed < CLIENTS)) {
        return println!("this system holds fewer than {CLIENTS} connections; nothing can be shown");
    }
    let listener = prom_gateway::Listener::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let address = listener.local_address().unwrap();
    let connect = || tokio::spawn(tokio::time::timeout(Duration::from_secs(10), TcpStream::connect(address)));
    let connecting: Vec<_> = (0..CLIENTS).map(|_| connect()).collect();
    // Nobody accepts: those that find no room try in vain.
    for connected in connecting {
        connected.await.unwrap().expect("in time").unwrap();
    }
}
