//! Publishing: what a receipt promises still holds after the directory is reopened.

use promethean::{Error, ErrorKind, EventId, NewEvent, Receipt, TopicName, json};

use super::home::{Home, publish_numbers, read_numbers};

#[tokio::test]
async fn events_with_a_receipt_are_there_after_a_restart_once_and_in_order() {
    for home in Home::of_each_store() {
        let bus = home.start().await;
        let receipts = publish_numbers(&bus, "numbers", 0..3_000).await;
        assert!(receipts.iter().all(|receipt| receipt.durability == home.durability()));
        let offsets: Vec<u64> = receipts.iter().map(|receipt| receipt.offset).collect();
        assert!(offsets.iter().copied().eq(0..3_000));
        let bus = home.restart(bus).await;
        assert!(read_numbers(&bus, "numbers").await.into_iter().eq(0..3_000));
        assert_eq!(bus.publish("numbers", json!(3_000)).await.unwrap().offset, 3_000);
        home.close_sound(bus).await;
    }
}

#[tokio::test]
async fn every_part_of_an_event_comes_back_as_it_was_given() {
    for home in Home::of_each_store() {
        let bus = home.start().await;
        let cause = EventId::derived("cause");
        let payload = json!({"text": "größer \u{1F525} \"quoted\"", "deep": [[1.5, null, {"a": true}]]});
        let publish = bus.publish("orders.placed", payload.clone()).key("k/1").ts(12_345);
        let publish = publish.header("x-source", "web").header("traceparent", "00-1-2-01");
        let receipt = publish.tag("t").caused_by(cause).sid("boot-1").await.unwrap();
        let bus = home.restart(bus).await;
        let page = bus.read("orders.placed", 0, 0, 1).await.unwrap();
        let event = page.events[0].to_event().unwrap();
        assert_eq!((event.id, event.ts, event.stored_ts), (receipt.id, 12_345, receipt.stored_ts));
        assert_eq!((event.key.as_deref(), event.sid.as_deref()), (Some("k/1"), Some("boot-1")));
        assert_eq!(event.headers.get("x-source"), Some("web"));
        assert_eq!(event.headers.get("traceparent"), Some("00-1-2-01"));
        assert_eq!((event.tags, event.caused_by), (vec!["t".to_owned()], vec![cause]));
        assert_eq!(event.payload.to::<serde_json::Value>().unwrap(), payload);
        home.close_sound(bus).await;
    }
}

#[tokio::test]
async fn the_same_id_again_after_a_restart_stores_nothing_and_gives_the_first_receipt() {
    for home in Home::of_each_store() {
        let bus = home.start().await;
        let receipts = publish_numbers(&bus, "numbers", 0..1_000).await;
        let exact = EventId::derived("row 7 of the outbox");
        let first = bus.publish("numbers", json!(1_000)).exact_id(exact).await.unwrap();
        let bus = home.restart(bus).await;
        for receipt in [&receipts[0], &receipts[501], &receipts[999]] {
            let again = bus.publish("numbers", json!("again")).id(receipt.id).await.unwrap();
            assert_eq!(again, Receipt { duplicate: true, ..receipt.clone() });
        }
        // Beyond the window only exact ids are still known.
        home.clock.advance(std::time::Duration::from_secs(11 * 60));
        let again = bus.publish("numbers", json!("again")).exact_id(exact).await.unwrap();
        assert_eq!(again, Receipt { duplicate: true, ..first });
        let late = bus.publish("numbers", json!(1_001)).id(receipts[0].id).await.unwrap();
        assert_eq!(late.offset, 1_001);
        assert!(read_numbers(&bus, "numbers").await.into_iter().eq(0..=1_001));
        home.close_sound(bus).await;
    }
}

#[tokio::test]
async fn a_batch_with_one_invalid_event_stores_nothing() {
    let [home, _] = Home::of_each_size();
    let bus = home.start().await;
    let event = |topic: &str| NewEvent::new(TopicName::parse(topic).unwrap(), json!(1));
    let refused = bus.publish_batch(vec![event("a"), event("b"), event("system.c")]).await;
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::BadRequest);
    assert_eq!(bus.topics().await.unwrap(), []);
    let bus = home.restart(bus).await;
    assert_eq!(bus.topics().await.unwrap(), []);
    home.close_sound(bus).await;
}

#[tokio::test]
async fn invalid_events_are_refused_and_nothing_is_stored() {
    let [home, _] = Home::of_each_size();
    let bus = home.start().await;
    let huge = json!("x".repeat(2 << 20));
    let refused: Vec<Error> = vec![
        bus.publish("Orders", json!(1)).await.unwrap_err(),
        bus.publish("dlq.orders", json!(1)).await.unwrap_err(),
        bus.publish("orders", json!(1)).header("authorization", "x").await.unwrap_err(),
        bus.publish("orders", json!(1)).partition(1).await.unwrap_err(),
        bus.publish("orders", huge).await.unwrap_err(),
    ];
    for error in refused {
        assert_eq!(error.kind(), ErrorKind::BadRequest, "{error}");
    }
    assert_eq!(bus.topics().await.unwrap(), [], "nothing was stored");
    let unknown = bus.lag("orders", "unknown").await.unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::NotFound);
    home.close_sound(bus).await;
}
