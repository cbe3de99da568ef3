//! Tokens of the real hub.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use prom_client::{Client, ClientOptions, ConnectionState, Error, ErrorCode, Notice, json};

use crate::scene::{Scene, token, within};

#[tokio::test]
async fn rights_are_those_of_the_token() {
    let scene = Scene::protected().await;
    let url = format!("http://{}", scene.address);
    let refused = within(Client::connect(&url, ClientOptions::default())).await.err().unwrap();
    assert_eq!(refused.code(), Some(ErrorCode::NoToken));
    let forged = ClientOptions::default().token("forged");
    let refused = within(Client::connect(&url, forged)).await.err().unwrap();
    assert_eq!(refused.code(), Some(ErrorCode::JwtInvalid));
    let options = ClientOptions::default().token(token(&["publish:a"], Duration::from_secs(60)));
    let client = scene.client_with(options).await;
    within(client.publish("a", json!(1)).send()).await.unwrap();
    let refused = within(client.publish("b", json!(1)).send()).await.unwrap_err();
    assert_eq!(refused.code(), Some(ErrorCode::Forbidden));
    let refused = within(client.subscribe("a", "g").start()).await.err().unwrap();
    assert_eq!(refused.code(), Some(ErrorCode::Forbidden));
}

#[tokio::test]
async fn a_token_is_renewed_before_it_expires_and_nothing_is_interrupted() {
    let scene = Scene::strict().await;
    let made = Arc::new(AtomicU32::new(0));
    let options = ClientOptions::default().token_provider({
        let made = made.clone();
        move || {
            made.fetch_add(1, Ordering::Relaxed);
            async { Ok::<_, Error>(token(&["publish", "subscribe"], Duration::from_secs(3))) }
        }
    });
    let client = scene.client_with(options).await;
    assert_eq!(client.state(), ConnectionState::Connected);
    let mut notices = client.notices();
    let mut events = within(client.subscribe("a", "g").start()).await.unwrap();
    within(async {
        while made.load(Ordering::Relaxed) < 3 {
            client.publish("a", json!(1)).await.unwrap();
            events.next().await.unwrap().ack().await.unwrap();
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    within(client.close()).await;
    while let Some(notice) = tokio::time::timeout(Duration::from_millis(10), notices.next()).await.ok().flatten() {
        assert!(matches!(notice, Notice::Connected { .. }), "{notice:?}");
    }
}
