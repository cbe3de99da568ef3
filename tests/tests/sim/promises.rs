//! What the hub and the client promise about time, to the second and without waiting for it.

use std::time::Duration;

use prom_client::{Client, ConnectionState, Delivery, Error, ErrorCode, Item, Position, Subscription, json};
use prom_store::Clock;
use prom_testkit::TokioClock;

use super::scene::{BACKENDS, Backend, HOUR, Scene};

const MINUTE: Duration = Duration::from_secs(60);
/// Timers count whole milliseconds, and several of them may follow each other.
const SLACK: Duration = Duration::from_millis(20);
const BACKOFF: Duration = Duration::from_secs(600);

async fn subscribe(client: &Client) -> Subscription {
    client
        .subscribe("orders.*", "billing")
        .from(Position::Earliest)
        .max_in_flight(1)
        .ack_timeout(MINUTE)
        .backoff(BACKOFF, 2 * BACKOFF)
        .start()
        .await
        .unwrap()
}

/// The next delivery, and how long it took to come.
async fn timed(clock: &TokioClock, subscription: &mut Subscription) -> (Delivery, Duration) {
    let begin = clock.monotonic();
    let delivery = subscription.next().await.unwrap();
    (delivery, clock.monotonic() - begin)
}

/// A backoff is jittered downwards by up to a quarter.
fn assert_backed_off(took: Duration, backoff: Duration) {
    assert!(
        took + SLACK > backoff * 3 / 4 && took < backoff + SLACK,
        "it took {took:?}, not {backoff:?} or a little less"
    );
}

#[tokio::test(start_paused = true)]
async fn a_nacked_event_comes_again_after_the_backoff_which_doubles() {
    for backend in BACKENDS {
        let scene = Scene::open(backend).await;
        let (client, _cable) = scene.client(1).await;
        let mut orders = subscribe(&client).await;
        client.publish("orders.placed", json!(1)).await.unwrap();
        let first = orders.next().await.unwrap();
        first.nack("not yet").await.unwrap();
        let (second, took) = timed(&scene.clock, &mut orders).await;
        assert_backed_off(took, BACKOFF);
        second.nack("still not").await.unwrap();
        let (third, took) = timed(&scene.clock, &mut orders).await;
        assert_backed_off(took, 2 * BACKOFF);
        assert_eq!((third.offset(), third.attempt()), (first.offset(), 3));
        third.ack().await.unwrap();
        client.close().await;
        scene.shut_down().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_event_that_is_not_acked_in_time_goes_to_the_other_client() {
    for backend in BACKENDS {
        let scene = Scene::open(backend).await;
        let ((first, _first_cable), (second, _second_cable)) = (scene.client(1).await, scene.client(2).await);
        let mut of_first = subscribe(&first).await;
        first.publish("orders.placed", json!(1)).await.unwrap();
        // Taken and not settled: its lease is not renewed, and it holds the only place in its window.
        let stuck = of_first.next().await.unwrap();
        let mut of_second = subscribe(&second).await;
        of_first.pause().await.unwrap();
        let (again, took) = timed(&scene.clock, &mut of_second).await;
        // The deadline, and then the backoff of a failed attempt.
        assert_backed_off(took - MINUTE, BACKOFF);
        assert_eq!((again.offset(), again.attempt()), (stuck.offset(), 2));
        again.ack().await.unwrap();
        let late = stuck.ack().await;
        assert!(late.is_ok() || matches!(late, Err(Error::LeaseLost { .. } | Error::Refused { .. })), "{late:?}");
        first.close().await;
        second.close().await;
        scene.shut_down().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_was_cut_off_for_hours_comes_back_and_goes_on() {
    for backend in BACKENDS {
        let scene = Scene::open(backend).await;
        let ((first, _first_cable), (second, cable)) = (scene.client(1).await, scene.client(2).await);
        let mut of_second = subscribe(&second).await;
        cable.cut();
        first.publish("orders.placed", json!(1)).await.unwrap();
        tokio::time::sleep(3 * HOUR).await;
        assert_eq!(second.state(), ConnectionState::Connecting);
        cable.mend();
        let begin = scene.clock.monotonic();
        assert!(matches!(of_second.next_item().await, Some(Item::Resubscribed)));
        let Some(Item::Delivery(delivery)) = of_second.next_item().await else {
            panic!("no delivery after the connection came back");
        };
        let took = scene.clock.monotonic() - begin;
        assert!(took <= Duration::from_secs(10), "the longest wait between attempts is 10 s, and it took {took:?}");
        delivery.ack().await.unwrap();
        first.close().await;
        second.close().await;
        scene.shut_down().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_ends_with_its_token_and_lives_on_with_a_fresh_one() {
    let scene = Scene::open(Backend::Memory).await;
    let ((first, _first_cable), (second, _second_cable)) = (scene.client(1).await, scene.client_for(5 * HOUR, 2).await);
    let (mut of_first, mut notices) = (first.state_changes(), first.notices());
    tokio::time::sleep(4 * HOUR).await;
    assert_eq!((first.state(), second.state()), (ConnectionState::Connected, ConnectionState::Connected));
    tokio::time::sleep(2 * HOUR).await;
    match second.state() {
        ConnectionState::Closed { reason } => assert!(reason.contains("expired"), "{reason}"),
        other => panic!("{other:?}"),
    }
    let refused = second.publish("orders.placed", json!(1)).await.unwrap_err();
    assert!(matches!(refused, Error::Closed { .. }) || refused.code() == Some(ErrorCode::JwtExpired), "{refused}");
    assert_eq!(of_first.next().await, Some(ConnectionState::Connected));
    let told = tokio::time::timeout(HOUR, notices.next()).await;
    assert!(told.is_err(), "the first client was interrupted: {told:?}");
    first.close().await;
    scene.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn what_was_answered_is_there_after_a_shutdown_and_after_a_power_loss() {
    let scene = Scene::open(Backend::Embedded).await;
    let (first, _cable) = scene.client(1).await;
    for number in 0..500 {
        let receipt = first.publish("orders.placed", json!({ "number": number })).await.unwrap();
        assert_eq!(receipt.offset, number);
    }
    let mut notices = first.notices();
    let disk = scene.shut_down().await.unwrap();
    let told = notices.next().await;
    assert!(matches!(told, Some(prom_client::Notice::Disconnected { .. })), "{told:?}");

    let scene = Scene::on(Some(disk)).await;
    let (second, _cable) = scene.client(2).await;
    let receipt = second.publish("orders.placed", json!({ "number": 500 })).await.unwrap();
    assert_eq!(receipt.offset, 500);
    let lost = scene.lose_power();
    drop(scene);

    let scene = Scene::on(Some(lost)).await;
    let (third, _cable) = scene.client(3).await;
    let mut all = third.subscribe("orders.*", "audit").from(Position::Earliest).start().await.unwrap();
    for offset in 0..=500 {
        let delivery = all.next().await.unwrap();
        assert_eq!(delivery.offset(), offset);
        delivery.ack().await.unwrap();
    }
}
