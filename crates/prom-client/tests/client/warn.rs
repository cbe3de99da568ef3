//! Trouble that no listener hears of is a warning.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use prom_client::{ClientOptions, Delivery, Error, Notice, json};
use tracing::subscriber::DefaultGuard;

use crate::support::{Hub, connected, event, notice, options, within};

/// What was logged in this thread.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn begin() -> (Self, DefaultGuard) {
        let log = Self::default();
        let written = log.clone();
        let subscriber = tracing_subscriber::fmt().with_writer(move || written.clone()).finish();
        (log, tracing::subscriber::set_default(subscriber))
    }

    fn warnings(&self) -> Vec<String> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        text.lines().filter(|line| line.contains("WARN")).map(str::to_owned).collect()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Two handlers fail, a publish is slowed down, and the group is deleted.
async fn have_trouble(hub: &Hub, listens: bool) -> Vec<Notice> {
    let (client, mut peer) = connected(hub).await;
    let mut notices = listens.then(|| client.notices());
    let running = client.subscribe("a", "g").concurrency(2).run(|_: Delivery| async { Err::<(), _>("no stock") });
    let serve = async {
        peer.subscribe().await;
        for offset in 0..2 {
            peer.lease("a", "g", event("a", offset), 90_000).await;
            let nack = peer.frame("NACK").await;
            peer.ok(&nack).await;
        }
        let publishing = client.publish("a", json!(1)).send();
        let publish = peer.frame("PUBLISH").await;
        peer.err_with(&publish, "rate_limited", json!({"retry_after_ms": 1})).await;
        let again = peer.frame("PUBLISH").await;
        peer.receipt(&again, 0).await;
        within(publishing).await.unwrap();
        let deleted =
            json!({"op": "ERR", "topic": "a", "group": "g", "code": "bad_request", "msg": "the group is deleted"});
        peer.send(deleted).await;
    };
    let (ran, ()) = within(async { tokio::join!(running, serve) }).await;
    assert!(matches!(&ran, Err(Error::Refused { message, .. }) if message.contains("deleted")), "{ran:?}");
    let mut heard = Vec::new();
    if let Some(notices) = &mut notices {
        let is_last = |notice: &Notice| matches!(notice, Notice::SubscriptionEnded { .. });
        while !heard.last().is_some_and(is_last) {
            heard.push(notice(notices, |_| true).await);
        }
    }
    heard
}

#[tokio::test]
async fn without_a_listener_each_kind_of_trouble_is_a_warning_once() {
    let hub = Hub::start().await;
    let (log, _guard) = Log::begin();
    have_trouble(&hub, false).await;
    let warnings = log.warnings();
    let expected = ["no stock", "slows publishing down", "to a in group g has ended: the group is deleted"];
    assert_eq!(warnings.len(), expected.len(), "{warnings:#?}");
    for (warning, expected) in warnings.iter().zip(expected) {
        assert!(warning.contains(expected), "{warning} lacks {expected:?}");
    }
}

#[tokio::test]
async fn a_listener_hears_of_each_and_nothing_is_logged() {
    let hub = Hub::start().await;
    let (log, _guard) = Log::begin();
    let heard = have_trouble(&hub, true).await;
    assert_eq!(log.warnings(), Vec::<String>::new());
    let failed =
        heard.iter().filter(|notice| matches!(notice, Notice::HandlerFailed { reason, .. } if reason == "no stock"));
    assert_eq!(failed.count(), 2, "{heard:?}");
    let retry_in = Duration::from_millis(1);
    let slowed =
        |notice: &&Notice| matches!(notice, Notice::PublishingSlowed { retry_in: told, .. } if *told == retry_in);
    assert_eq!(heard.iter().filter(slowed).count(), 1, "{heard:?}");
}

#[tokio::test]
async fn a_subscription_that_the_hub_does_not_agree_to_is_told_to_its_caller_alone() {
    let hub = Hub::start().await;
    let (log, _guard) = Log::begin();
    let (client, mut peer) = connected(&hub).await;
    let refuse = async {
        let asked = peer.frame("SUBSCRIBE").await;
        peer.err(&asked, "forbidden").await;
    };
    let (started, ()) = within(async { tokio::join!(client.subscribe("a", "g").start(), refuse) }).await;
    assert!(started.is_err());
    assert_eq!(log.warnings(), Vec::<String>::new());
}

#[tokio::test]
async fn a_hub_that_cannot_be_reached_is_a_warning() {
    let (log, _guard) = Log::begin();
    let client = prom_client::Client::connect_in_background("http://127.0.0.1:1", unreachable()).unwrap();
    within(async {
        while log.warnings().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    assert!(log.warnings()[0].contains("no connection to the hub"), "{:?}", log.warnings());
    client.close().await;
}

fn unreachable() -> ClientOptions {
    options().drain_timeout(Duration::from_millis(10))
}
