//! Tails: no group, no leases; they go on where they were.

use prom_client::{Client, Position, Tail, TailItem, json};
use serde_json::Value;

use crate::support::{Hub, Peer, connected, event, within};

async fn started(client: &Client, peer: &mut Peer, from: Position) -> (Tail, Value) {
    let start = client.tail("orders.**").from(from).start();
    let (frame, tail) = within(async { tokio::join!(peer.subscribe(), start) }).await;
    (tail.unwrap(), frame)
}

async fn show(peer: &mut Peer, topic: &str, offsets: std::ops::Range<u64>) {
    let events: Vec<Value> = offsets.map(|offset| event(topic, offset)).collect();
    peer.send(json!({"op": "EVENTS", "topic": "orders.**", "events": events})).await;
}

#[tokio::test]
async fn a_tail_goes_on_where_it_was_and_shows_nothing_twice() {
    let hub = Hub::start().await;
    let (client, mut peer) = connected(&hub).await;
    let (mut tail, frame) = started(&client, &mut peer, Position::Latest).await;
    assert!(frame.get("group").is_none());
    show(&mut peer, "orders.placed", 5000..5003).await;
    show(&mut peer, "orders.paid", 3000..3001).await;
    assert_eq!(within(tail.next()).await.unwrap().offset(), 5000);
    // The rest has come as well before the connection is lost.
    let publishing = client.publish("a", json!(1)).send();
    let publish = peer.frame("PUBLISH").await;
    peer.receipt(&publish, 0).await;
    within(publishing).await.unwrap();
    drop(peer);

    let mut peer = hub.welcome().await;
    let again = peer.subscribe().await;
    assert_eq!(again["opts"], json!({"from": "ts", "ts": 1_003_000 - 2000}), "from the one that is behind");
    show(&mut peer, "orders.paid", 2999..3002).await;
    show(&mut peer, "orders.placed", 5001..5004).await;
    let mut seen = Vec::new();
    let mut resubscribed = 0;
    while seen.len() < 5 {
        match within(tail.next_item()).await.unwrap() {
            TailItem::Event(event) => seen.push((event.topic().to_string(), event.offset())),
            TailItem::Resubscribed => resubscribed += 1,
            TailItem::Gap(gap) => panic!("{gap:?}"),
        }
    }
    let expected = [
        ("orders.placed", 5001),
        ("orders.placed", 5002),
        ("orders.paid", 3000),
        ("orders.paid", 3001),
        ("orders.placed", 5003),
    ];
    assert_eq!(seen, expected.map(|(topic, offset)| (topic.to_owned(), offset)));
    assert_eq!(resubscribed, 1);
}

#[tokio::test]
async fn one_that_has_seen_nothing_begins_as_it_was_asked_to() {
    let hub = Hub::start().await;
    let (client, mut peer) = connected(&hub).await;
    let (_tail, first) = started(&client, &mut peer, Position::StoredAt(77)).await;
    drop(peer);
    let mut peer = hub.welcome().await;
    assert_eq!(peer.subscribe().await["opts"], first["opts"]);
}

#[tokio::test]
async fn a_slow_reader_makes_the_hub_pause_and_loses_nothing() {
    let hub = Hub::start().await;
    let (client, mut peer) = connected(&hub).await;
    let (mut tail, _) = started(&client, &mut peer, Position::Earliest).await;
    show(&mut peer, "orders.placed", 0..3000).await;
    show(&mut peer, "orders.placed", 3000..6000).await;
    let pause = peer.frame("PAUSE").await;
    assert_eq!(pause["topic"], "orders.**");
    peer.ok(&pause).await;
    let serve = async {
        let resume = peer.frame("RESUME").await;
        peer.ok(&resume).await;
        show(&mut peer, "orders.placed", 6000..6001).await;
    };
    let read = async {
        for offset in 0..=6000 {
            assert_eq!(tail.next().await.unwrap().offset(), offset);
        }
    };
    within(async { tokio::join!(serve, read) }).await;
}
