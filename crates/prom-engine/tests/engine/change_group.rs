//! Changing a group that exists: durable, taken over at once, and refused where it would break something.

use std::time::Duration;

use prom_engine::{Backoff, Error, ErrorKind, Expiry, GroupChange, Order, Position};
use tokio::time::Instant;

use crate::support::{World, bus, floor, next, publish_numbers, soon, until};

fn attempts(max_attempts: u32) -> GroupChange {
    GroupChange { max_attempts: Some(max_attempts), ..GroupChange::default() }
}

#[tokio::test(start_paused = true)]
async fn live_subscribers_go_on_under_the_new_options() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..1).await;
    let group = bus.subscribe("numbers", "g").from(Position::Earliest);
    let mut numbers = group.start().await.unwrap();
    let first = next(&mut numbers).await;
    let waits = Backoff { first_ms: 60_000, max_ms: 60_000 };
    let change = GroupChange { backoff: Some(waits), ..attempts(2) };
    bus.change_group("numbers", "g", change).await.unwrap();
    assert_eq!(first.max_attempts(), 2);
    soon(first.nack("not now")).await.unwrap();
    let nacked = Instant::now();
    let second = next(&mut numbers).await;
    assert!(nacked.elapsed() >= Duration::from_secs(45), "{:?}", nacked.elapsed());
    soon(second.nack("never")).await.unwrap();
    until(async || floor(&bus, "numbers", "g").await == 1).await;
    assert_eq!(bus.read("dlq.numbers", 0, 0, 10).await.unwrap().events.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_failed_as_often_as_is_permitted_now_goes_to_the_dead_letters() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..1).await;
    let group = bus.subscribe("numbers", "g").from(Position::Earliest);
    let mut numbers = group.start().await.unwrap();
    soon(next(&mut numbers).await.nack_after("no", Duration::from_secs(3600))).await.unwrap();
    bus.change_group("numbers", "g", attempts(1)).await.unwrap();
    let changed = Instant::now();
    until(async || floor(&bus, "numbers", "g").await == 1).await;
    assert!(changed.elapsed() < Duration::from_secs(60));
}

#[tokio::test]
async fn a_change_survives_a_restart_and_reaches_all_that_share_the_options() {
    let world = World::new();
    let bus = world.bus().await;
    publish_numbers(&bus, "orders.placed", 0..1).await;
    for topic in ["orders.*", "orders.placed", "mails.sent"] {
        let group = bus.subscribe(topic, "g").from(Position::Earliest);
        group.start().await.unwrap().unsubscribe().await;
    }
    bus.change_group("orders.shipped", "g", attempts(9)).await.unwrap();
    drop(bus);

    let bus = world.bus().await;
    let groups = bus.groups().await.unwrap();
    let agreed = groups[0].subscriptions.iter();
    let agreed: Vec<_> = agreed.map(|one| (one.topics[0].as_str(), one.options.max_attempts)).collect();
    assert_eq!(agreed, [("orders.*", Some(9)), ("orders.placed", Some(9)), ("mails.sent", None)]);
    let mut orders = bus.subscribe("orders.*", "g").max_attempts(9).start().await.unwrap();
    assert_eq!(next(&mut orders).await.max_attempts(), 9);
}

#[tokio::test]
async fn topics_that_come_later_are_read_under_the_new_options() {
    let bus = bus().await;
    let mut orders = bus.subscribe("orders.*", "g").start().await.unwrap();
    bus.change_group("orders.*", "g", attempts(9)).await.unwrap();
    publish_numbers(&bus, "orders.placed", 0..1).await;
    assert_eq!(next(&mut orders).await.max_attempts(), 9);
}

#[tokio::test(start_paused = true)]
async fn expiry_can_be_set_and_taken_away() {
    let bus = bus().await;
    bus.subscribe("numbers", "g").start().await.unwrap().unsubscribe().await;
    tokio::time::sleep(Duration::from_secs(100)).await;
    let expiring = |expire_after| GroupChange { expire_after: Some(expire_after), ..GroupChange::default() };
    let after = Expiry::After(Duration::from_secs(60));
    bus.change_group("numbers", "g", expiring(after)).await.unwrap();
    assert!(bus.expire_groups_now().await.unwrap().is_empty(), "its time begins now");
    bus.change_group("numbers", "g", expiring(Expiry::Never)).await.unwrap();
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert!(bus.expire_groups_now().await.unwrap().is_empty());
    bus.change_group("numbers", "g", expiring(after)).await.unwrap();
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert_eq!(bus.expire_groups_now().await.unwrap().len(), 1);
}

#[tokio::test]
async fn what_a_group_keeps_for_life_is_refused_with_the_reason() {
    let bus = bus().await;
    let _numbers = bus.subscribe("numbers", "g").start().await.unwrap();
    let order = GroupChange { order: Some(Order::Key), ..attempts(3) };
    let refused = bus.change_group("numbers", "g", order).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::BadRequest);
    assert!(refused.to_string().contains("another group"), "{refused}");
    let refused = bus.change_group("numbers", "g", attempts(0)).await.unwrap_err();
    assert!(matches!(refused, Error::BadOption { .. }), "{refused}");
    let options = bus.groups().await.unwrap().remove(0).subscriptions.remove(0).options;
    assert_eq!(options.max_attempts, None, "nothing was changed");

    let unknown = bus.change_group("numbers", "unknown", attempts(3)).await.unwrap_err();
    assert!(matches!(unknown, Error::UnknownGroup { .. }), "{unknown}");
    let elsewhere = bus.change_group("letters", "g", attempts(3)).await.unwrap_err();
    assert!(matches!(elsewhere, Error::NotOfTheGroup { .. }), "{elsewhere}");
}
