//! Tokens: where they come from, when they are renewed, what a refusal means.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prom_client::{ClientOptions, ConnectionState, Error, ErrorCode, json};

use crate::subscribe::subscribed;
use crate::support::{Hub, event, meet, options, within};

/// `token 1`, `token 2`…
fn provider() -> ClientOptions {
    let asked = Arc::new(AtomicU32::new(0));
    options().token_provider(move || {
        let number = asked.fetch_add(1, Ordering::Relaxed) + 1;
        async move { Ok::<_, Error>(format!("token {number}")) }
    })
}

fn expires_in(time: Duration) -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from((now + time).as_millis()).unwrap()
}

#[tokio::test]
async fn auth_comes_first_with_the_token_and_the_features() {
    let hub = Hub::start().await;
    let serve = async {
        let mut peer = hub.accept().await;
        let auth = peer.frame("AUTH").await;
        assert_eq!((&auth["token"], &auth["features"]), (&json!("secret"), &json!(["batch", "ordered"])));
        peer.err(&auth, "jwt_invalid").await;
        peer
    };
    let (refused, _peer) = meet(&hub, options().token("secret"), serve).await;
    assert_eq!(refused.err().unwrap().code(), Some(ErrorCode::JwtInvalid));
}

#[tokio::test]
async fn a_fresh_token_is_sent_before_the_last_expires_and_subscriptions_stay() {
    let hub = Hub::start().await;
    let welcome = json!({"expires_at_ms": expires_in(Duration::from_millis(500)), "features": ["batch"]});
    let (client, mut peer) = meet(&hub, provider(), hub.welcome_with(welcome)).await;
    let client = client.unwrap();
    let mut subscription = subscribed(&client, &mut peer).await;
    let auth = peer.frame("AUTH").await;
    assert_eq!(auth["token"], "token 2");
    peer.ok_with(&auth, json!({"expires_at_ms": expires_in(Duration::from_secs(3600))})).await;
    peer.lease("orders.*", "billing", event("orders.placed", 0), 30_000).await;
    assert!(within(subscription.next()).await.is_some());
    assert!(peer.is_quiet().await, "nothing is subscribed to again");
}

#[tokio::test]
async fn an_expired_token_is_replaced_and_what_it_refused_is_sent_again() {
    let hub = Hub::start().await;
    let (client, mut peer) = meet(&hub, provider(), hub.welcome()).await;
    let client = client.unwrap();
    let publishing = client.publish("a", json!(1)).send();
    let frame = peer.frame("PUBLISH").await;
    peer.err(&frame, "jwt_expired").await;
    let auth = peer.frame("AUTH").await;
    assert_eq!(auth["token"], "token 2");
    peer.ok(&auth).await;
    peer.close(4101).await;
    let mut peer = hub.accept().await;
    let auth = peer.frame("AUTH").await;
    assert_eq!(auth["token"], "token 3", "every connection gets a fresh one");
    peer.ok(&auth).await;
    let again = peer.frame("PUBLISH").await;
    assert_eq!(again["opts"]["id"], frame["opts"]["id"]);
    peer.receipt(&again, 0).await;
    within(publishing).await.unwrap();
}

#[tokio::test]
async fn refused_tokens_end_it_at_once_or_after_three_from_a_provider() {
    for (options, tries) in [(options().token("old"), 1), (provider(), 3)] {
        let hub = Hub::start().await;
        let (client, peer) = meet(&hub, options, hub.welcome()).await;
        let client = client.unwrap();
        let mut states = client.state_changes();
        peer.close(4101).await;
        for _ in 0..tries {
            let mut peer = hub.accept().await;
            let auth = peer.frame("AUTH").await;
            peer.err(&auth, "jwt_expired").await;
            while within(peer.next()).await.is_some() {}
        }
        let reason = within(async {
            loop {
                if let Some(ConnectionState::Closed { reason }) = states.next().await {
                    return reason;
                }
            }
        })
        .await;
        assert!(reason.contains("jwt_expired"), "{reason}");
        assert!(hub.is_left_alone().await);
    }
}
