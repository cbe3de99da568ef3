//! A long day of two clients in one group, drawn by chance: they ack, fail, forget and lose their connection. All of it
//! is written down, and the same seed writes the same again.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use prom_client::{Client, ConnectionState, Item, Position, Subscription, json};
use prom_store::Clock;
use prom_testkit::{Random, TokioClock};
use tokio::sync::watch;

use super::scene::{BACKENDS, Backend, HOUR, Scene};

const EVENTS: u64 = 60;
const MINUTE: Duration = Duration::from_secs(60);

/// What happened, with the second in which it did.
#[derive(Clone)]
struct Diary {
    clock: Arc<TokioClock>,
    lines: Arc<std::sync::Mutex<Vec<String>>>,
    acked: watch::Sender<BTreeSet<u64>>,
}

impl Diary {
    fn note(&self, who: &str, what: impl std::fmt::Display) {
        let at = self.clock.monotonic().as_millis();
        self.lines.lock().unwrap().push(format!("{at} {who}: {what}"));
    }
}

/// Handles deliveries, each in its own way, until the subscription ends.
async fn work(who: &'static str, mut orders: Subscription, mut random: Random, diary: Diary) {
    while let Some(item) = orders.next_item().await {
        let delivery = match item {
            Item::Delivery(delivery) => delivery,
            other => {
                diary.note(who, format_args!("{other:?}"));
                continue;
            }
        };
        diary.note(who, format_args!("got {} of {}", delivery.attempt(), delivery.id()));
        tokio::time::sleep(Duration::from_millis(random.within(0..40_000))).await;
        // The third attempt succeeds, so that nothing becomes a dead letter.
        let outcome = match random.within(0..4) {
            _ if delivery.attempt() > 2 => delivery.ack().await,
            0 => {
                diary.note(who, format_args!("fails at {}", delivery.offset()));
                drop(delivery.nack("drawn by chance").await);
                continue;
            }
            1 => {
                diary.note(who, format_args!("forgets {}", delivery.offset()));
                continue;
            }
            _ => delivery.ack().await,
        };
        if outcome.is_ok() {
            diary.acked.send_modify(|acked| _ = acked.insert(delivery.offset()));
        }
        diary.note(who, format_args!("ack of {}: {}", delivery.offset(), outcome.is_ok()));
    }
    diary.note(who, "ended");
}

async fn subscribe(client: &Client) -> Subscription {
    let billing = client.subscribe("orders.*", "billing").from(Position::Earliest).max_in_flight(2);
    billing.ack_timeout(MINUTE).backoff(5 * MINUTE, HOUR).start().await.unwrap()
}

async fn day(backend: Backend, seed: u64) -> Vec<String> {
    let scene = Scene::open(backend).await;
    let diary = Diary { clock: scene.clock.clone(), lines: Arc::default(), acked: watch::Sender::default() };
    let mut random = Random::seeded(seed);
    let (first, _cable) = scene.client(random.next_u64()).await;
    let (second, cable) = scene.client_for(9 * HOUR, random.next_u64()).await;
    for (who, client) in [("first", &first), ("second", &second)] {
        tokio::spawn(work(who, subscribe(client).await, Random::seeded(random.next_u64()), diary.clone()));
    }
    for number in 0..EVENTS {
        let receipt = first.publish("orders.placed", json!({ "number": number })).await.unwrap();
        diary.note("first", format_args!("published {} as {}", receipt.id, receipt.offset));
        tokio::time::sleep(Duration::from_millis(random.within(0..1_200_000))).await;
        match number {
            20 => cable.cut(),
            22 => cable.mend(),
            _ => {}
        }
    }
    let mut states = second.state_changes();
    while let Some(state) = states.next().await {
        diary.note("second", format_args!("is {state:?}"));
        if matches!(state, ConnectionState::Closed { .. }) {
            break;
        }
    }
    let all: BTreeSet<_> = (0..EVENTS).collect();
    diary.acked.subscribe().wait_for(|acked| *acked == all).await.unwrap();
    scene.shut_down().await;
    first.close().await;
    let lines = diary.lines.lock().unwrap().clone();
    assert!(diary.clock.monotonic() > 9 * HOUR, "the second client's token ends after nine hours");
    lines
}

#[tokio::test(start_paused = true)]
async fn a_day_passes_in_a_moment_and_a_seed_repeats_it() {
    for backend in BACKENDS {
        let begin = Instant::now();
        let first = day(backend, 7).await;
        let took = begin.elapsed();
        assert!(took < Duration::from_secs(20), "nine hours and more took {took:?}");
        let again = day(backend, 7).await;
        let differs = first.iter().zip(&again).position(|(one, other)| one != other);
        let around =
            |lines: &[String]| differs.map(|at| lines[at.saturating_sub(3)..(at + 3).min(lines.len())].join("\n"));
        assert!(first == again, "{backend:?}:\n{:?}\nand then\n{:?}", around(&first), around(&again));
        assert_ne!(first, day(backend, 8).await, "chance has no effect");
    }
}
