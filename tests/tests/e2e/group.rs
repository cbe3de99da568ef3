//! The options of a group are stored with it: a restart changes nothing, and conflicting options are refused.

use std::time::Duration;

use promethean::{Error, ErrorKind, Order, Position, json};

use super::home::{Home, next};

#[tokio::test]
async fn options_survive_a_restart_and_still_conflict() {
    for home in Home::of_each_store() {
        let bus = home.start().await;
        let wanted = bus.subscribe("orders.*", "billing").from(Position::Earliest).order(Order::Key);
        let wanted = wanted.max_attempts(3).filter(".payload.total > 10");
        let wanted = wanted.backoff(Duration::from_millis(5), Duration::from_secs(1));
        wanted.start().await.unwrap().unsubscribe().await;
        let agreed = bus.groups().await.unwrap()[0].subscriptions.clone();
        let bus = home.restart(bus).await;

        let found = bus.groups().await.unwrap();
        assert_eq!((found.len(), &found[0].subscriptions), (1, &agreed));
        let asks = || bus.subscribe("orders.*", "billing");
        let conflicts = [
            ("order", asks().order(Order::None).start().await),
            ("filter", asks().filter(".payload.total > 11").start().await),
        ];
        for (option, refused) in conflicts {
            let Err(error) = refused else {
                panic!("{option} was not refused");
            };
            assert_eq!(error.kind(), ErrorKind::BadRequest);
            assert!(matches!(&error, Error::OptionConflict { option: named, .. } if *named == option), "{error}");
        }

        for total in [5, 50] {
            bus.publish("orders.placed", json!({ "total": total })).key("k").await.unwrap();
        }
        let mut silent = asks().start().await.expect("a subscriber without options agrees with everything");
        let delivery = next(&mut silent).await;
        assert_eq!((delivery.offset(), delivery.max_attempts()), (1, 3), "the filter is still there");
        delivery.ack().await.unwrap();
        assert_eq!(bus.lag("orders.placed", "billing").await.unwrap().lag_events, 0);
        home.close_sound(bus).await;
    }
}

#[tokio::test]
async fn a_deleted_group_stays_deleted() {
    let [_, home] = Home::of_each_size();
    let bus = home.start().await;
    bus.publish("orders", json!(1)).await.unwrap();
    let mut orders = bus.subscribe("orders", "billing").from(Position::Earliest).start().await.unwrap();
    next(&mut orders).await.ack().await.unwrap();
    bus.delete_group("billing").await.unwrap();
    let bus = home.restart(bus).await;
    assert_eq!(bus.groups().await.unwrap(), []);
    let mut recreated = bus.subscribe("orders", "billing").from(Position::Earliest).start().await.unwrap();
    assert_eq!(next(&mut recreated).await.offset(), 0, "a new group of the same name starts over");
    home.close_sound(bus).await;
}
