//! Ending a subscription: its events go to others at once, without a failed attempt.

use std::time::Duration;

use promethean::Position;

use super::home::{Home, next, publish_numbers, take_acked};

#[tokio::test]
async fn the_events_of_a_dropped_subscription_go_to_another_at_once() {
    for home in Home::of_each_store() {
        let bus = home.start().await;
        publish_numbers(&bus, "orders", 0..100).await;
        // So long that only the drop can free them.
        let group = bus.subscribe("orders", "billing").from(Position::Earliest).ack_timeout(Duration::from_secs(3600));
        let mut first = group.clone().max_in_flight(100).start().await.unwrap();
        let mut held = Vec::new();
        for _ in 0..60 {
            held.push(next(&mut first).await);
        }
        let mut second = group.start().await.unwrap();
        assert!(second.try_next().is_none(), "all are leased to the first");
        drop(first);
        for _ in 0..100 {
            let delivery = next(&mut second).await;
            assert_eq!(delivery.attempt(), 1, "a return is not a failed attempt");
            delivery.ack().await.unwrap();
        }
        for delivery in held {
            delivery.ack().await.expect("acking a settled event is fine");
        }
        home.close_sound(bus).await;
    }
}

#[tokio::test]
async fn a_paused_subscription_gets_nothing_new_and_resumes_where_it_was() {
    let [home, _] = Home::of_each_size();
    let bus = home.start().await;
    let mut orders = bus.subscribe("orders", "billing").from(Position::Earliest).start().await.unwrap();
    orders.pause().await;
    publish_numbers(&bus, "orders", 0..10).await;
    let mut other = bus.subscribe("orders", "billing").start().await.unwrap();
    assert!(take_acked(&mut other, 10).await.into_iter().eq(0..10), "the other gets all of it");
    other.unsubscribe().await;
    publish_numbers(&bus, "orders", 10..20).await;
    assert!(orders.try_next().is_none());
    orders.resume().await;
    assert!(take_acked(&mut orders, 10).await.into_iter().eq(10..20));
    home.close_sound(bus).await;
}
