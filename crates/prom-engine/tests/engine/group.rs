//! Groups: options agreed on once, listing, deleting, expiry.

use std::time::Duration;

use prom_engine::{Error, ErrorKind, GroupChange, Order, Position};

use crate::support::{World, bus, next, publish_numbers, soon, take_acked, until};

#[tokio::test]
async fn a_subscriber_that_asks_otherwise_is_told_the_option_and_both_values() {
    let bus = bus().await;
    let _first = bus.subscribe("a", "g").order(Order::Key).max_attempts(3).start().await.unwrap();
    let _same = bus.subscribe("a", "g").order(Order::Key).start().await.unwrap();
    let _silent = bus.subscribe("a", "g").start().await.unwrap();
    let error = bus.subscribe("a", "g").order(Order::None).start().await.err().expect("a conflict");
    assert_eq!(error.kind(), ErrorKind::BadRequest);
    let told = error.to_string();
    assert!(told.contains("order = key") && told.contains("asks for none"), "{told}");
    assert!(told.contains("another group's name") && told.contains("prom groups delete g"), "{told}");
}

#[tokio::test]
async fn attempts_waits_and_expiry_are_the_groups_and_a_subscriber_that_asks_otherwise_is_told() {
    let bus = bus().await;
    let _first = bus.subscribe("a", "g").max_attempts(3).start().await.unwrap();
    bus.change_group("a", "g", GroupChange { max_attempts: Some(7), ..GroupChange::default() }).await.unwrap();
    let asks = bus.subscribe("a", "g").max_attempts(3).from(Position::Earliest).expire_after(Duration::from_secs(60));
    let mut other = asks.backoff(Duration::from_millis(1), Duration::from_millis(2)).start().await.unwrap();
    let told: Vec<_> = other.differences().iter().map(|one| (one.option, one.in_use.as_str())).collect();
    assert_eq!(
        told.iter().map(|(option, _)| *option).collect::<Vec<_>>(),
        ["from", "maxAttempts", "backoff", "expireAfter"]
    );
    assert_eq!(told[1].1, "7");
    drop(_first);
    publish_numbers(&bus, "a", 0..1).await;
    assert_eq!(next(&mut other).await.max_attempts(), 7);
    let same = bus.subscribe("a", "g").max_attempts(7).start().await.unwrap();
    assert_eq!(same.differences(), []);
}

#[tokio::test]
async fn two_subscriptions_of_a_group_that_can_meet_need_the_same_options() {
    let bus = bus().await;
    let _pattern = bus.subscribe("orders.*", "g").max_attempts(3).start().await.unwrap();
    let meeting = bus.subscribe("orders.placed", "g").order(Order::Key).start().await;
    assert!(matches!(meeting.err(), Some(Error::OptionConflict { option: "order", .. })));
    let _agreeing = bus.subscribe("orders.placed", "g").start().await.unwrap();
    let _apart = bus.subscribe("mails.sent", "g").max_attempts(4).start().await.unwrap();
    let groups = bus.groups().await.unwrap();
    assert_eq!(groups.len(), 1);
    assert_eq!((groups[0].subscriptions.len(), groups[0].subscribers), (3, 3));
}

#[tokio::test]
async fn options_survive_a_restart() {
    let world = World::new();
    let bus = world.bus().await;
    drop(bus.subscribe("a", "g").order(Order::Key).start().await.unwrap());
    drop(bus);
    let bus = world.bus().await;
    assert!(bus.subscribe("a", "g").order(Order::None).start().await.is_err());
    assert!(bus.subscribe("a", "g").order(Order::Key).start().await.is_ok());
}

#[tokio::test]
async fn subscribers_that_race_to_make_a_group_agree() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..10).await;
    let joins = (0..8).map(|_| bus.subscribe("numbers", "g").from(Position::Earliest).start());
    let members = futures::future::join_all(joins).await;
    assert!(members.iter().all(Result::is_ok));
    assert_eq!(bus.groups().await.unwrap().len(), 1);
}

#[tokio::test]
async fn an_unknown_group_is_an_error_everywhere() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..1).await;
    let _other = bus.subscribe("other", "elsewhere").start().await.unwrap();
    let unknown = |error: Option<Error>| assert!(matches!(error, Some(Error::UnknownGroup { .. })), "{error:?}");
    unknown(bus.cursor("numbers", "unknown").await.err());
    unknown(bus.lag("numbers", "unknown").await.err());
    unknown(bus.why("numbers", "unknown").await.err());
    unknown(bus.set_cursor("numbers", 0, "unknown", Position::Earliest).await.err());
    unknown(bus.delete_group("unknown").await.err());
    let elsewhere = bus.lag("numbers", "elsewhere").await;
    assert!(matches!(elsewhere, Err(Error::NotOfTheGroup { .. })));
}

#[tokio::test]
async fn deleting_a_group_ends_its_subscriptions_and_forgets_its_cursors() {
    let world = World::new();
    let bus = world.bus().await;
    publish_numbers(&bus, "numbers", 0..3).await;
    let mut numbers = bus.subscribe("numbers", "g").from(Position::Earliest).start().await.unwrap();
    take_acked(&mut numbers, 2).await;
    soon(bus.delete_group("g")).await.unwrap();
    assert!(soon(numbers.next()).await.is_none());
    assert!(matches!(numbers.failure(), Some(Error::UnknownGroup { .. })));
    assert!(bus.groups().await.unwrap().is_empty());
    assert!(world.store.cursors(None).await.unwrap().is_empty());
    let mut recreated = bus.subscribe("numbers", "g").from(Position::Earliest).start().await.unwrap();
    assert_eq!(take_acked(&mut recreated, 3).await, [0, 1, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_group_expires_only_when_it_was_not_used_for_long_enough() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..1).await;
    let _kept = bus.subscribe("numbers", "kept").start().await.unwrap();
    let used = bus.subscribe("numbers", "used").expire_after(Duration::from_secs(60)).start().await.unwrap();
    let left = bus.subscribe("numbers", "left").expire_after(Duration::from_secs(60)).start().await.unwrap();
    left.unsubscribe().await;
    tokio::time::sleep(Duration::from_secs(59)).await;
    assert!(bus.expire_groups_now().await.unwrap().is_empty());
    tokio::time::sleep(Duration::from_secs(1)).await;
    let expired: Vec<_> = bus.expire_groups_now().await.unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(expired, ["left"]);
    used.unsubscribe().await;
    tokio::time::sleep(Duration::from_secs(58)).await;
    assert!(bus.expire_groups_now().await.unwrap().is_empty(), "it was in use until a moment ago");
    let names: Vec<_> = bus.groups().await.unwrap().into_iter().map(|group| group.name.to_string()).collect();
    assert_eq!(names, ["kept", "used"]);
}

#[tokio::test(start_paused = true)]
async fn maintenance_runs_by_itself() {
    let world = World::new();
    let bus = world.bus_with(|options| options.maintenance_interval = Some(Duration::from_secs(10))).await;
    bus.subscribe("a", "g").expire_after(Duration::from_secs(5)).start().await.unwrap().unsubscribe().await;
    tokio::time::sleep(Duration::from_secs(11)).await;
    until(async || bus.groups().await.unwrap().is_empty()).await;
}

#[tokio::test(start_paused = true)]
async fn why_names_the_event_its_holder_and_the_last_error() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..2).await;
    let group = bus.subscribe("numbers", "g").from(Position::Earliest).member_id("worker-7");
    let mut numbers = group.start().await.unwrap();
    let held = next(&mut numbers).await;
    let why = soon(bus.why("numbers", "g")).await.unwrap();
    assert!(why.partitions[0].explanation.contains("worker-7"), "{}", why.partitions[0].explanation);
    assert_eq!(why.partitions[0].event, Some(held.id()));
    soon(held.nack("the printer is on fire")).await.unwrap();
    let why = soon(bus.why("numbers", "g")).await.unwrap();
    assert!(why.partitions[0].explanation.contains("printer"), "{}", why.partitions[0].explanation);
    numbers.unsubscribe().await;
    until(async || bus.why("numbers", "g").await.unwrap().partitions[0].status.is_none()).await;
    let lag = bus.lag("numbers", "g").await.unwrap();
    assert_eq!((lag.lag_events, lag.in_flight), (2, 0));
}
