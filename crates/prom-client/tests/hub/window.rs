//! How much a subscriber takes at the real hub: what it works off, and nothing that only waits costs an attempt.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use prom_auth::AuthOptions;
use prom_client::{Client, Delivery, Error, Position, Subscribe, json};
use prom_store::MemoryStore;
use prom_testkit::{HubInMemory, TokioClock};

use crate::scene::{Scene, within};

async fn publish_all(client: &Client, topic: &str, count: usize) {
    let publishing: Vec<_> = (0..count).map(|n| client.publish(topic, json!(n)).send()).collect();
    for one in publishing {
        within(one).await.unwrap();
    }
}

fn from_the_beginning<'a>(client: &'a Client, topic: &str) -> Subscribe<'a> {
    client.subscribe(topic, "g").from(Position::Earliest)
}

const EVENTS: usize = 200;
/// Of two workers that are equally fast; the second comes when the first has begun.
const SHARE: usize = 40;

#[tokio::test]
async fn a_second_worker_gets_its_share_of_what_waits_for_handlers() {
    let scene = Scene::open().await;
    let (first, second) = (scene.client().await, scene.client().await);
    publish_all(&first, "a", EVENTS).await;
    let handled = [AtomicUsize::new(0), AtomicUsize::new(0)];
    let count = |at: usize| handled[at].load(Ordering::Relaxed);
    let work = |at: usize| {
        let mine = &handled[at];
        move |_: Delivery| async move {
            tokio::time::sleep(Duration::from_millis(5)).await;
            mine.fetch_add(1, Ordering::Relaxed);
            Ok::<(), Error>(())
        }
    };
    let done = async {
        while count(0) + count(1) < EVENTS {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        first.close().await;
        second.close().await;
    };
    let one = from_the_beginning(&first, "a").run(work(0));
    let other = async {
        while count(0) == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        from_the_beginning(&second, "a").run(work(1)).await
    };
    let (one, other, ()) = Box::pin(within(async { tokio::join!(one, other, done) })).await;
    one.and(other).unwrap();
    assert!(count(0).min(count(1)) >= SHARE, "they handled {} and {}", count(0), count(1));
}

#[tokio::test]
async fn a_second_worker_gets_its_share_of_what_waits_for_loops() {
    let scene = Scene::open().await;
    let (first, second) = (scene.client().await, scene.client().await);
    publish_all(&first, "a", EVENTS).await;
    let left = AtomicUsize::new(EVENTS);
    let work = async |client: &Client| {
        let mut events = from_the_beginning(client, "a").start().await.unwrap();
        let mut handled = 0;
        while left.load(Ordering::Relaxed) > 0 {
            let Ok(Some(delivery)) = tokio::time::timeout(Duration::from_millis(50), events.next()).await else {
                continue;
            };
            tokio::time::sleep(Duration::from_millis(5)).await;
            delivery.ack().await.unwrap();
            handled += 1;
            left.fetch_sub(1, Ordering::Relaxed);
        }
        handled
    };
    let second_work = async {
        while left.load(Ordering::Relaxed) == EVENTS {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        work(&second).await
    };
    let (one, other) = within(async { tokio::join!(work(&first), second_work) }).await;
    assert!(one.min(other) >= SHARE, "they handled {one} and {other}");
}

#[tokio::test]
async fn a_loop_that_settles_only_after_many_gets_them() {
    let scene = Scene::open().await;
    let client = scene.client().await;
    publish_all(&client, "a", EVENTS).await;
    let mut events = within(from_the_beginning(&client, "a").start()).await.unwrap();
    let mut taken = Vec::new();
    while taken.len() < EVENTS {
        taken.push(within(events.next()).await.unwrap());
    }
    for delivery in &taken {
        within(delivery.ack()).await.unwrap();
    }
}

/// By the test's own clock: hours pass at once.
async fn hub_in_memory() -> HubInMemory {
    let clock = Arc::new(TokioClock::new());
    let store = Arc::new(MemoryStore::new(clock.clone()));
    HubInMemory::start(store, clock, AuthOptions::default()).await.unwrap()
}

async fn client_of(hub: &HubInMemory, seed: u64) -> Client {
    Client::connect(HubInMemory::URL, hub.client_options(&hub.cable(), seed)).await.unwrap()
}

const HOURS: Duration = Duration::from_secs(12 * 3600);

#[tokio::test(start_paused = true)]
async fn what_waits_for_a_handler_costs_no_attempt() {
    let hub = hub_in_memory().await;
    let client = client_of(&hub, 1).await;
    publish_all(&client, "a", 3).await;
    let attempts = std::sync::Mutex::new(Vec::new());
    let running = from_the_beginning(&client, "a").max_in_flight(3).run(|delivery: Delivery| {
        attempts.lock().unwrap().push((delivery.offset(), delivery.attempt()));
        async {
            tokio::time::sleep(HOURS).await;
            Ok::<(), Error>(())
        }
    });
    let done = async {
        tokio::time::sleep(HOURS * 3 + Duration::from_secs(1)).await;
        client.close().await;
    };
    tokio::join!(running, done).0.unwrap();
    assert_eq!(*attempts.lock().unwrap(), [(0, 1), (1, 1), (2, 1)]);
    hub.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_no_loop_takes_goes_to_others_and_costs_no_attempt() {
    let hub = hub_in_memory().await;
    let (stuck, other) = (client_of(&hub, 1).await, client_of(&hub, 2).await);
    publish_all(&stuck, "a", 4).await;
    let mut of_the_stuck = from_the_beginning(&stuck, "a").start().await.unwrap();
    let kept = of_the_stuck.next().await.unwrap();
    let mut of_the_other = from_the_beginning(&other, "a").start().await.unwrap();
    // The other one is there all the time, and the stuck one works on its first event.
    let began = tokio::time::Instant::now();
    for offset in 1..3 {
        let delivery = loop {
            tokio::select! {
                delivery = of_the_other.next() => break delivery.unwrap(),
                () = tokio::time::sleep(Duration::from_secs(20)) => kept.modack(Duration::from_secs(60)).await.unwrap(),
            }
        };
        assert_eq!((delivery.offset(), delivery.attempt()), (offset, 1));
        delivery.ack().await.unwrap();
    }
    assert!(began.elapsed() >= prom_client::limits::GIVE_BACK_AFTER, "after {:?}", began.elapsed());
    drop(of_the_other);
    // It lets go of the rest when its subscription ends, and the first one, asking again, gets it.
    kept.ack().await.unwrap();
    let last = of_the_stuck.next().await.unwrap();
    assert_eq!((last.offset(), last.attempt()), (3, 1));
    last.ack().await.unwrap();
    publish_all(&stuck, "a", 1).await;
    assert_eq!(of_the_stuck.next().await.unwrap().offset(), 4);
    hub.shut_down().await.unwrap();
}
