//! Clients that do not read: they cost their window and no more, and no one waits for them.

use std::time::Duration;

use prom_auth::AuthOptions;
use prom_engine::{BusOptions, Position, TopicSettings};
use prom_gateway::GatewayOptions;
use prom_store_embedded::{EmbeddedOptions, EmbeddedStore, Sync};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;

use crate::bad_input::rss_bytes;
use crate::raw::Raw;
use crate::scene::{Scene, until};

const EVENTS: usize = 10_000;
const PAYLOAD_BYTES: usize = 10_000;

fn from_start(group: Option<&str>) -> Value {
    json!({"op": "SUBSCRIBE", "topic": "a", "group": group, "opts": {"from": "earliest"}})
}

/// A hundred megabytes on a disk, and a hub over them.
async fn well_filled(dir: &std::path::Path) -> Scene {
    let options = EmbeddedOptions { sync: Sync::Os, ..EmbeddedOptions::default() };
    let store = EmbeddedStore::open_with(dir, options).await.unwrap();
    let scene = Scene::over(store, BusOptions::default(), AuthOptions::default(), GatewayOptions::default()).await;
    let payload = json!("x".repeat(PAYLOAD_BYTES));
    for _ in 0..EVENTS / 100 {
        let mut batch = scene.bus.unit_of_work();
        for _ in 0..100 {
            let topic = prom_types::TopicName::parse("a").unwrap();
            batch.publish(&prom_types::NewEvent::new(topic, payload.clone())).unwrap();
        }
        batch.commit_each().await.unwrap();
    }
    scene
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn subscribers_that_never_read_cost_bounded_memory_while_others_flow() {
    let dir = tempfile::tempdir().unwrap();
    let scene = well_filled(dir.path()).await;
    let before = rss_bytes();
    let mut stuck = Vec::new();
    for at in 0..4 {
        let mut raw = Raw::client(&scene).await;
        raw.send(from_start(None)).await;
        raw.send(from_start(Some(&format!("stuck{at}")))).await;
        stuck.push(raw);
    }
    let mut tail = scene.client().await;
    tail.ok(from_start(None)).await;
    for offset in 0..EVENTS {
        assert_eq!(tail.event().await["event"]["offset"], offset);
    }
    let grown = rss_bytes().saturating_sub(before) >> 20;
    println!("4 clients that never read, 8 subscriptions to 100 MB each: {grown} MB more");
    // Eight windows of a thousand events would be 80 MB if they were all held; the backlog is 800 MB.
    assert!(grown < 200, "{grown} MB more");
    let mut member = scene.client().await;
    member.ok(from_start(Some("flowing"))).await;
    assert_eq!(member.take_acked(50).await.len(), 50);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_reads_no_answers_is_not_read_from() {
    let scene = Scene::open().await;
    let mut raw = Raw::client(&scene).await;
    let publish = json!({"op": "PUBLISH", "topic": "a", "payload": "x".repeat(100), "corr": "y".repeat(60)});
    let mut many = Vec::new();
    for _ in 0..1000 {
        let text = publish.to_string();
        many.extend_from_slice(&crate::raw::frame(0x81, text.len() as u64, text.as_bytes()));
    }
    let mut sent = 0;
    while tokio::time::timeout(Duration::from_secs(1), raw.send_bytes(&many)).await.is_ok() {
        sent += 1000;
        assert!(sent < 500_000, "it takes frames forever although its answers are not read");
    }
    scene.client().await.ok(json!({"op": "PUBLISH", "topic": "b", "payload": 1})).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_of_http_that_takes_nothing_of_its_answer_is_cut_off() {
    let write_deadline = Duration::from_millis(200);
    let options = GatewayOptions { connections: 1, write_deadline, ..GatewayOptions::default() };
    let scene = Scene::limited(options).await;
    for _ in 0..8 {
        scene.bus.publish("a", json!("x".repeat(1_000_000))).await.unwrap();
    }
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut unread = socket.connect(scene.server.address()).await.unwrap();
    unread.write_all(b"GET /replay?topic=a HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    let healthy = || async {
        let answer = reqwest::get(format!("http://{}/healthz", scene.server.address())).await;
        answer.is_ok_and(|answer| answer.status() == 200)
    };
    assert!(!healthy().await, "there is one connection, and it is in use");
    until("the only connection is free again", healthy).await;
    drop(unread);
}

/// Holds leases, and answers that it does not take.
async fn full(scene: &Scene) -> Raw {
    let payload = "x".repeat(50_000);
    for _ in 0..200 {
        scene.bus.publish("a", json!(payload)).await.unwrap();
    }
    let mut raw = Raw::client(scene).await;
    raw.send(from_start(Some("g"))).await;
    for _ in 0..2000 {
        raw.send(json!({"op": "PUBLISH", "topic": "b", "payload": 1})).await;
    }
    until("events are leased", || async {
        let lag = scene.bus.lag("a", "g").await;
        lag.is_ok_and(|lag| lag.in_flight > 0)
    })
    .await;
    raw
}

/// Another member of the group gets everything that the full one held.
async fn everything_comes_to_another(scene: &Scene) {
    let mut other = scene.bus.subscribe("a", "g").from(Position::Earliest).start().await.unwrap();
    let all = async {
        for _ in 0..200 {
            other.next().await.unwrap().ack().await.unwrap();
        }
    };
    tokio::time::timeout(Duration::from_secs(15), all).await.expect("leases were not given back");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_client_that_goes_leaves_nothing_behind() {
    let scene = Scene::open().await;
    for _ in 0..10 {
        let raw = full(&scene).await;
        // With unread bytes this is a reset, also for the writer.
        drop(raw);
        until("the connection is gone", || async { scene.server.hub().ws_connections() == 0 }).await;
        everything_comes_to_another(&scene).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_client_that_stays_is_silent_and_is_let_go_with_its_leases() {
    let options = GatewayOptions {
        ping_interval: Duration::from_millis(100),
        silence_limit: Duration::from_secs(1),
        ..GatewayOptions::default()
    };
    let scene = Scene::limited(options).await;
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    let raw = full(&scene).await;
    until("the connection is gone", || async { scene.server.hub().ws_connections() == 0 }).await;
    everything_comes_to_another(&scene).await;
    until("no task is left behind", || async { tasks() <= before }).await;
    drop(raw);
}

/// An answer that hyper had copied into a buffer of its own would no longer be counted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_that_nobody_reads_are_counted_for_as_long_as_they_are_held() {
    let scene = Scene::limited(GatewayOptions { bodies_bytes: 32 << 20, ..GatewayOptions::default() }).await;
    scene.bus.create_topic(TopicSettings::new("a").unwrap().compacted()).await.unwrap();
    for n in 0..6 {
        scene.bus.publish("a", json!("x".repeat(900_000))).key(format!("k{n}")).await.unwrap();
    }
    let address = scene.server.address();
    // More than the system takes off the hub's hands, which is 2.6 MB on loopback.
    let request = format!("GET /at?topic=a&ts=4102444800000 HTTP/1.1\r\nhost: {address}\r\n\r\n");
    let (mut unread, mut refused) = (Vec::new(), 0);
    for _ in 0..12 {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        let mut socket = socket.connect(address).await.unwrap();
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut status = [0; 12];
        socket.read_exact(&mut status).await.unwrap();
        refused += usize::from(status.ends_with(b"503"));
        unread.push(socket);
    }
    assert!(refused > 0, "12 answers of 5 MB are held with a budget of 32 MB");
}
