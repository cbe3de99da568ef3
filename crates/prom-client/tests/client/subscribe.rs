//! Subscriptions: asked for, kept across connections, ended.

use std::time::Duration;

use prom_client::{Client, Error, ErrorCode, Item, Notice, Order, Position, Subscription, json};
use serde_json::Value;

use crate::support::{Hub, Peer, connected, event, is_lease_lost, notice, within};

pub async fn subscribed(client: &Client, peer: &mut Peer) -> Subscription {
    let start = client.subscribe("orders.*", "billing").start();
    let (_, subscription) = within(async { tokio::join!(peer.subscribe(), start) }).await;
    subscription.unwrap()
}

#[tokio::test]
async fn a_subscription_asks_for_what_was_said_and_delivers() {
    let hub = Hub::start().await;
    let (client, mut peer) = connected(&hub).await;
    let start = client
        .subscribe("orders.*", "billing")
        .topics(["refunds"])
        .from(Position::Offset(4))
        .order(Order::Key)
        .filter(".payload")
        .max_attempts(3)
        .backoff(Duration::from_millis(10), Duration::from_secs(1))
        .max_in_flight(50)
        .ack_timeout(Duration::from_secs(5))
        .member_id("m1")
        .start();
    let (frame, subscription) = within(async { tokio::join!(peer.subscribe(), start) }).await;
    let mut subscription = subscription.unwrap();
    assert_eq!((&frame["topic"], &frame["group"]), (&json!("orders.*"), &json!("billing")));
    let opts = json!({
        "topics": ["refunds"], "from": "offset", "offset": 4, "order": "key", "filter": ".payload", "maxAttempts": 3,
        "backoff": {"firstMs": 10, "maxMs": 1000}, "maxInFlight": 50, "ackTimeoutMs": 5000, "memberId": "m1",
    });
    assert_eq!(frame["opts"], opts);

    peer.lease("orders.*", "billing", event("orders.placed", 4), 5000).await;
    let delivery = within(subscription.next()).await.unwrap();
    assert_eq!((delivery.topic().as_str(), delivery.offset(), delivery.attempt()), ("orders.placed", 4, 1));
    assert_eq!((delivery.payload::<u64>().unwrap(), delivery.max_attempts()), (4, 5));
    let acking = delivery.ack();
    let ack = peer.frame("ACK").await;
    assert_eq!((&ack["topic"], &ack["group"]), (&json!("orders.placed"), &json!("billing")));
    assert_eq!(ack["offsets"], json!([[4, 4]]));
    peer.ok(&ack).await;
    within(acking).await.unwrap();
}

#[tokio::test]
async fn many_events_in_a_frame_come_one_by_one_with_their_attempts() {
    let hub = Hub::start().await;
    let (client, mut peer) = connected(&hub).await;
    let mut subscription = subscribed(&client, &mut peer).await;
    let events: Vec<Value> = (0..3).map(|offset| event("orders.placed", offset)).collect();
    let ctx = json!({"attempts": {"1": 4}, "max_attempts": 5, "ack_deadline_ms": 30_000});
    peer.send(json!({"op": "EVENTS", "topic": "orders.*", "group": "billing", "events": events, "ctx": ctx})).await;
    let mut attempts = Vec::new();
    for offset in 0..3 {
        let delivery = within(subscription.next()).await.unwrap();
        assert_eq!(delivery.offset(), offset);
        attempts.push(delivery.attempt());
    }
    assert_eq!(attempts, [1, 4, 1]);
    assert!(subscription.try_next().is_none());
}

#[tokio::test]
async fn after_a_lost_connection_it_is_recreated_and_old_leases_are_lost() {
    let hub = Hub::start().await;
    let (client, mut peer) = connected(&hub).await;
    let start = client.subscribe("orders.*", "billing").from(Position::Earliest).start();
    let (first, subscription) = within(async { tokio::join!(peer.subscribe(), start) }).await;
    let mut subscription = subscription.unwrap();
    let control = subscription.control();
    let pausing = tokio::spawn(async move { control.pause().await });
    let pause = peer.frame("PAUSE").await;
    peer.ok(&pause).await;
    within(pausing).await.unwrap().unwrap();
    for offset in 0..3 {
        peer.lease("orders.*", "billing", event("orders.placed", offset), 30_000).await;
    }
    let taken = within(subscription.next()).await.unwrap();
    let in_flight = within(subscription.next()).await.unwrap();
    let acking = in_flight.ack();
    peer.frame("ACK").await;
    let mut notices = client.notices();
    drop(peer);
    assert!(is_lease_lost(within(acking).await), "whether it arrived is unknown");
    notice(&mut notices, |notice| matches!(notice, Notice::Disconnected { .. })).await;
    assert!(is_lease_lost(within(taken.ack()).await), "without a connection");

    let mut peer = hub.welcome().await;
    let again = peer.subscribe().await;
    assert_eq!((&again["topic"], &again["opts"]), (&first["topic"], &first["opts"]));
    let pause = peer.frame("PAUSE").await;
    peer.ok(&pause).await;
    peer.lease("orders.*", "billing", event("orders.placed", 0), 30_000).await;
    assert!(matches!(within(subscription.next_item()).await, Some(Item::Resubscribed)));
    let Some(Item::Delivery(delivery)) = within(subscription.next_item()).await else {
        panic!("a delivery was expected");
    };
    assert_eq!(delivery.offset(), 0, "the one that waited was dropped");
    assert!(is_lease_lost(within(taken.nack("late")).await), "over the new connection");
    let acking = delivery.ack();
    let ack = peer.frame("ACK").await;
    peer.ok(&ack).await;
    within(acking).await.unwrap();
}

#[tokio::test]
async fn gaps_are_told() {
    let hub = Hub::start().await;
    let (client, mut peer) = connected(&hub).await;
    let mut notices = client.notices();
    let mut subscription = subscribed(&client, &mut peer).await;
    peer.send(json!({
        "op": "GAP", "topic": "orders.*", "group": "billing", "event_topic": "orders.placed", "partition": 2,
        "from": 10, "to": 20, "reason": "retention",
    }))
    .await;
    let Some(Item::Gap(gap)) = within(subscription.next_item()).await else {
        panic!("a gap was expected");
    };
    assert_eq!((gap.topic.as_str(), gap.partition, gap.from, gap.to), ("orders.placed", 2, 10, 20));
    notice(&mut notices, |notice| matches!(notice, Notice::Gap { group: Some(group), .. } if group == "billing")).await;
}

#[tokio::test]
async fn a_refused_subscription_is_an_error_with_the_hubs_code() {
    let hub = Hub::start().await;
    let (client, mut peer) = connected(&hub).await;
    let start = client.subscribe("secret.**", "g").start();
    let (_, refused) = within(async {
        tokio::join!(
            async {
                let frame = peer.frame("SUBSCRIBE").await;
                peer.err(&frame, "forbidden").await;
            },
            start
        )
    })
    .await;
    assert_eq!(refused.err().unwrap().code(), Some(ErrorCode::Forbidden));
    let wrong = within(client.subscribe("Not A Topic", "g").start()).await.err().unwrap();
    assert!(matches!(wrong, Error::Invalid(_)), "{wrong}");
    // Its name is free again.
    let _subscription =
        within(async { tokio::join!(peer.subscribe(), client.subscribe("secret.**", "g").start()) }).await;
}

#[tokio::test]
async fn one_that_the_hub_ends_fails_and_one_that_was_fenced_comes_back() {
    let hub = Hub::start().await;
    let (client, mut peer) = connected(&hub).await;
    let mut subscription = subscribed(&client, &mut peer).await;
    peer.send(json!({"op": "ERR", "topic": "orders.*", "group": "billing", "code": "fenced", "msg": "moved"})).await;
    peer.subscribe().await;
    assert!(matches!(within(subscription.next_item()).await, Some(Item::Resubscribed)));
    peer.send(json!({"op": "ERR", "topic": "orders.*", "group": "billing", "code": "forbidden", "msg": "no more"}))
        .await;
    assert!(within(subscription.next()).await.is_none());
    assert_eq!(subscription.failure().unwrap().code(), Some(ErrorCode::Forbidden));
}

#[tokio::test]
async fn ending_one_frees_its_name_also_without_waiting() {
    let hub = Hub::start().await;
    let (client, mut peer) = connected(&hub).await;
    let subscription = subscribed(&client, &mut peer).await;
    let twice = within(client.subscribe("orders.*", "billing").start()).await.err().unwrap();
    assert_eq!(twice.code(), Some(ErrorCode::AlreadySubscribed));

    drop(subscription);
    let start = client.subscribe("orders.*", "billing").start();
    let serve = async {
        let left = peer.frame("UNSUBSCRIBE").await;
        // On its way when the client left: it belongs to no subscription.
        peer.lease("orders.*", "billing", event("orders.placed", 0), 30_000).await;
        peer.ok(&left).await;
        peer.subscribe().await;
        peer.lease("orders.*", "billing", event("orders.placed", 1), 30_000).await;
    };
    let ((), subscription) = within(async { tokio::join!(serve, start) }).await;
    let mut subscription = subscription.unwrap();
    assert_eq!(within(subscription.next()).await.unwrap().offset(), 1);

    let ending = subscription.unsubscribe();
    let serve = async {
        let left = peer.frame("UNSUBSCRIBE").await;
        peer.ok(&left).await;
    };
    let ((), ended) = within(async { tokio::join!(serve, ending) }).await;
    ended.unwrap();
    let unknown = within(client.unsubscribe("orders.*", "billing")).await.unwrap_err();
    assert_eq!(unknown.code(), Some(ErrorCode::NotSubscribed));
}

#[tokio::test]
async fn settling_and_then_leaving_settles_first() {
    let hub = Hub::start().await;
    let (client, mut peer) = connected(&hub).await;
    let mut subscription = subscribed(&client, &mut peer).await;
    peer.lease("orders.*", "billing", event("orders.placed", 0), 30_000).await;
    let delivery = within(subscription.next()).await.unwrap();
    let acking = delivery.ack();
    drop(subscription);
    let ack = peer.frame("ACK").await;
    assert!(peer.is_quiet().await, "leaving would take the lease away");
    peer.ok(&ack).await;
    within(acking).await.unwrap();
    peer.frame("UNSUBSCRIBE").await;
}

#[tokio::test]
async fn a_number_that_no_type_holds_is_an_error_of_reading_and_the_text_is_there() {
    let hub = Hub::start().await;
    let (client, mut peer) = connected(&hub).await;
    let mut subscription = subscribed(&client, &mut peer).await;
    for number in ["1e400".to_owned(), format!("1{}", "0".repeat(3000))] {
        let event = event("orders.placed", 0).to_string().replace("\"payload\":0", &format!("\"payload\":{number}"));
        let ctx = r#"{"attempt":1,"max_attempts":5,"ack_deadline_ms":30000}"#;
        peer.send_text(&format!(
            r#"{{"op":"EVENT","topic":"orders.*","group":"billing","event":{event},"ctx":{ctx}}}"#
        ))
        .await;
        let delivery = within(subscription.next()).await.unwrap();
        assert_eq!(delivery.json().as_str(), number);
        let refused = delivery.payload::<Value>().unwrap_err().to_string();
        assert!(refused.contains("number out of range"), "{refused}");
    }
}
