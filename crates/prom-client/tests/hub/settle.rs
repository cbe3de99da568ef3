//! Subscribing and settling at the real hub.

use std::sync::Mutex;
use std::time::Duration;

use prom_client::{ClientOptions, Delivery, Error, Notice, Position, json};

use crate::scene::{Scene, within};

#[tokio::test]
async fn what_is_nacked_comes_again_as_the_second_attempt_and_what_is_acked_does_not() {
    let scene = Scene::open().await;
    for options in [ClientOptions::default(), ClientOptions::default().plain_frames()] {
        let client = scene.client_with(options).await;
        let group = format!("g{:?}", std::time::Instant::now()).replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        within(client.publish("orders.placed", json!({"id": 7})).key("7").send()).await.unwrap();
        let mut orders = within(
            client
                .subscribe("orders.*", &group)
                .from(Position::Earliest)
                .backoff(Duration::from_millis(10), Duration::from_millis(10))
                .start(),
        )
        .await
        .unwrap();
        let first = within(orders.next()).await.unwrap();
        assert_eq!((first.attempt(), first.max_attempts(), first.key()), (1, 5, Some("7")));
        within(first.nack("not today")).await.unwrap();
        let second = loop {
            let delivery = within(orders.next()).await.unwrap();
            if delivery.offset() == first.offset() { break delivery } else { within(delivery.ack()).await.unwrap() }
        };
        assert_eq!(second.attempt(), 2);
        within(second.ack()).await.unwrap();
        within(second.ack()).await.unwrap();
        within(orders.unsubscribe()).await.unwrap();
        assert!(matches!(
            within(second.modack(Duration::from_secs(1))).await,
            Err(Error::Refused { .. } | Error::LeaseLost { .. })
        ));
        within(client.close()).await;
    }
}

#[tokio::test]
async fn a_lease_that_is_extended_lasts_and_one_that_is_not_ends() {
    let scene = Scene::open().await;
    let client = scene.client().await;
    let mut orders = within(client.subscribe("a", "g").ack_timeout(Duration::from_millis(150)).start()).await.unwrap();
    within(client.publish("a", json!(1)).send()).await.unwrap();
    let kept = within(orders.next()).await.unwrap();
    within(kept.modack(Duration::from_secs(20))).await.unwrap();
    within(client.publish("a", json!(2)).send()).await.unwrap();
    let dropped = within(orders.next()).await.unwrap();
    let again = within(orders.next()).await.unwrap();
    assert_eq!((again.offset(), again.attempt()), (dropped.offset(), 2));
    within(again.ack()).await.unwrap();
    within(kept.ack()).await.unwrap();
}

#[tokio::test]
async fn nothing_comes_while_it_is_paused() {
    let scene = Scene::open().await;
    let client = scene.client().await;
    let mut orders = within(client.subscribe("a", "g").start()).await.unwrap();
    within(orders.pause()).await.unwrap();
    within(client.publish("a", json!(1)).send()).await.unwrap();
    assert!(tokio::time::timeout(Duration::from_millis(200), orders.next()).await.is_err());
    within(orders.resume()).await.unwrap();
    assert!(within(orders.next()).await.is_some());
}

#[tokio::test]
async fn a_handler_sees_every_event_once_and_the_group_catches_up() {
    const EVENTS: usize = 20_000;
    let scene = Scene::open().await;
    let client = scene.client().await;
    let publishing: Vec<_> = (0..EVENTS).map(|n| client.publish("a", json!(n)).send()).collect();
    let seen = Mutex::new((0, vec![0u32; EVENTS]));
    let running = client.subscribe("a", "g").from(Position::Earliest).concurrency(16).run(|delivery: Delivery| {
        let all = {
            let mut seen = seen.lock().unwrap();
            seen.0 += 1;
            seen.1[usize::try_from(delivery.offset()).unwrap()] += 1;
            seen.0 == EVENTS
        };
        let client = client.clone();
        async move {
            if all {
                tokio::spawn(async move { client.close().await });
            }
            Ok::<(), Error>(())
        }
    });
    let publish = async {
        for publishing in publishing {
            publishing.await.unwrap();
        }
    };
    let (ran, ()) = within(async { tokio::join!(running, publish) }).await;
    ran.unwrap();
    assert!(seen.lock().unwrap().1.iter().all(|times| *times == 1), "none twice");
    let bus = scene.bus();
    within(async {
        while bus.lag("a", "g").await.unwrap().lag_events > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn leases_of_slow_handlers_and_of_what_waits_behind_them_do_not_run_out() {
    let scene = Scene::open().await;
    let client = scene.client().await;
    let seen = Mutex::new(Vec::new());
    for n in 0..4 {
        within(client.publish("a", json!(n)).send()).await.unwrap();
    }
    let subscribe = client.subscribe("a", "g").from(Position::Earliest).ack_timeout(Duration::from_millis(600));
    let running = subscribe.run(|delivery: Delivery| {
        let (seen, client) = (&seen, &client);
        async move {
            tokio::time::sleep(Duration::from_millis(900)).await;
            seen.lock().unwrap().push((delivery.offset(), delivery.attempt()));
            if delivery.offset() == 3 {
                let client = client.clone();
                tokio::spawn(async move { client.close().await });
            }
            Ok::<(), Error>(())
        }
    });
    within(running).await.unwrap();
    assert_eq!(*seen.lock().unwrap(), [(0, 1), (1, 1), (2, 1), (3, 1)]);
}

#[tokio::test]
async fn what_the_group_has_otherwise_is_a_notice() {
    let scene = Scene::open().await;
    let client = scene.client().await;
    drop(within(client.subscribe("a", "g").max_attempts(3).start()).await.unwrap());
    let mut notices = client.notices();
    let _other = within(client.subscribe("a", "g").max_attempts(4).start()).await.unwrap();
    let told = within(notices.next()).await.unwrap();
    assert!(matches!(&told, Notice::OptionDiffers { note, .. } if note.contains("maxAttempts = 3")), "{told:?}");
}
