//! Following the real hub.

use prom_client::{Position, json};

use crate::scene::{Scene, within};

#[tokio::test]
async fn a_tail_shows_what_is_there_and_what_comes() {
    let scene = Scene::open().await;
    let client = scene.client().await;
    for n in 0..3 {
        within(client.publish("orders.placed", json!(n)).send()).await.unwrap();
    }
    let mut tail = within(client.tail("orders.**").from(Position::Earliest).start()).await.unwrap();
    let mut latest = within(client.tail("orders.*").start()).await.unwrap();
    within(client.publish("orders.paid", json!(3)).send()).await.unwrap();
    for n in 0..4 {
        assert_eq!(within(tail.next()).await.unwrap().payload::<u32>().unwrap(), n);
    }
    assert_eq!(within(latest.next()).await.unwrap().topic().as_str(), "orders.paid");
}

#[tokio::test]
async fn a_slow_reader_gets_everything_in_order() {
    const EVENTS: u64 = 30_000;
    let scene = Scene::open().await;
    let client = scene.client().await;
    let mut tail = within(client.tail("a").from(Position::Earliest).start()).await.unwrap();
    let publishing: Vec<_> = (0..EVENTS).map(|n| client.publish("a", json!(n)).send()).collect();
    for publishing in publishing {
        within(publishing).await.unwrap();
    }
    for offset in 0..EVENTS {
        assert_eq!(within(tail.next()).await.unwrap().offset(), offset);
    }
}
