//! Parking and giving back on each durable store: across restarts, one letter each, in the order of the key.

use std::time::Duration;

use promethean::{
    Bus, GivenBack, LetterOutcome, LetterRef, Order, Position, Retention, Subscription, TopicSettings, json,
};

use super::home::{Home, floor, next, until};

async fn billing(bus: &Bus) -> Subscription {
    let group = bus.subscribe("orders", "billing").from(Position::Earliest).order(Order::Key).park();
    group.max_attempts(1).start().await.unwrap()
}

async fn letters(bus: &Bus) -> Vec<LetterRef> {
    let (mut letters, mut next) = (Vec::new(), 0);
    // A page may end before the log does, such as where an earlier life of the store ended.
    while let Ok(page) = bus.read("dlq.orders", 0, next, 1000).await {
        letters.extend(page.events.iter().map(|event| LetterRef::of(event).unwrap()));
        if page.next <= next {
            break;
        }
        next = page.next;
    }
    letters
}

async fn ack_at(orders: &mut Subscription, offset: u64) {
    let delivery = next(orders).await;
    assert_eq!(delivery.offset(), offset);
    delivery.ack().await.unwrap();
}

#[tokio::test]
async fn a_parked_key_survives_restarts_and_is_given_back_in_order() {
    for home in Home::of_each_store() {
        let bus = home.start().await;
        for (number, key) in ["a", "b", "a", "a"].into_iter().enumerate() {
            bus.publish("orders", json!({"big": 12345678901234567890u64, "n": number})).key(key).await.unwrap();
        }
        let mut orders = billing(&bus).await;
        let first = next(&mut orders).await;
        assert_eq!(first.offset(), 0);
        first.nack("no").await.unwrap();
        ack_at(&mut orders, 1).await;
        until(async || letters(&bus).await.len() == 3).await;
        until(async || floor(&bus, "orders", "billing").await == 4).await;
        let bus = home.restart(bus).await;
        let all = letters(&bus).await;
        let given = bus.give_back("orders", &all).await.unwrap();
        assert_eq!(given, vec![GivenBack::Given { time: 1 }; 3]);
        let bus = home.restart(bus).await;
        let mut orders = billing(&bus).await;
        let again = next(&mut orders).await;
        assert_eq!((again.offset(), again.attempt()), (0, 1));
        assert_eq!(again.json().as_str(), r#"{"big":12345678901234567890,"n":0}"#);
        again.nack("no").await.unwrap();
        until(async || letters(&bus).await.len() == 4).await;
        let second = letters(&bus).await.remove(3);
        assert_eq!((second.offset, second.given_back), (0, 1));
        let bus = home.restart(bus).await;
        assert_eq!(bus.give_back("orders", &[second]).await.unwrap(), [GivenBack::Given { time: 2 }]);
        let mut orders = billing(&bus).await;
        for offset in [0, 2, 3] {
            ack_at(&mut orders, offset).await;
        }
        until(async || bus.parked_keys("orders", "billing", None, 10).await.unwrap().keys.is_empty()).await;
        let outcomes = bus.letter_outcomes("orders", &letters(&bus).await).await.unwrap();
        assert!(matches!(outcomes[0], LetterOutcome::DeadAgain { time: 1, .. }), "{outcomes:?}");
        let acked = |outcome: &LetterOutcome| matches!(outcome, LetterOutcome::Acked { .. });
        assert!(outcomes[1..].iter().all(acked), "{outcomes:?}");
        assert_eq!(floor(&bus, "orders", "billing").await, 4, "no floor moved");
        home.close_sound(bus).await;
    }
}

#[tokio::test]
async fn an_event_that_is_gone_comes_back_from_its_letter_to_the_byte() {
    for home in Home::of_each_store() {
        let bus = home.start().await;
        let retention = Retention { age_ms: Some(1000), size_bytes: None };
        bus.create_topic(TopicSettings { retention, ..TopicSettings::new("orders").unwrap() }).await.unwrap();
        let payload = r#"{"n":1.50,"long":12345678901234567890123,"s":"\u00fc"}"#;
        let event = promethean::NewEvent {
            key: Some("k".to_owned()),
            tags: vec!["t".to_owned()],
            ..promethean::NewEvent::new(
                promethean::TopicName::parse("orders").unwrap(),
                promethean::Json::parse(payload.to_owned()).unwrap(),
            )
        };
        let receipt = bus.publish_event(event).await.unwrap();
        let mut orders = billing(&bus).await;
        next(&mut orders).await.nack("no").await.unwrap();
        until(async || letters(&bus).await.len() == 1).await;
        home.clock.advance(Duration::from_secs(2 * 60 * 60));
        until(async || {
            bus.retain_now().await.unwrap();
            bus.topic("orders").await.unwrap().partitions[0].bounds.start == 1
        })
        .await;
        bus.give_back("orders", &letters(&bus).await).await.unwrap();
        let again = next(&mut orders).await;
        assert_eq!((again.id(), again.offset(), again.stored_ts()), (receipt.id, 0, receipt.stored_ts));
        assert_eq!(again.json().as_str(), payload);
        again.ack().await.unwrap();
        home.close_sound(bus).await;
    }
}
