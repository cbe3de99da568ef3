//! Patterns: a group reads every matching topic, including one created long after it, from the beginning.

use promethean::{Position, json};

use super::home::{Home, floor, publish_numbers, take_acked, until};

#[tokio::test]
async fn a_topic_created_after_a_restart_is_read_from_its_beginning() {
    for home in Home::of_each_store() {
        let bus = home.start().await;
        publish_numbers(&bus, "orders.placed", 0..10).await;
        // From the latest: existing events are not read, later ones all are.
        let group = bus.subscribe("orders.**", "audit").from(Position::Latest);
        group.start().await.unwrap().unsubscribe().await;
        let bus = home.restart(bus).await;
        publish_numbers(&bus, "orders.paid.late", 100..110).await;
        publish_numbers(&bus, "stock.counted", 900..910).await;
        let mut orders = bus.subscribe("orders.**", "audit").start().await.unwrap();
        assert!(take_acked(&mut orders, 10).await.into_iter().eq(100..110));
        publish_numbers(&bus, "orders.sent", 200..210).await;
        assert!(take_acked(&mut orders, 10).await.into_iter().eq(200..210), "also while it runs");
        publish_numbers(&bus, "orders.placed", 10..11).await;
        assert_eq!(take_acked(&mut orders, 1).await, [10]);
        let bus = home.restart(bus).await;
        for (topic, floor_there) in [("orders.placed", 11), ("orders.paid.late", 10), ("orders.sent", 10)] {
            assert_eq!(floor(&bus, topic, "audit").await, floor_there, "{topic}");
        }
        assert!(bus.cursor("stock.counted", "audit").await.is_err(), "it does not match");
        home.close_sound(bus).await;
    }
}

#[tokio::test]
async fn five_thousand_topics_live_in_one_bus() {
    const TOPICS: u64 = 5_000;
    let home = Home::of(promethean::Sizes::default());
    let mut bus = home.start().await;
    for round in 0..2 {
        let receipts: Vec<_> =
            (0..TOPICS).map(|topic| bus.publish(&format!("many.t{topic}"), json!(topic)).send()).collect();
        for receipt in receipts {
            assert_eq!(receipt.await.unwrap().offset, round);
        }
        let group = bus.subscribe("many.*", "all").from(Position::Earliest).max_in_flight(5_000);
        let mut all = group.start().await.unwrap();
        let mut seen = take_acked(&mut all, TOPICS as usize).await;
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..TOPICS), "each topic's event once");
        bus = home.restart(bus).await;
    }
    assert_eq!(bus.topics().await.unwrap().len(), TOPICS as usize);
    for topic in [0, 1, 2_500, 4_999] {
        assert_eq!(floor(&bus, &format!("many.t{topic}"), "all").await, 2);
    }
    until(async || home.segments().len() == TOPICS as usize).await;
    home.close_sound(bus).await;
}
