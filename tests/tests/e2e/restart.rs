//! Groups continue after a restart where they stopped: nothing settled comes again, nothing else is skipped.

use std::time::Duration;

use promethean::{Bus, Position, Subscription};

use super::home::{Home, floor, next, publish_numbers, take_acked};

async fn billing(bus: &Bus) -> Subscription {
    let group = bus.subscribe("orders.*", "billing").from(Position::Earliest);
    group.start().await.unwrap()
}

#[tokio::test]
async fn acked_events_do_not_come_again() {
    for home in Home::of_each_store() {
        let bus = home.start().await;
        publish_numbers(&bus, "orders.placed", 0..2_000).await;
        let mut orders = billing(&bus).await;
        assert!(take_acked(&mut orders, 1_200).await.into_iter().eq(0..1_200));
        let bus = home.restart(bus).await;
        assert_eq!(floor(&bus, "orders.placed", "billing").await, 1_200);
        let mut orders = billing(&bus).await;
        assert!(take_acked(&mut orders, 800).await.into_iter().eq(1_200..2_000));
        assert_eq!(bus.lag("orders.placed", "billing").await.unwrap().lag_events, 0);
        home.close_sound(bus).await;
    }
}

#[tokio::test]
async fn acks_out_of_order_are_kept_and_only_the_rest_is_delivered_again() {
    const LEFT: [u64; 5] = [3, 7, 8, 401, 999];
    for home in Home::of_each_store() {
        let bus = home.start().await;
        publish_numbers(&bus, "orders.placed", 0..1_000).await;
        let mut orders = billing(&bus).await;
        let mut settled = Vec::new();
        let mut held = Vec::new();
        for _ in 0..1_000 {
            let delivery = next(&mut orders).await;
            if LEFT.contains(&delivery.offset()) { held.push(delivery) } else { settled.push(delivery) }
        }
        settled.reverse();
        orders.ack_all(settled).await.unwrap();
        let bus = home.restart(bus).await;
        let cursor = &bus.cursor("orders.placed", "billing").await.unwrap()[0];
        assert_eq!((cursor.offset, cursor.acked_above), (3, 1_000 - 3 - 5));
        let mut orders = billing(&bus).await;
        for offset in LEFT {
            let delivery = next(&mut orders).await;
            assert_eq!((delivery.offset(), delivery.attempt()), (offset, 1), "a shutdown is not a failed attempt");
            delivery.ack().await.unwrap();
        }
        assert_eq!(floor(&bus, "orders.placed", "billing").await, 1_000);
        drop(held);
        home.close_sound(bus).await;
    }
}

#[tokio::test]
async fn an_expired_lease_counts_as_an_attempt_even_after_a_restart() {
    let [home, _] = Home::of_each_size();
    let bus = home.start().await;
    publish_numbers(&bus, "orders.placed", 0..1).await;
    let wait = Duration::from_millis(1);
    let group = bus.subscribe("orders.placed", "billing").from(Position::Earliest).backoff(wait, wait);
    let mut orders = group.ack_timeout(Duration::from_millis(20)).start().await.unwrap();
    let forgotten = next(&mut orders).await;
    let second = next(&mut orders).await;
    assert_eq!((forgotten.attempt(), second.attempt()), (1, 2));
    assert!(forgotten.ack().await.is_err(), "another delivery holds the lease now");
    let bus = home.restart(bus).await;
    let mut orders = bus.subscribe("orders.placed", "billing").start().await.unwrap();
    let third = next(&mut orders).await;
    assert!(third.attempt() >= 2, "attempt {}", third.attempt());
    third.ack().await.unwrap();
    home.close_sound(bus).await;
}
