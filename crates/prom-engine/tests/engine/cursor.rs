//! Moving a cursor: back it fences, forward it keeps what is settled; it is audited; what is refused changes nothing.

use std::time::Duration;

use prom_engine::{Bus, CursorMove, Error, EventPlace, GroupChange, Order, Position};
use prom_types::EventId;
use serde_json::json;

use crate::support::{bus, floor, next, publish_numbers, soon, stays_silent, take_acked, until};

#[tokio::test]
async fn rewinding_delivers_again_and_fences_what_is_in_flight() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..4).await;
    let mut numbers = bus.subscribe("numbers", "g").from(Position::Earliest).start().await.unwrap();
    assert_eq!(take_acked(&mut numbers, 2).await, [0, 1]);
    let fenced = next(&mut numbers).await;
    assert_eq!(soon(bus.set_cursor("numbers", 0, "g", Position::Offset(1))).await.unwrap().after, 1);
    assert!(matches!(soon(fenced.ack()).await, Err(Error::NotLeased { .. })));
    assert_eq!(take_acked(&mut numbers, 3).await, [1, 2, 3]);
    assert_eq!(floor(&bus, "numbers", "g").await, 4);
}

#[tokio::test]
async fn a_move_from_where_the_group_no_longer_stands_is_refused_and_changes_nothing() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..4).await;
    let mut numbers = bus.subscribe("numbers", "g").from(Position::Earliest).start().await.unwrap();
    let seen = bus.preview_cursor("numbers", 0, "g", Position::Latest).await.unwrap();
    assert_eq!(take_acked(&mut numbers, 2).await, [0, 1]);
    let refused = soon(bus.set_cursor_from("numbers", 0, "g", Position::Latest, seen.before)).await;
    assert!(matches!(refused, Err(Error::CursorElsewhere { expected: 0, actual: 2, .. })), "{refused:?}");
    assert_eq!(take_acked(&mut numbers, 2).await, [2, 3]);
    assert_eq!(soon(bus.set_cursor_from("numbers", 0, "g", Position::Earliest, 4)).await.unwrap().come_again, 4);
    assert_eq!(take_acked(&mut numbers, 1).await, [0]);
}

#[tokio::test(start_paused = true)]
async fn skipping_to_the_end_leaves_nothing_to_deliver() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..4).await;
    let mut numbers = bus.subscribe("numbers", "g").from(Position::Earliest).start().await.unwrap();
    let held = next(&mut numbers).await;
    soon(bus.set_cursor("numbers", 0, "g", Position::Latest)).await.unwrap();
    assert!(stays_silent(&mut numbers, Duration::from_millis(100)).await);
    assert_eq!(bus.lag("numbers", "g").await.unwrap().lag_events, 0);
    drop(held);
    publish_numbers(&bus, "numbers", 4..5).await;
    assert_eq!(take_acked(&mut numbers, 1).await, [4]);
}

#[tokio::test]
async fn a_cursor_is_moved_also_without_subscribers() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..4).await;
    let group = bus.subscribe("numbers", "g").from(Position::Earliest);
    let mut numbers = group.clone().start().await.unwrap();
    take_acked(&mut numbers, 4).await;
    let third = bus.read("numbers", 0, 2, 1).await.unwrap().events[0].id();
    numbers.unsubscribe().await;
    until(async || bus.why("numbers", "g").await.unwrap().partitions[0].status.is_none()).await;
    soon(bus.set_cursor("numbers", 0, "g", Position::AfterId(third))).await.unwrap();
    assert_eq!(floor(&bus, "numbers", "g").await, 3);
    let mut numbers = group.start().await.unwrap();
    assert_eq!(take_acked(&mut numbers, 1).await, [3]);
}

#[tokio::test]
async fn a_position_beyond_the_end_is_refused_and_nothing_changes() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..4).await;
    let mut numbers = bus.subscribe("numbers", "g").from(Position::Earliest).start().await.unwrap();
    let held = next(&mut numbers).await;
    let before = bus.cursor("numbers", "g").await.unwrap();
    let refused = bus.set_cursor("numbers", 0, "g", Position::Offset(5)).await;
    assert!(matches!(refused, Err(Error::CursorBeyondEnd { asked: 5, next: 4, .. })));
    let unknown = bus.set_cursor("numbers", 0, "g", Position::AfterId(EventId::derived("?"))).await;
    assert!(matches!(unknown, Err(Error::UnknownEvent { .. })));
    assert!(bus.set_cursor("numbers", 1, "g", Position::Earliest).await.is_err());
    assert_eq!(bus.cursor("numbers", "g").await.unwrap(), before);
    assert!(matches!(bus.read("system.audit", 0, 0, 1).await, Err(Error::UnknownTopic { .. })));
    soon(held.ack()).await.expect("nothing was fenced");
}

#[tokio::test]
async fn a_moved_cursor_is_in_the_audit_trail() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..4).await;
    let mut numbers = bus.subscribe("numbers", "g").from(Position::Earliest).start().await.unwrap();
    take_acked(&mut numbers, 3).await;
    soon(bus.set_cursor("numbers", 0, "g", Position::Earliest)).await.unwrap();
    let page = bus.read("system.audit", 0, 0, 10).await.unwrap();
    let entry: serde_json::Value = page.events[0].payload().unwrap();
    assert_eq!(entry["action"], "set_cursor");
    assert_eq!((&entry["group"], &entry["before"], &entry["after"]), (&"g".into(), &3.into(), &0.into()));
}

#[tokio::test(start_paused = true)]
async fn moving_forward_hands_out_nothing_that_was_acked() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..6).await;
    let mut numbers = bus.subscribe("numbers", "g").from(Position::Earliest).start().await.unwrap();
    let stuck = next(&mut numbers).await;
    let held = next(&mut numbers).await;
    assert_eq!(take_acked(&mut numbers, 3).await, [2, 3, 4]);
    soon(bus.set_cursor("numbers", 0, "g", Position::Offset(1))).await.unwrap();
    assert_eq!(take_acked(&mut numbers, 1).await, [5]);
    soon(held.ack()).await.expect("what lies beyond the new floor stays leased");
    soon(stuck.ack()).await.expect("the skipped event counts as settled");
    assert_eq!(floor(&bus, "numbers", "g").await, 6);
    assert!(stays_silent(&mut numbers, Duration::from_secs(3600)).await);
}

#[tokio::test]
async fn a_preview_tells_what_the_move_then_does() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..8).await;
    let mut numbers = bus.subscribe("numbers", "g").from(Position::Earliest).start().await.unwrap();
    take_acked(&mut numbers, 2).await;
    let stuck = next(&mut numbers).await;
    take_acked(&mut numbers, 3).await;
    // Settled: 0, 1, 3, 4, 5.
    for (to, come_again, skipped) in [(2, 3, 0), (0, 5, 0), (3, 0, 1), (8, 0, 3)] {
        let expected = CursorMove { partition: 0, before: 2, after: to, come_again, skipped };
        assert_eq!(bus.preview_cursor("numbers", 0, "g", Position::Offset(to)).await.unwrap(), expected);
    }
    assert!(bus.preview_cursor("numbers", 0, "g", Position::Offset(9)).await.is_err());
    soon(stuck.ack()).await.expect("a preview fences nothing");
    let preview = bus.preview_cursor("numbers", 0, "g", Position::Offset(1)).await.unwrap();
    assert_eq!(soon(bus.set_cursor("numbers", 0, "g", Position::Offset(1))).await.unwrap(), preview);
    assert_eq!((preview.before, preview.come_again), (6, 5));
}

/// The payloads of the audit trail, oldest first.
async fn trail(bus: &Bus) -> Vec<serde_json::Value> {
    let page = bus.read("system.audit", 0, 0, 100).await.unwrap();
    page.events.iter().map(|event| event.payload().unwrap()).collect()
}

#[tokio::test]
async fn the_audit_trail_says_who_moved_skipped_changed_and_deleted() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..4).await;
    let _numbers = bus.subscribe("numbers", "g").from(Position::Earliest).start().await.unwrap();
    let operator = bus.acting_for(Some("operator@example.com"));
    let first = bus.read("numbers", 0, 0, 1).await.unwrap().events[0].id();
    soon(operator.skip("numbers", "g", EventPlace::Id(first))).await.unwrap();
    soon(operator.set_cursor("numbers", 0, "g", Position::Latest)).await.unwrap();
    let change = GroupChange { max_attempts: Some(3), ..GroupChange::default() };
    operator.change_group("numbers", "g", change).await.unwrap();
    soon(operator.delete_group("g")).await.unwrap();
    let entries = trail(&bus).await;
    let actions: Vec<_> = entries.iter().map(|entry| entry["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["skip", "set_cursor", "change_group", "delete_group"]);
    for entry in &entries {
        assert_eq!((&entry["subject"], &entry["group"]), (&"operator@example.com".into(), &"g".into()), "{entry}");
    }
    assert_eq!((&entries[0]["offset"], &entries[0]["id"]), (&0.into(), &first.to_string().into()));
    assert_eq!(
        (&entries[1]["before"], &entries[1]["after"], &entries[1]["skipped"]),
        (&1.into(), &4.into(), &3.into())
    );
    assert_ne!(entries[2]["before"][0]["options"], entries[2]["after"][0]["options"]);
    assert_eq!(entries[3]["before"], entries[2]["after"]);
}

#[tokio::test(start_paused = true)]
async fn a_skipped_event_comes_no_more_and_lets_its_key_go_on() {
    let bus = bus().await;
    for number in 0..3 {
        bus.publish("numbers", json!(number)).key("one").await.unwrap();
    }
    let group = bus.subscribe("numbers", "g").from(Position::Earliest).order(Order::Key);
    let mut numbers = group.start().await.unwrap();
    let poison = next(&mut numbers).await;
    assert!(stays_silent(&mut numbers, Duration::from_secs(1)).await, "its key waits for it");
    let place = EventPlace::Offset { partition: 0, offset: 0 };
    let skipped = soon(bus.skip("numbers", "g", place)).await.unwrap();
    assert_eq!((skipped.offset, skipped.id, skipped.already_settled), (0, Some(poison.id()), false));
    assert_eq!(floor(&bus, "numbers", "g").await, 1);
    assert_eq!(take_acked(&mut numbers, 2).await, [1, 2]);
    soon(poison.nack("poison")).await.expect("it is settled, so there is nothing to refuse");
    assert!(stays_silent(&mut numbers, Duration::from_secs(3600)).await);
    assert!(soon(bus.skip("numbers", "g", place)).await.unwrap().already_settled);
    assert_eq!(trail(&bus).await.len(), 1, "what changes nothing leaves no entry");
}

#[tokio::test(start_paused = true)]
async fn events_that_wait_to_be_taken_or_read_are_skipped_too() {
    let bus = bus().await;
    publish_numbers(&bus, "numbers", 0..5).await;
    let group = bus.subscribe("numbers", "g").from(Position::Earliest);
    let mut numbers = group.clone().start().await.unwrap();
    let first = next(&mut numbers).await;
    // Leased and in the queue of the subscriber.
    soon(bus.skip("numbers", "g", EventPlace::Offset { partition: 0, offset: 1 })).await.unwrap();
    soon(first.ack()).await.unwrap();
    assert_eq!(take_acked(&mut numbers, 1).await, [2]);
    numbers.unsubscribe().await;
    until(async || bus.why("numbers", "g").await.unwrap().partitions[0].status.is_none()).await;
    // Not even read: nothing runs.
    soon(bus.skip("numbers", "g", EventPlace::Offset { partition: 0, offset: 4 })).await.unwrap();
    let mut numbers = group.start().await.unwrap();
    assert_eq!(take_acked(&mut numbers, 1).await, [3]);
    assert_eq!(floor(&bus, "numbers", "g").await, 5);
    assert!(stays_silent(&mut numbers, Duration::from_secs(3600)).await);
    let beyond = bus.skip("numbers", "g", EventPlace::Offset { partition: 0, offset: 5 }).await;
    assert!(matches!(beyond, Err(Error::CursorBeyondEnd { asked: 5, next: 5, .. })));
    let unknown = bus.skip("numbers", "g", EventPlace::Id(EventId::derived("?"))).await;
    assert!(matches!(unknown, Err(Error::UnknownEvent { .. })));
}
