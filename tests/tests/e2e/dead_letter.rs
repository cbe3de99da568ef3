//! Dead letters: attempts are counted across restarts, and a letter and its settlement exist together or not at all.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use prom_testkit::{PowerLossDisk, Survival};
use promethean::{Bus, BusOptions, EmbeddedOptions, EmbeddedStore, GroupName, Position, Subscription, json};
use serde_json::Value;

use super::home::{Home, floor, next, publish_numbers, soon, until};

async fn billing(bus: &Bus, attempts: u32) -> Subscription {
    let wait = Duration::from_millis(1);
    let group = bus.subscribe("orders", "billing").from(Position::Earliest);
    group.max_attempts(attempts).backoff(wait, wait).start().await.unwrap()
}

#[tokio::test]
async fn attempts_survive_restarts_and_lead_to_the_dead_letter() {
    for home in Home::of_each_store() {
        let mut bus = home.start().await;
        let receipt = bus.publish("orders", json!("poison")).key("k").await.unwrap();
        bus.publish("orders", json!("fine")).await.unwrap();
        for attempt in 1..=3 {
            let mut orders = billing(&bus, 3).await;
            let mut delivery = next(&mut orders).await;
            if delivery.offset() == 1 {
                delivery.ack().await.unwrap();
                delivery = next(&mut orders).await;
            }
            assert_eq!((delivery.offset(), delivery.attempt()), (0, attempt), "counted across restarts");
            delivery.nack("cannot be billed").await.unwrap();
            bus = home.restart(bus).await;
        }
        // The letter may have waited for a subscriber; one more triggers it.
        let mut orders = billing(&bus, 3).await;
        bus.publish("orders", json!("more")).await.unwrap();
        while floor(&bus, "orders", "billing").await < 3 {
            let delivery = next(&mut orders).await;
            assert_ne!(delivery.offset(), 0, "the group continues without it");
            delivery.ack().await.unwrap();
            if delivery.offset() == 2 {
                until(async || floor(&bus, "orders", "billing").await == 3).await;
            }
        }
        let letters = bus.read("dlq.orders", 0, 0, 10).await.unwrap().events;
        assert_eq!(letters.len(), 1, "once");
        let letter: Value = letters[0].payload().unwrap();
        assert_eq!((&letter["topic"], &letter["group"]), (&json!("orders"), &json!("billing")));
        assert_eq!((&letter["attempts"], &letter["err"]), (&json!(3), &json!("cannot be billed")));
        assert_eq!(letter["original"]["id"], json!(receipt.id.to_string()));
        assert_eq!((letters[0].key(), &letter["original"]["payload"]), (Some("k"), &json!("poison")));
        home.close_sound(bus).await;
    }
}

const EVENTS: u64 = 12;

#[tokio::test]
async fn a_letter_and_its_settlement_exist_together_or_not_at_all_after_a_power_loss() {
    let (mut none, mut some, mut all) = (0, 0, 0);
    // A nack is a write and a sync, and so is a letter. In the last round the power stays on.
    for operations in (0..4 * EVENTS).step_by(2).chain([1_000]) {
        let disk = PowerLossDisk::new().unwrap();
        let bus = open(&disk).await;
        publish_numbers(&bus, "orders", 0..EVENTS).await;
        let mut orders = billing(&bus, 1).await;
        let mut deliveries = Vec::new();
        for _ in 0..EVENTS {
            deliveries.push(next(&mut orders).await);
        }
        disk.cut_power_after(disk.operations() + operations);
        for delivery in deliveries {
            if disk.is_off() {
                break;
            }
            // Refused if the power fails at this moment.
            let _answer = soon(delivery.nack("no")).await;
        }
        let letters = async || bus.read("dlq.orders", 0, 0, 100).await.map_or(0, |page| page.events.len() as u64);
        until(async || disk.is_off() || letters().await == EVENTS).await;
        let disk = disk.power_loss(Survival::Strict).unwrap();
        drop((orders, bus));

        let bus = open(&disk).await;
        let (lettered, settled) = (lettered(&bus).await, settled(&bus).await);
        assert_eq!(lettered, settled, "power off after {operations} operations");
        match settled.len() as u64 {
            0 => none += 1,
            EVENTS => all += 1,
            _ => some += 1,
        }
        bus.shutdown().await.unwrap();
    }
    assert!(none > 0 && some > 0 && all > 0, "{none} before, {some} in between, {all} after");
}

async fn open(disk: &PowerLossDisk) -> Bus {
    let options = EmbeddedOptions { disk: Arc::new(disk.clone()), ..EmbeddedOptions::default() };
    let store = EmbeddedStore::open_with(disk.root(), options).await.unwrap();
    Bus::start(store, BusOptions::default()).await.unwrap()
}

/// The offsets that have a letter.
async fn lettered(bus: &Bus) -> BTreeSet<u64> {
    let Ok(page) = bus.read("dlq.orders", 0, 0, 100).await else {
        return BTreeSet::new();
    };
    let offset = |letter: Value| letter["original"]["offset"].as_u64().unwrap();
    page.events.iter().map(|letter| offset(letter.payload().unwrap())).collect()
}

/// The offsets that the group has settled.
async fn settled(bus: &Bus) -> BTreeSet<u64> {
    let group = GroupName::parse("billing").unwrap();
    let open = bus.unsettled("orders", 0, &group, &[(0, EVENTS - 1)]).await.unwrap();
    (0..EVENTS).filter(|offset| !open.iter().any(|(from, to)| (from..=to).contains(&offset))).collect()
}
