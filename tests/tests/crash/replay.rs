//! A hub killed in the middle of a replay of dead letters: the job goes on by itself, and at the end every event is there once
//! more, once, in order, and the floor of the group has not moved. The same where letters are given back to their group.

use std::sync::Arc;
use std::time::Duration;

use prom_testkit::{HubProcess, Random};
use promethean::{Bus, BusOptions, EmbeddedStore, Position};
use serde_json::{Value, json};

use crate::rounds::rounds;

const TOPIC: &str = "orders";
const LETTERS: u64 = 3000;

/// More with `PROM_REPLAY_KILLS`; other kill points with `PROM_CRASH_SEED`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replay_whose_hub_is_killed_again_and_again_sends_every_event_once_and_moves_no_floor() {
    let (kills, seed) = (rounds("PROM_REPLAY_KILLS", 6), rounds("PROM_CRASH_SEED", 1));
    eprintln!("replay: {kills} kills, seed {seed}");
    let mut random = Random::seeded(seed);
    let data = tempfile::tempdir().unwrap();
    write_letters(data.path()).await;
    let mut hub = HubProcess::on(data.path()).unwrap();
    let http = reqwest::Client::new();
    let get = async |hub: &HubProcess, path: &str| -> Value {
        let answer = http.get(format!("{}{path}", hub.url())).send().await.unwrap().error_for_status().unwrap();
        answer.json().await.unwrap()
    };
    let cursors = get(&hub, "/cursors?topic=orders").await;
    assert_eq!(get(&hub, "/dlq/groups?topic=orders").await["topics"][0]["count"], LETTERS);
    let rate = rate(kills);
    let order = json!({"topic": TOPIC, "limit": 1_000_000, "transform": ".payload.again = true", "rate": rate});
    let asked = http.post(format!("{}/dlq/replay", hub.url())).body(order.to_string()).send().await.unwrap();
    assert_eq!(asked.status(), 202);
    let job = asked.json::<Value>().await.unwrap()["job"].as_str().unwrap().to_owned();
    let mut killed_within = 0;
    for _ in 0..kills {
        tokio::time::sleep(Duration::from_millis(random.within(0..120))).await;
        hub.kill().unwrap();
        hub.restart().unwrap();
        let now = get(&hub, &format!("/dlq/jobs/{job}")).await;
        let replayed = now["replayed"].as_u64().unwrap();
        killed_within += u64::from(replayed > 0 && replayed < LETTERS);
    }
    let deadline = tokio::time::Instant::now() + Duration::from_secs(120);
    loop {
        let now = get(&hub, &format!("/dlq/jobs/{job}")).await;
        if now["state"] == "done" {
            assert_eq!((&now["matched"], &now["replayed"]), (&json!(LETTERS), &json!(LETTERS)), "{now}");
            assert_eq!(now["outcome"], json!({"acked": 0, "waiting": LETTERS, "deadAgain": 0}), "{now}");
            break;
        }
        assert!(tokio::time::Instant::now() < deadline, "the job does not go on: {now}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    eprintln!("replay: {killed_within} of {kills} kills were in the middle of it");
    assert!(killed_within > 0, "no kill met it");
    let export = format!("{}/export?topic={TOPIC}&ndjson=1", hub.url());
    let text = http.get(export).send().await.unwrap().text().await.unwrap();
    let again: Vec<u64> = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|event| event["payload"]["again"] == true)
        .map(|event| event["payload"]["n"].as_u64().unwrap())
        .collect();
    assert_eq!(again, (0..LETTERS).collect::<Vec<_>>(), "every event once, in order");
    assert_eq!(get(&hub, "/cursors?topic=orders").await, cursors, "no floor moves");
    assert_eq!(get(&hub, "/dlq/groups?topic=orders").await["topics"][0]["replayed"], LETTERS);
}

/// As the one above, and then the group handles what it was given, each event once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn letters_that_are_given_back_while_the_hub_is_killed_come_to_their_group_once_each() {
    let (kills, seed) = (rounds("PROM_REPLAY_KILLS", 6), rounds("PROM_CRASH_SEED", 1));
    eprintln!("give back: {kills} kills, seed {seed}");
    let mut random = Random::seeded(seed);
    let data = tempfile::tempdir().unwrap();
    write_letters(data.path()).await;
    let mut hub = HubProcess::on(data.path()).unwrap();
    let http = reqwest::Client::new();
    let order = json!({"topic": TOPIC, "to": "group", "group": "billing", "limit": 1_000_000, "rate": rate(kills)});
    let asked = http.post(format!("{}/dlq/replay", hub.url())).body(order.to_string()).send().await.unwrap();
    let job = asked.error_for_status().unwrap().json::<Value>().await.unwrap()["job"].as_str().unwrap().to_owned();
    let look = async |hub: &HubProcess| -> Value {
        let answer = http.get(format!("{}/dlq/jobs/{job}", hub.url())).send().await.unwrap();
        answer.error_for_status().unwrap().json().await.unwrap()
    };
    let mut killed_within = 0;
    for _ in 0..kills {
        tokio::time::sleep(Duration::from_millis(random.within(0..120))).await;
        hub.kill().unwrap();
        hub.restart().unwrap();
        let given = look(&hub).await["replayed"].as_u64().unwrap();
        killed_within += u64::from(given > 0 && given < LETTERS);
    }
    let deadline = tokio::time::Instant::now() + Duration::from_secs(120);
    loop {
        let now = look(&hub).await;
        if now["state"] == "done" {
            assert_eq!((&now["matched"], &now["replayed"]), (&json!(LETTERS), &json!(LETTERS)), "{now}");
            break;
        }
        assert!(tokio::time::Instant::now() < deadline, "the job does not go on: {now}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    eprintln!("give back: {killed_within} of {kills} kills were in the middle of it");
    assert!(killed_within > 0, "no kill met it");
    hub.kill().unwrap();
    let store: Arc<dyn promethean::Store> = EmbeddedStore::open(data.path()).await.unwrap();
    let bus = Bus::start(store, BusOptions::default()).await.unwrap();
    assert_eq!(bus.bounds(TOPIC).await.unwrap()[0].next, LETTERS + 1, "nothing was published");
    let mut orders = bus.subscribe(TOPIC, "billing").start().await.unwrap();
    let mut handled = std::collections::BTreeSet::new();
    for _ in 0..LETTERS {
        let order = orders.next().await.unwrap();
        assert!(handled.insert(order.offset()), "twice: {}", order.offset());
        order.ack().await.unwrap();
    }
    assert_eq!(handled, (0..LETTERS).collect());
    assert_eq!(bus.bounds("dlq.orders").await.unwrap()[0].next, LETTERS, "none died again");
}

/// So slow that most of the kills meet the job.
fn rate(kills: u64) -> u64 {
    (2 * LETTERS / kills.max(1)).max(40)
}

async fn write_letters(data: &std::path::Path) {
    let store: Arc<dyn promethean::Store> = EmbeddedStore::open(data).await.unwrap();
    let bus = Bus::start(store, BusOptions::default()).await.unwrap();
    let publishing: Vec<_> =
        (0..=LETTERS).map(|n| bus.publish(TOPIC, json!({"n": n})).key("k").into_future()).collect();
    for published in publishing {
        published.await.unwrap();
    }
    let mut orders = bus.subscribe(TOPIC, "billing").from(Position::Earliest).max_attempts(1).start().await.unwrap();
    for n in 0..=LETTERS {
        let order = orders.next().await.unwrap();
        match n {
            LETTERS => order.ack().await.unwrap(),
            _ => order.nack("not yet").await.unwrap(),
        }
    }
    orders.unsubscribe().await;
    loop {
        let written = bus.bounds("dlq.orders").await.map_or(0, |bounds| bounds[0].next);
        if written == LETTERS && bus.lag(TOPIC, "billing").await.unwrap().lag_events == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    bus.shutdown().await.unwrap();
}
