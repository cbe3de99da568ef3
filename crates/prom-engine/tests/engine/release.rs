//! Telling stuck from slow, and getting events back from a holder that is stuck.

use std::time::Duration;

use prom_engine::{Error, EventPlace, LeasesOf, Position};
use serde_json::{Value, json};

use crate::support::{bus, next, publish_numbers, soon, take_acked};

#[tokio::test(start_paused = true)]
async fn why_says_who_holds_an_event_for_how_long_and_what_to_type() {
    let bus = bus().await;
    bus.publish("numbers", json!(1)).key("k7").await.unwrap();
    let slow = bus.subscribe("numbers", "g").from(Position::Earliest).member_id("worker 3");
    let mut slow = slow.origin(Some("alpha".into()), Some("10.0.0.7:4711".into())).start().await.unwrap();
    let held = next(&mut slow).await;
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_secs(20)).await;
        held.modack(Duration::from_secs(30)).await.unwrap();
    }
    let why = bus.why("numbers", "g").await.unwrap();
    let lease = &why.partitions[0].held[0];
    assert_eq!((lease.offset, lease.key.as_deref(), lease.renewals), (0, Some("k7"), 3));
    assert_eq!((lease.member.as_str(), lease.subject.as_deref()), ("worker 3", Some("alpha")));
    assert_eq!(lease.address.as_deref(), Some("10.0.0.7:4711"));
    assert!(lease.held_for >= Duration::from_secs(60), "{:?}", lease.held_for);
    let explanation = &why.partitions[0].explanation;
    assert!(explanation.contains("renewed 3 times") && explanation.contains("worker 3"), "{explanation}");
    let commands: Vec<&str> = why.partitions[0].actions.iter().map(|action| action.command.as_str()).collect();
    let expected = [
        "prom groups release numbers g 0",
        "prom groups kick g 'worker 3'",
        "prom groups show g",
        "prom skip numbers g 0",
    ];
    assert_eq!(commands, expected);
    let members = bus.members(&"g".parse_group()).await.unwrap();
    assert_eq!((members.len(), members[0].member.as_str(), members[0].in_flight), (1, "worker 3", 1));
    assert!(members[0].oldest_lease.unwrap() >= Duration::from_secs(60));
}

trait ParseGroup {
    fn parse_group(&self) -> prom_types::GroupName;
}

impl ParseGroup for str {
    fn parse_group(&self) -> prom_types::GroupName {
        prom_types::GroupName::parse(self).unwrap()
    }
}

#[tokio::test]
async fn a_released_event_goes_to_another_and_its_old_holder_settles_nothing() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..1).await;
    let stuck = bus.subscribe("numbers", "g").from(Position::Earliest).member_id("stuck").max_in_flight(1);
    let mut stuck = stuck.start().await.unwrap();
    let held = next(&mut stuck).await;
    stuck.pause().await;
    let mut other = bus.subscribe("numbers", "g").member_id("other").start().await.unwrap();
    let none = bus.release("numbers", "g", LeasesOf::Member("other".into())).await.unwrap();
    assert_eq!(none, []);
    let unknown = bus.release("numbers", "g", LeasesOf::Member("nobody".into())).await;
    assert!(matches!(unknown, Err(Error::UnknownMember { .. })), "{unknown:?}");
    let place = LeasesOf::Event(EventPlace::Offset { partition: 0, offset: 0 });
    let released = soon(bus.acting_for(Some("alpha")).release("numbers", "g", place)).await.unwrap();
    assert_eq!((released.len(), released[0].offset, released[0].member.as_deref()), (1, 0, Some("stuck")));
    let again = next(&mut other).await;
    assert_eq!(again.attempt(), 1, "a return is no attempt");
    assert!(matches!(soon(held.ack()).await, Err(Error::NotLeased { .. })));
    assert_eq!(bus.lag("numbers", "g").await.unwrap().lag_events, 1, "the late ack settled nothing");
    soon(again.ack()).await.unwrap();
    let page = bus.read("system.audit", 0, 0, 10).await.unwrap();
    let audited: Value = page.events[0].payload().unwrap();
    assert_eq!((&audited["action"], &audited["subject"]), (&json!("release"), &json!("alpha")));
}

#[tokio::test]
async fn a_kicked_member_hears_why_and_what_it_held_goes_to_others_at_once() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..3).await;
    let stuck = bus.subscribe("numbers", "g").from(Position::Earliest).member_id("stuck");
    let mut stuck = stuck.start().await.unwrap();
    let held = next(&mut stuck).await;
    let mut other = bus.subscribe("numbers", "g").member_id("other").start().await.unwrap();
    assert!(matches!(bus.kick("g", "nobody").await, Err(Error::UnknownMember { .. })));
    assert!(matches!(bus.kick("none", "stuck").await, Err(Error::UnknownGroup { .. })));
    let kicked = soon(bus.kick("g", "stuck")).await.unwrap();
    assert_eq!(kicked.subscriptions, 1);
    assert!(matches!(soon(held.ack()).await, Err(Error::NotLeased { .. })), "what it still settles does not count");
    let mut taken = take_acked(&mut other, 3).await;
    taken.sort_unstable();
    assert_eq!(taken, [0, 1, 2]);
    assert!(soon(stuck.next()).await.is_none());
    assert!(matches!(stuck.failure(), Some(Error::Kicked { .. })));
    assert_eq!(bus.members(&"g".parse_group()).await.unwrap().len(), 1);
}
