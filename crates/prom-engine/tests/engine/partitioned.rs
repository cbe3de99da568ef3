//! Partitions with owners: each event to the owner of its partition, in order, also while members come and go.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::time::Duration;

use prom_engine::{AssignmentChange, Bus, Error, Item, Mode, Order, Position, Subscription, TopicSettings};
use prom_types::partition_of;
use serde_json::json;

use crate::faults::Stubborn;
use crate::support::{World, bus, next, publish_numbers, soon, stays_silent, until};

async fn topic(bus: &Bus, partitions: u32) {
    bus.create_topic(TopicSettings::new("orders").unwrap().partitions(partitions)).await.unwrap();
}

async fn join(bus: &Bus, member: &str) -> Subscription {
    let subscribe = bus.subscribe("orders", "g").mode(Mode::Partitioned).from(Position::Earliest);
    subscribe.member_id(member).tell_assignments().start().await.unwrap()
}

async fn join_virtual(bus: &Bus, member: &str, partitions: u32) -> Subscription {
    let subscribe = bus.subscribe("orders", "g").partitions(partitions).from(Position::Earliest);
    subscribe.member_id(member).tell_assignments().start().await.unwrap()
}

/// Who owns what, once nothing moves and this many members share everything.
async fn owners(bus: &Bus, members: usize) -> BTreeMap<u32, String> {
    let settled = async || {
        let Some(owners) = bus.partition_owners("orders", "g").await.unwrap() else { return false };
        let moving = owners.partitions.iter().any(|one| one.moving_to.is_some() || one.owner.is_none());
        owners.members.len() == members && !moving
    };
    until(settled).await;
    let owners = bus.partition_owners("orders", "g").await.unwrap().unwrap();
    owners.partitions.into_iter().map(|one| (one.partition, one.owner.unwrap())).collect()
}

fn owned(owners: &BTreeMap<u32, String>, member: &str) -> BTreeSet<u32> {
    owners.iter().filter(|(_, owner)| *owner == member).map(|(partition, _)| *partition).collect()
}

/// Publishes numbers, each with a key of its own.
async fn publish_keyed(bus: &Bus, numbers: std::ops::Range<u64>) {
    for number in numbers {
        bus.publish("orders", json!(number)).key(format!("key-{number}")).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn each_partition_goes_to_one_member_in_order() {
    let bus = bus().await;
    topic(&bus, 8).await;
    let (mut alpha, mut beta) = (join(&bus, "alpha").await, join(&bus, "beta").await);
    let owners = owners(&bus, 2).await;
    assert_eq!((owned(&owners, "alpha").len(), owned(&owners, "beta").len()), (4, 4));
    publish_keyed(&bus, 0..200).await;
    let mut last: BTreeMap<u32, u64> = BTreeMap::new();
    for (member, name) in [(&mut alpha, "alpha"), (&mut beta, "beta")] {
        let theirs = owned(&owners, name);
        let expected = (0..200).filter(|number| theirs.contains(&partition_of(&format!("key-{number}"), 8))).count();
        for _ in 0..expected {
            let delivery = next(member).await;
            assert!(theirs.contains(&delivery.partition()), "{name} got partition {}", delivery.partition());
            let before = last.insert(delivery.partition(), delivery.offset());
            assert_eq!(before.map_or(0, |before| before + 1), delivery.offset());
            soon(delivery.ack()).await.unwrap();
        }
        assert!(stays_silent(member, Duration::from_secs(5)).await);
    }
    until(async || bus.lag("orders", "g").await.unwrap().lag_events == 0).await;
}

#[tokio::test(start_paused = true)]
async fn a_member_that_joins_gets_its_share_when_the_owner_has_finished_and_no_other_partition_moves() {
    let bus = bus().await;
    topic(&bus, 4).await;
    let mut alpha = join(&bus, "alpha").await;
    owners(&bus, 1).await;
    publish_keyed(&bus, 0..40).await;
    let mut held = Vec::new();
    for _ in 0..40 {
        held.push(next(&mut alpha).await);
    }
    let mut beta = join(&bus, "beta").await;
    // What alpha holds is hers until she has finished it.
    assert!(stays_silent(&mut beta, Duration::from_secs(2)).await);
    publish_keyed(&bus, 40..80).await;
    let moving = bus.partition_owners("orders", "g").await.unwrap().unwrap();
    let moved: BTreeSet<u32> =
        moving.partitions.iter().filter(|one| one.moving_to.is_some()).map(|one| one.partition).collect();
    assert_eq!(moved.len(), 2);
    for delivery in held {
        soon(delivery.ack()).await.unwrap();
    }
    let after = owners(&bus, 2).await;
    assert_eq!(owned(&after, "beta"), moved);
    let delivery = next(&mut beta).await;
    assert!(moved.contains(&delivery.partition()), "{}", delivery.partition());
    soon(delivery.ack()).await.unwrap();
    let epochs = bus.partition_owners("orders", "g").await.unwrap().unwrap();
    for (before, after) in moving.partitions.iter().zip(&epochs.partitions) {
        assert_eq!(after.epoch - before.epoch, u64::from(moved.contains(&after.partition)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_member_that_leaves_gives_everything_back_and_the_others_get_it() {
    let bus = bus().await;
    topic(&bus, 6).await;
    let (mut alpha, mut beta) = (join(&bus, "alpha").await, join(&bus, "beta").await);
    owners(&bus, 2).await;
    publish_keyed(&bus, 0..60).await;
    let held = next(&mut beta).await;
    beta.unsubscribe().await;
    owners(&bus, 1).await;
    let mut seen = BTreeSet::new();
    while seen.len() < 60 {
        let delivery = next(&mut alpha).await;
        seen.insert(delivery.payload::<u64>().unwrap());
        soon(delivery.ack()).await.unwrap();
    }
    assert!(soon(held.ack()).await.is_ok(), "it is settled by another, which is fine");
}

#[tokio::test(start_paused = true)]
async fn an_owner_that_does_not_finish_in_time_is_fenced_and_no_attempt_is_counted() {
    let bus = bus().await;
    topic(&bus, 2).await;
    let mut alpha = join(&bus, "alpha").await;
    owners(&bus, 1).await;
    publish_keyed(&bus, 0..20).await;
    let mut held = Vec::new();
    for _ in 0..20 {
        held.push(next(&mut alpha).await);
    }
    let mut beta = join(&bus, "beta").await;
    let after = owners(&bus, 2).await;
    let moved = *owned(&after, "beta").first().unwrap();
    let delivery = next(&mut beta).await;
    assert_eq!((delivery.partition(), delivery.attempt()), (moved, 1));
    for late in &held {
        match soon(late.ack()).await {
            Ok(()) => assert_ne!(late.partition(), moved),
            Err(Error::Revoked { partition, .. }) => assert_eq!(partition, moved),
            Err(other) => panic!("{other}"),
        }
    }
    soon(delivery.ack()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_member_that_is_not_heard_within_its_time_loses_its_partitions_and_its_acks_are_fenced() {
    let bus = bus().await;
    topic(&bus, 4).await;
    let silent = bus.subscribe("orders", "g").mode(Mode::Partitioned).from(Position::Earliest).member_id("silent");
    let mut silent = silent.ttl(Duration::from_secs(15)).start().await.unwrap();
    let control = silent.control();
    let mut other = join(&bus, "other").await;
    owners(&bus, 2).await;
    publish_keyed(&bus, 0..40).await;
    let held = next(&mut silent).await;
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_secs(5)).await;
        control.heartbeat(bus.clock().monotonic());
        assert!(!control.is_ended(), "it is heard");
    }
    let began = bus.clock().monotonic();
    until(async || control.is_ended()).await;
    let silence = bus.clock().monotonic() - began;
    assert!(silence > Duration::from_secs(14) && silence < Duration::from_secs(16), "{silence:?}");
    assert!(matches!(silent.failure(), Some(Error::MemberExpired { .. })));
    assert_eq!(owned(&owners(&bus, 1).await, "other").len(), 4);
    assert!(matches!(soon(held.ack()).await, Err(Error::Revoked { .. })));
    let mut seen = BTreeSet::new();
    while seen.len() < 40 {
        let delivery = next(&mut other).await;
        seen.insert(delivery.payload::<u64>().unwrap());
        soon(delivery.ack()).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn epochs_rise_across_restarts_of_the_bus() {
    let world = World::new();
    let mut last = 0;
    for _ in 0..3 {
        let bus = world.bus().await;
        topic(&bus, 2).await;
        for _ in 0..3 {
            let alpha = join(&bus, "alpha").await;
            owners(&bus, 1).await;
            let epochs = bus.partition_owners("orders", "g").await.unwrap().unwrap();
            let lowest = epochs.partitions.iter().map(|one| one.epoch).min().unwrap();
            assert!(lowest > last, "{lowest} after {last}");
            last = epochs.partitions.iter().map(|one| one.epoch).max().unwrap();
            alpha.unsubscribe().await;
        }
        drop(bus);
    }
}

#[tokio::test(start_paused = true)]
async fn a_group_divides_a_topic_of_one_partition_and_settles_in_its_one_cursor() {
    let bus = bus().await;
    publish_keyed(&bus, 0..300).await;
    let mut members = Vec::new();
    for name in ["alpha", "beta", "carla"] {
        members.push((name, join_virtual(&bus, name, 16).await));
    }
    let owners = owners(&bus, 3).await;
    assert_eq!(owners.len(), 16);
    let mut seen = BTreeSet::new();
    for (name, member) in &mut members {
        let theirs = owned(&owners, name);
        let mut last: BTreeMap<u32, u64> = BTreeMap::new();
        while let Ok(Some(delivery)) = tokio::time::timeout(Duration::from_secs(1), member.next()).await {
            let partition = partition_of(delivery.key().unwrap(), 16);
            assert!(theirs.contains(&partition), "{name} got {partition}");
            assert!(last.insert(partition, delivery.offset()).is_none_or(|before| before < delivery.offset()));
            seen.insert(delivery.offset());
            soon(delivery.ack()).await.unwrap();
        }
    }
    assert_eq!(seen.len(), 300);
    let cursors = bus.cursor("orders", "g").await.unwrap();
    assert_eq!((cursors.len(), cursors[0].offset), (1, 300));
}

#[tokio::test(start_paused = true)]
async fn a_stuck_owner_of_a_virtual_partition_holds_back_no_other_and_why_names_it() {
    let bus = bus().await;
    let stuck = bus.subscribe("orders", "g").partitions(8).from(Position::Earliest).member_id("stuck");
    let mut stuck = stuck.max_in_flight(1).ack_timeout(Duration::from_secs(3600)).start().await.unwrap();
    publish_keyed(&bus, 0..1).await;
    let mut busy = join_virtual(&bus, "busy", 8).await;
    let owners = owners(&bus, 2).await;
    let theirs = owned(&owners, "busy");
    publish_keyed(&bus, 1..5000).await;
    let held = next(&mut stuck).await;
    let is_busy = |number: &u64| theirs.contains(&partition_of(&format!("key-{number}"), 8));
    for number in (1..5000).filter(is_busy) {
        let delivery = next(&mut busy).await;
        assert_eq!(delivery.attempt(), 1, "{number}");
        soon(delivery.ack()).await.unwrap();
    }
    let why = bus.why("orders", "g").await.unwrap();
    let explanation = &why.partitions[0].explanation;
    // The oldest is the one it holds, or waits behind it in another of its partitions.
    let reason =
        if held.offset() == why.partitions[0].floor { "is with stuck" } else { "room in a subscriber's window" };
    assert!(explanation.contains(reason) && explanation.contains("belongs to stuck"), "{explanation}");
    assert!(why.owners.unwrap().virtual_partitions);
    drop(held);
}

#[tokio::test(start_paused = true)]
async fn a_member_hears_which_partitions_come_before_their_events_and_which_go() {
    let bus = bus().await;
    topic(&bus, 4).await;
    publish_keyed(&bus, 0..40).await;
    let mut alpha = join(&bus, "alpha").await;
    let mut mine: BTreeSet<u32> = BTreeSet::new();
    let hear = |mine: &mut BTreeSet<u32>, change: AssignmentChange| match change {
        AssignmentChange::Assigned { partitions, .. } => mine.extend(partitions),
        AssignmentChange::Revoked { partitions, .. } => mine.retain(|one| !partitions.contains(one)),
    };
    let mut seen = 0;
    while seen < 40 {
        match soon(alpha.next_item()).await.unwrap() {
            Item::Assignment(change) => hear(&mut mine, change),
            Item::Delivery(delivery) => {
                assert!(mine.contains(&delivery.partition()), "{delivery:?} came before it was told");
                seen += 1;
                soon(delivery.ack()).await.unwrap();
            }
            Item::Gap(gap) => panic!("{gap:?}"),
        }
    }
    let _ben = join(&bus, "beta").await;
    while mine.len() > 2 {
        let Some(Item::Assignment(change)) = soon(alpha.next_item()).await else { panic!("nothing is told") };
        assert!(matches!(change, AssignmentChange::Revoked { .. }), "{change:?}");
        hear(&mut mine, change);
    }
    assert_eq!(mine, owned(&owners(&bus, 2).await, "alpha"));
}

#[tokio::test(start_paused = true)]
async fn partitions_that_are_added_get_owners_and_the_change_is_audited() {
    let bus = bus().await;
    topic(&bus, 2).await;
    let mut alpha = join(&bus, "alpha").await;
    owners(&bus, 1).await;
    topic(&bus, 5).await;
    assert_eq!(owners(&bus, 1).await.len(), 5);
    bus.publish("orders", json!(1)).partition(4).await.unwrap();
    assert_eq!(next(&mut alpha).await.partition(), 4);
    let mut audit = bus.tail("system.audit").from(Position::Earliest).start().await.unwrap();
    let event = soon(audit.next()).await.unwrap().unwrap();
    let payload: serde_json::Value = event.payload().unwrap();
    assert_eq!(
        (&payload["action"], &payload["before"], &payload["after"]),
        (&json!("raise_partitions"), &json!(2), &json!(5))
    );
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_is_refused_with_the_reason() {
    let bus = bus().await;
    topic(&bus, 3).await;
    let refused = |result: Result<Subscription, Error>, word: &str| {
        let told = result.err().expect("refused").to_string();
        assert!(told.contains(word), "{told}");
    };
    refused(bus.subscribe("orders", "a").partitions(8).start().await, "partitions of its own");
    refused(bus.subscribe("other", "a").partitions(8).mode(Mode::Shared).start().await, "partitioned");
    refused(bus.subscribe("other", "a").partitions(0).start().await, "1 and 1024");
    refused(bus.subscribe("orders", "a").weight(5000).start().await, "weight");
    refused(bus.subscribe("orders", "a").ttl(Duration::from_millis(1)).start().await, "300 ms");
    let _first = join(&bus, "alpha").await;
    refused(bus.subscribe("orders", "g").mode(Mode::Shared).start().await, "mode = partitioned");
    publish_numbers(&bus, "one", 0..1).await;
    let _divides = bus.subscribe("one", "h").partitions(4).start().await.unwrap();
    let raised = bus.create_topic(TopicSettings::new("one").unwrap().partitions(2)).await;
    assert!(matches!(raised, Err(Error::TopicChange { .. })), "{raised:?}");
    let beyond = bus.publish("orders", json!(1)).partition(3).await;
    assert!(matches!(beyond, Err(Error::Invalid(_))), "{beyond:?}");
}

#[tokio::test(start_paused = true)]
async fn a_topic_is_divided_by_a_group_or_gets_more_partitions_never_both() {
    for pattern in ["one", "*"] {
        for first in ["group", "raise"] {
            let (store, world) = Stubborn::new();
            store.set(|faults| faults.is_shared = true);
            let (raising, dividing) = (world.bus().await, world.bus().await);
            raising.publish("one", json!(0)).await.unwrap();
            dividing.topic("one").await.unwrap();
            store.hold();
            let raise = async { raising.create_topic(TopicSettings::new("one").unwrap().partitions(2)).await };
            let divide = dividing.subscribe(pattern, "g").partitions(4).start();
            let (mut raise, mut divide) = (std::pin::pin!(raise), std::pin::pin!(divide));
            // Both pass their checks; neither is stored yet.
            if first == "group" {
                held_with(&store, 1, &mut divide).await;
                held_with(&store, 2, &mut raise).await;
            } else {
                held_with(&store, 1, &mut raise).await;
                held_with(&store, 2, &mut divide).await;
            }
            let (_, raised, divided) = soon(async { tokio::join!(store.go_on(), raise, divide) }).await;
            match (first, &raised, &divided) {
                ("group", Err(Error::TopicChange { .. }), Ok(_)) => {}
                ("raise", Ok(()), Err(Error::BadOption { .. })) => {}
                // A pattern is not refused: it reads such a topic by the partitions that the topic has.
                ("raise", Ok(()), Ok(_)) if pattern == "*" => {}
                _ => panic!("{pattern}, {first} first: {raised:?}, {:?}", divided.err()),
            }
        }
    }
}

/// Goes on with `work` until this many commits wait.
async fn held_with<T>(store: &Stubborn, commits: usize, work: &mut (impl Future<Output = T> + Unpin)) {
    tokio::select! {
        _ = work => panic!("it did not wait for its commit"),
        () = until(async || store.commits_held() == commits) => {}
    }
}

#[tokio::test(start_paused = true)]
async fn pins_and_weights_decide_who_gets_how_much() {
    let bus = bus().await;
    topic(&bus, 12).await;
    let start = |member: &'static str, weight: u32, pins: &'static [u32]| {
        let subscribe = bus.subscribe("orders", "g").mode(Mode::Partitioned).member_id(member);
        subscribe.weight(weight).pin(pins.iter().copied()).start()
    };
    let _heavy = start("heavy", 3, &[]).await.unwrap();
    let _light = start("light", 1, &[5]).await.unwrap();
    let owners = owners(&bus, 2).await;
    assert_eq!((owned(&owners, "heavy").len(), owned(&owners, "light").len()), (9, 3));
    assert!(owned(&owners, "light").contains(&5));
}

#[tokio::test(start_paused = true)]
async fn keys_by_the_topics_program_decide_the_partition_where_the_publisher_gives_none() {
    let bus = bus().await;
    let settings = TopicSettings::new("orders").unwrap().partitions(7).key(".payload.customer");
    bus.create_topic(settings).await.unwrap();
    let made = bus.publish("orders", json!({"customer": "c-9"})).await.unwrap();
    assert_eq!(made.partition, partition_of("c-9", 7));
    let given = bus.publish("orders", json!({"customer": "c-9"})).key("other").await.unwrap();
    assert_eq!(given.partition, partition_of("other", 7));
    let none = bus.publish("orders", json!({})).await.unwrap();
    assert_eq!(none.partition, partition_of(&none.id.to_string(), 7));
    let refused = bus.publish("orders", json!({"customer": [1]})).await;
    assert!(matches!(refused, Err(Error::TopicKey { .. })), "{refused:?}");
    let mut all = bus.subscribe("orders", "g").from(Position::Earliest).start().await.unwrap();
    let mut keys = BTreeSet::new();
    for _ in 0..3 {
        keys.insert(next(&mut all).await.key().map(str::to_owned));
    }
    assert_eq!(keys, [None, Some("c-9".to_owned()), Some("other".to_owned())].into());
    assert!(bus.create_topic(TopicSettings::new("bad").unwrap().key(".payload |")).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn shared_mode_and_order_by_key_work_over_all_partitions() {
    let bus = bus().await;
    topic(&bus, 4).await;
    for number in 0..100u64 {
        bus.publish("orders", json!(number)).key(format!("k{}", number % 10)).await.unwrap();
    }
    let start = || bus.subscribe("orders", "g").from(Position::Earliest).order(Order::Key).start();
    let (mut alpha, mut beta) = (start().await.unwrap(), start().await.unwrap());
    let mut last: BTreeMap<u64, u64> = BTreeMap::new();
    let mut seen = 0;
    while seen < 100 {
        for member in [&mut alpha, &mut beta] {
            while let Ok(Some(delivery)) = tokio::time::timeout(Duration::from_millis(10), member.next()).await {
                let number: u64 = delivery.payload().unwrap();
                assert!(last.insert(number % 10, number).is_none_or(|before| before + 10 == number), "{number}");
                soon(delivery.ack()).await.unwrap();
                seen += 1;
            }
        }
    }
}
