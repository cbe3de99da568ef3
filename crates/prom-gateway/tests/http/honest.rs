//! What the hub says about itself, counted again by hand: from the events, the settlements and the leases of a test that knows
//! what it did.

use std::collections::BTreeSet;
use std::time::Duration;

use prom_engine::{Position, Subscription};
use serde_json::json;

use crate::home::{Home, until};

const TOPICS: [&str; 2] = ["orders.placed", "orders.paid"];
const EVENTS: usize = 120;
const ATTEMPTS: u32 = 2;

/// What one group was seen to do, by topic and payload.
#[derive(Default)]
struct Done {
    settled: BTreeSet<(String, u64)>,
    dead: BTreeSet<(String, u64)>,
    held: usize,
}

/// Acks what is even, fails what ends in 5 until it is dead, and keeps the rest.
async fn work(events: &mut Subscription, deliveries: usize) -> (Done, Vec<prom_engine::Delivery>) {
    let (mut done, mut kept) = (Done::default(), Vec::new());
    for _ in 0..deliveries {
        let Ok(Some(delivery)) = tokio::time::timeout(Duration::from_secs(10), events.next()).await else { break };
        let number: u64 = delivery.event().payload().unwrap();
        let at = (delivery.topic().to_string(), number);
        if number % 10 == 5 {
            if delivery.attempt() == ATTEMPTS {
                done.dead.insert(at);
            }
            delivery.nack("ends in five").await.unwrap();
        } else if number.is_multiple_of(2) {
            delivery.ack().await.unwrap();
            done.settled.insert(at);
        } else {
            kept.push(delivery);
        }
    }
    done.held = kept.len();
    (done, kept)
}

fn metric(text: &str, name: &str, labels: &[&str]) -> u64 {
    let lines = text.lines().filter(|line| line.starts_with(&format!("{name}{{")));
    let ours = lines.filter(|line| labels.iter().all(|label| line.contains(label)));
    ours.map(|line| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap() as u64).sum()
}

#[tokio::test]
async fn lag_leases_and_letters_are_what_a_recount_finds() {
    let home = Home::open().await;
    for topic in TOPICS {
        home.publish_numbers(topic, EVENTS).await;
    }
    let subscribe = home.bus.subscribe("orders.*", "billing").from(Position::Earliest).max_attempts(ATTEMPTS);
    let mut events = subscribe.backoff(Duration::from_millis(1), Duration::from_millis(2)).start().await.unwrap();
    let fives = TOPICS.len() * EVENTS / 10;
    let (done, _kept) = work(&mut events, TOPICS.len() * EVENTS + fives).await;
    assert_eq!((done.dead.len(), done.settled.len()), (fives, TOPICS.len() * EVENTS / 2));
    let settled = (done.settled.len() + done.dead.len()) as u64;
    let lag = (TOPICS.len() * EVENTS) as u64 - settled;
    until("the letters are written", || async { home.get("/stats").await.json()["dead_letters"] == fives }).await;
    let stats = home.get("/stats").await.json();
    assert_eq!((&stats["lag_events"], &stats["in_flight"]), (&json!(lag), &json!(done.held)), "{stats}");
    assert_eq!(
        (&stats["events"]["acked"], &stats["events"]["dead_lettered"]),
        (&json!(done.settled.len()), &json!(fives))
    );
    let lags = home.get("/lag?group=billing").await.json()["lags"].clone();
    let sum = |name: &str| lags.as_array().unwrap().iter().map(|one| one[name].as_u64().unwrap()).sum::<u64>();
    assert_eq!((sum("lagEvents"), sum("inFlight"), sum("deadLetters")), (lag, done.held as u64, fives as u64));
    let page = home.get("/groups?limit=10").await.json()["groups"][0].clone();
    assert_eq!((&page["lag_events"], &page["in_flight"]), (&json!(lag), &json!(done.held)));
    let metrics = home.get("/metrics").await.text().to_owned();
    for topic in TOPICS {
        let of_topic = |set: &BTreeSet<(String, u64)>| set.iter().filter(|(name, _)| name == topic).count() as u64;
        let of = format!("topic=\"{topic}\"");
        let labels = [of.as_str(), "group=\"billing\""];
        let behind = EVENTS as u64 - of_topic(&done.settled) - of_topic(&done.dead);
        assert_eq!(metric(&metrics, "consumer_lag_events", &labels), behind, "{topic}");
        assert_eq!(metric(&metrics, "events_inflight", &labels), behind, "{topic}: all that is left is held");
        assert_eq!(metric(&metrics, "events_dead_lettered_total", &labels), of_topic(&done.dead), "{topic}");
        let letters = home.get(&format!("/replay?topic=dlq.{topic}&limit=1000")).await.json();
        assert_eq!(letters["count"], of_topic(&done.dead), "{topic}");
    }
}
