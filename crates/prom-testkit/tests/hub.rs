//! The hub of a test is real, starts at once, and ends with the test.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use prom_client::{Client, ClientOptions, Position, json};
use prom_testkit::process_example::{HEARTBEATS, Heartbeat, ProcessState, ProcessStatus, STATES};
use prom_testkit::{HubInProcess, ProcessExample};

#[test]
fn a_hub_is_ready_within_a_second_and_gone_when_dropped() {
    let begin = Instant::now();
    let hub = HubInProcess::start().unwrap();
    assert!(begin.elapsed() < Duration::from_secs(1), "{:?}", begin.elapsed());
    let address = hub.address();
    TcpStream::connect(address).unwrap();
    drop(hub);
    TcpStream::connect(address).unwrap_err();
}

#[test]
fn two_hubs_know_nothing_of_each_other() {
    let (one, other) = (HubInProcess::start().unwrap(), HubInProcess::start().unwrap());
    assert_ne!(one.address(), other.address());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = Client::connect(&one.url(), ClientOptions::default()).await.unwrap();
        client.publish("orders.placed", json!(1)).await.unwrap();
        for (hub, expected) in [(one, true), (other, false)] {
            let topics = reqwest::get(format!("{}/topics", hub.url())).await.unwrap().text().await.unwrap();
            assert_eq!(topics.contains("orders.placed"), expected, "{topics}");
        }
    });
}

#[tokio::test]
async fn a_hub_ends_although_a_connected_client_waits() {
    let hub = HubInProcess::start().unwrap();
    let client = Client::connect(&hub.url(), ClientOptions::default()).await.unwrap();
    let _waiting = client.subscribe("orders.placed", "billing").start().await.unwrap();
    let begin = Instant::now();
    drop(hub);
    assert!(begin.elapsed() < Duration::from_secs(3), "{:?}", begin.elapsed());
}

#[tokio::test]
async fn heartbeats_become_states_and_silence_makes_them_stale() {
    let hub = HubInProcess::start().unwrap();
    let _example = ProcessExample::start(&hub.url(), Duration::from_millis(200)).await.unwrap();
    let client = Client::connect(&hub.url(), ClientOptions::default()).await.unwrap();
    let mut states = client.tail(STATES).from(Position::Earliest).start().await.unwrap();
    let heartbeat =
        Heartbeat { pid: 7, name: "api".to_owned(), host: "red".to_owned(), cpu_pct: 12.5, mem_mb: 256.0, sid: None };
    let receipt = client.publish(HEARTBEATS, json!(heartbeat)).await.unwrap();
    let mut next = async || {
        let event = tokio::time::timeout(Duration::from_secs(20), states.next()).await.unwrap().unwrap();
        assert_eq!(event.key(), Some("red:api:7"));
        assert_eq!(event.to_event().unwrap().caused_by, [receipt.id]);
        event.payload::<ProcessState>().unwrap()
    };
    let alive = next().await;
    assert_eq!((alive.status, alive.process_id.as_str(), alive.cpu_pct), (ProcessStatus::Alive, "red:api:7", 12.5));
    assert_eq!(alive.last_seen_ts, receipt.stored_ts);
    assert_eq!(next().await, ProcessState { status: ProcessStatus::Stale, ..alive });
}

#[tokio::test]
async fn an_invalid_heartbeat_is_refused_and_the_next_one_succeeds() {
    let hub = HubInProcess::start().unwrap();
    let _example = ProcessExample::start(&hub.url(), Duration::from_secs(60)).await.unwrap();
    let client = Client::connect(&hub.url(), ClientOptions::default()).await.unwrap();
    client.publish(HEARTBEATS, json!("bump")).await.unwrap();
    let good = json!({"pid": 1, "name": "a", "host": "b", "cpu_pct": 0, "mem_mb": 1});
    client.publish(HEARTBEATS, good).await.unwrap();
    let mut states = client.tail(STATES).from(Position::Earliest).start().await.unwrap();
    let event = tokio::time::timeout(Duration::from_secs(20), states.next()).await.unwrap().unwrap();
    assert_eq!(event.key(), Some("b:a:1"));
}
