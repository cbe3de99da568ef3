//! The bus through its face, on a directory that is opened again and again.

use std::time::Duration;

use promethean::{Bus, BusOptions, Delivery, EmbeddedStore, Error, ErrorKind, Position, Subscription, json};
use tempfile::TempDir;

const DEADLINE: Duration = Duration::from_secs(20);

async fn start(dir: &TempDir) -> Bus {
    let store = EmbeddedStore::open(dir.path()).await.unwrap();
    // Some tests hold on to deliveries; a shutdown need not wait for them.
    let options = BusOptions {
        drain_timeout: Duration::from_millis(50),
        ..BusOptions::default()
    };
    Bus::start(store, options).await.unwrap()
}

async fn billing(bus: &Bus) -> Subscription {
    let first = Duration::from_millis(1);
    let wanted = bus.subscribe("orders.*", "billing").from(Position::Earliest);
    wanted.max_attempts(3).backoff(first, first).start().await.unwrap()
}

async fn next(subscription: &mut Subscription) -> Delivery {
    let delivery = tokio::time::timeout(DEADLINE, subscription.next()).await;
    delivery.expect("a delivery in time").expect("the subscription goes on")
}

#[tokio::test]
async fn a_group_goes_on_after_a_restart_where_it_stopped() {
    let dir = TempDir::new().unwrap();
    let bus = start(&dir).await;
    for number in 0..10 {
        bus.publish("orders.placed", json!({ "n": number })).await.unwrap();
    }
    let mut orders = billing(&bus).await;
    for _ in 0..10 {
        let delivery = next(&mut orders).await;
        // All but the third and the seventh.
        if ![3, 7].contains(&delivery.offset()) {
            delivery.ack().await.unwrap();
        }
    }
    bus.shutdown().await.unwrap();
    drop((orders, bus));

    let bus = start(&dir).await;
    let mut orders = billing(&bus).await;
    let offsets = [next(&mut orders).await.offset(), next(&mut orders).await.offset()];
    assert_eq!(offsets, [3, 7], "exactly what was not acked comes again");
    let lag = bus.lag("orders.placed", "billing").await.unwrap();
    assert_eq!(lag.lag_events, 2);
}

#[tokio::test]
async fn attempts_survive_a_restart_and_end_among_the_dead_letters() {
    let dir = TempDir::new().unwrap();
    for attempt in 1..=3 {
        let bus = start(&dir).await;
        if attempt == 1 {
            bus.publish("orders.placed", json!("poison")).await.unwrap();
            bus.publish("orders.placed", json!("fine")).await.unwrap();
        }
        let mut orders = billing(&bus).await;
        let mut delivery = next(&mut orders).await;
        if delivery.payload::<String>().unwrap() == "fine" {
            delivery.ack().await.unwrap();
            delivery = next(&mut orders).await;
        }
        assert_eq!(delivery.attempt(), attempt, "counted across restarts");
        delivery.nack("cannot be billed").await.unwrap();
        bus.shutdown().await.unwrap();
    }
    let bus = start(&dir).await;
    let letter = bus.read("dlq.orders.placed", 0, 0, 10).await.unwrap();
    assert_eq!(letter.events.len(), 1);
    let letter: serde_json::Value = letter.events[0].payload().unwrap();
    assert_eq!((&letter["group"], &letter["attempts"]), (&json!("billing"), &json!(3)));
    assert_eq!(letter["err"], json!("cannot be billed"));
    assert_eq!(letter["original"]["payload"], json!("poison"));
}

#[tokio::test]
async fn the_same_id_again_after_a_restart_stores_nothing_and_gives_the_first_receipt() {
    let dir = TempDir::new().unwrap();
    let bus = start(&dir).await;
    let first = bus.publish("orders.placed", json!(1)).await.unwrap();
    bus.shutdown().await.unwrap();
    drop(bus);
    let bus = start(&dir).await;
    let again = bus.publish("orders.placed", json!(2)).id(first.id).await.unwrap();
    assert_eq!((again.offset, again.stored_ts), (first.offset, first.stored_ts));
    let page = bus.read("orders.placed", 0, 0, 10).await.unwrap();
    assert_eq!(page.events.len(), 1);
}

#[tokio::test]
async fn what_is_wrong_is_refused_and_nothing_is_stored() {
    let dir = TempDir::new().unwrap();
    let bus = start(&dir).await;
    let huge = json!("x".repeat(2 << 20));
    let refused: Vec<Error> = vec![
        bus.publish("Orders", json!(1)).await.unwrap_err(),
        bus.publish("dlq.orders", json!(1)).await.unwrap_err(),
        bus.publish("orders", json!(1))
            .header("authorization", "x")
            .await
            .unwrap_err(),
        bus.publish("orders", huge).await.unwrap_err(),
    ];
    for error in refused {
        assert_eq!(error.kind(), ErrorKind::BadRequest, "{error}");
    }
    assert_eq!(bus.topics().await.unwrap().len(), 0, "nothing was stored");
    assert_eq!(
        bus.lag("orders", "nobody").await.unwrap_err().kind(),
        ErrorKind::NotFound
    );
}
