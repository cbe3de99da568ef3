//! Letters of parked keys: their events are not published beside the parked ones, and what went on by itself is not told to be open.

use std::time::Duration;

use prom_engine::{Bus, GroupChange, Order, Position, Subscription};
use prom_jobs::{
    JobError, LetterFilter, LetterJob, LetterJobState, LetterOffice, LetterOrder, LetterStanding, LetterWork,
    ReplayOutcome,
};
use prom_types::{GroupName, TopicName};
use serde_json::json;

use super::bus;

const TOPIC: &str = "orders";
const SOON: Duration = Duration::from_secs(20);

fn topic() -> TopicName {
    TopicName::parse(TOPIC).unwrap()
}

fn order(work: LetterWork) -> LetterOrder {
    let group = Some(GroupName::parse("billing").unwrap());
    LetterOrder {
        topic: topic(),
        work,
        filter: LetterFilter { group, standing: LetterStanding::Open, ..LetterFilter::default() },
        limit: 1000,
        transform: None,
        payload: None,
        skip_unfit: false,
        rate: None,
        canary: None,
        stop_on_failure: None,
        by: None,
    }
}

async fn publish(bus: &Bus, key: &str, events: u64) {
    for n in 0..events {
        bus.publish(TOPIC, json!(n)).key(key).await.unwrap();
    }
}

async fn parking(bus: &Bus) -> Subscription {
    let group = bus.subscribe(TOPIC, "billing").from(Position::Earliest).order(Order::Key).park();
    group.max_attempts(1).start().await.unwrap()
}

/// Waits until there are so many letters.
async fn letters_are(bus: &Bus, count: u64) {
    let deadline = tokio::time::Instant::now() + SOON;
    while !matches!(bus.bounds("dlq.orders").await, Ok(bounds) if bounds[0].next >= count) {
        assert!(tokio::time::Instant::now() < deadline, "fewer than {count} letters");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn run(letters: &LetterOffice, order: LetterOrder) -> LetterJob {
    let job = letters.order(order).await.unwrap();
    letters.wait_for(job.id, SOON).await.unwrap()
}

/// The offsets that are handed out next, all of them acked.
async fn ack(orders: &mut Subscription, count: usize) -> Vec<u64> {
    let mut offsets = Vec::new();
    for _ in 0..count {
        let order = tokio::time::timeout(SOON, orders.next()).await.expect("nothing came").unwrap();
        offsets.push(order.offset());
        order.ack().await.unwrap();
    }
    offsets
}

#[tokio::test]
async fn the_events_of_a_parked_key_are_not_published_again_and_can_still_be_given_back() {
    let bus = bus().await;
    let letters = LetterOffice::start(bus.clone());
    publish(&bus, "a", 3).await;
    let mut orders = parking(&bus).await;
    orders.next().await.unwrap().nack("no printer").await.unwrap();
    letters_are(&bus, 3).await;

    let refused = letters.order(order(LetterWork::ToTopic)).await.unwrap_err();
    let JobError::UnfitLetter { reason, .. } = &refused else { panic!("{refused}") };
    assert!(reason.contains("key \"a\" is parked for group billing") && reason.contains("--to-group"), "{reason}");
    let skipped = run(&letters, LetterOrder { skip_unfit: true, ..order(LetterWork::ToTopic) }).await;
    assert_eq!((skipped.state, skipped.matched, skipped.skipped), (LetterJobState::Done, 3, 3));
    assert_eq!(bus.bounds(TOPIC).await.unwrap()[0].next, 3, "nothing was published");

    let given = run(&letters, order(LetterWork::ToGroup)).await;
    assert_eq!((given.state, given.replayed), (LetterJobState::Done, 3), "{given:?}");
    assert_eq!(ack(&mut orders, 3).await, [0, 1, 2]);
}

#[tokio::test]
async fn the_letters_of_other_keys_are_published_beside_a_parked_one() {
    let bus = bus().await;
    let letters = LetterOffice::start(bus.clone());
    // Before keys were parked.
    publish(&bus, "a", 1).await;
    let plain = bus.subscribe(TOPIC, "billing").from(Position::Earliest).order(Order::Key).max_attempts(1);
    let mut orders = plain.start().await.unwrap();
    orders.next().await.unwrap().nack("no printer").await.unwrap();
    letters_are(&bus, 1).await;
    orders.unsubscribe().await;
    bus.change_group(TOPIC, "billing", GroupChange { park: Some(true), ..GroupChange::default() }).await.unwrap();
    publish(&bus, "b", 1).await;
    let mut orders = bus.subscribe(TOPIC, "billing").start().await.unwrap();
    orders.next().await.unwrap().nack("no paper").await.unwrap();
    letters_are(&bus, 2).await;

    let replayed = run(&letters, LetterOrder { skip_unfit: true, ..order(LetterWork::ToTopic) }).await;
    assert_eq!((replayed.replayed, replayed.skipped), (1, 1), "{replayed:?}");
    assert_eq!(ack(&mut orders, 1).await, [2]);
}

#[tokio::test]
async fn what_went_on_behind_a_key_that_was_given_back_is_not_open_and_not_published_again() {
    let bus = bus().await;
    let letters = LetterOffice::start(bus.clone());
    publish(&bus, "a", 2).await;
    let mut orders = parking(&bus).await;
    orders.next().await.unwrap().nack("no printer").await.unwrap();
    letters_are(&bus, 2).await;
    run(&letters, order(LetterWork::ToGroup)).await;
    let first = orders.next().await.unwrap();
    publish(&bus, "a", 2).await;
    letters_are(&bus, 4).await;
    first.ack().await.unwrap();
    assert_eq!(ack(&mut orders, 3).await, [1, 2, 3]);

    let page = letters.page(&topic(), &LetterFilter::default(), None, 100).await.unwrap().letters;
    let outcomes: Vec<_> = page.iter().take(2).map(|one| one.replay.as_ref().map(|replay| replay.outcome)).collect();
    assert_eq!(outcomes, [Some(ReplayOutcome::Acked); 2], "those that nobody gave back");
    let open = LetterFilter { standing: LetterStanding::Open, ..LetterFilter::default() };
    assert!(letters.page(&topic(), &open, None, 100).await.unwrap().letters.is_empty());
    let job = run(&letters, order(LetterWork::ToTopic)).await;
    assert_eq!((job.replayed, job.skipped), (0, 2), "{job:?}");
    assert_eq!(bus.bounds(TOPIC).await.unwrap()[0].next, 4, "nothing came a second time");
}
