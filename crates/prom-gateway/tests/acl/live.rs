//! Rights over time: tokens that end, keys that change, an endpoint that is down.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use prom_auth::{AuthOptions, JwksOptions};
use serde_json::{Value, json};

use crate::doors::{Deed, Doors};
use crate::issuer::{Endpoint, Key};

const SECRET: &str = "a secret that only tests know and that is long enough";

fn claims(exp_in_s: u64) -> Value {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    json!({"sub": "alpha", "exp": now + exp_in_s, "scopes": ["*"]})
}

async fn trusting(endpoint: &Endpoint) -> Doors {
    let jwks = JwksOptions { min_fetch_interval: Duration::from_millis(50), ..JwksOptions::default() };
    Doors::with(AuthOptions { jwks_url: Some(endpoint.url()), jwks, ..AuthOptions::default() }).await
}

/// Asks until both doors agree on this: fetches have a floor between them.
async fn eventually(doors: &Doors, token: &str, expected: &str) {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let http = doors.over_http(Some(token), reqwest::Method::GET, "/replay?topic=a", None).await;
        let websocket = doors.connect().await.ask(json!({"op": "AUTH", "token": token})).await;
        if (&*http, &*websocket) == (expected, expected) {
            return;
        }
        assert!(Instant::now() < deadline, "never {expected}: {http} and {websocket}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// As `eventually` at one door: a key is refused for good only by the fetch that looked for it, and until the next one
/// the answer is to try again.
async fn eventually_http(doors: &Doors, token: &str, expected: &str) {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let verdict = doors.over_http(Some(token), reqwest::Method::GET, "/replay?topic=a", None).await;
        if verdict == expected {
            return;
        }
        assert!(Instant::now() < deadline, "never {expected}: {verdict}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_token_that_ends_mid_stream_ends_the_stream_and_opens_no_door() {
    let auth =
        AuthOptions { jwt_secret: Some(SECRET.to_owned()), clock_tolerance: Duration::ZERO, ..AuthOptions::default() };
    let doors = Doors::with(auth).await;
    let token = Key::secret(SECRET).token("", &claims(2));
    let mut stream = doors.connect().await;
    assert_eq!(stream.ask(json!({"op": "AUTH", "token": token})).await, "ok");
    assert_eq!(stream.ask(json!({"op": "SUBSCRIBE", "topic": "a"})).await, "ok");
    doors.check("before", Some(&token), Deed::Publish("a"), "ok").await;
    let mut events = 0;
    let last = loop {
        match stream.next().await {
            Some(frame) if frame["op"] == "EVENT" => events += 1,
            Some(frame) => break frame,
            None => panic!("closed without a word"),
        }
    };
    assert_eq!((events, &last["code"]), (3, &json!("jwt_expired")));
    assert!(stream.next().await.is_none(), "and then it is closed");
    doors.check("after", Some(&token), Deed::Publish("a"), "jwt_expired").await;
    doors.check("after", Some(&token), Deed::Read("a"), "jwt_expired").await;
}

#[tokio::test]
async fn keys_rotate_without_a_restart() {
    let (old, new) = (Key::p256(), Key::p256());
    let endpoint = Endpoint::publishing(vec![old.published("old")]).await;
    let doors = trusting(&endpoint).await;
    let (by_old, by_new) = (old.token("old", &claims(600)), new.token("new", &claims(600)));
    eventually(&doors, &by_old, "ok").await;
    eventually_http(&doors, &by_new, "jwt_invalid").await;
    endpoint.publish(Some(vec![old.published("old"), new.published("new")]));
    eventually(&doors, &by_new, "ok").await;
    eventually(&doors, &by_old, "ok").await;
    endpoint.publish(Some(vec![new.published("new")]));
    // An unknown key makes the hub look, and then the old one is gone.
    let unknown = Key::p256().token("unknown", &claims(600));
    eventually_http(&doors, &unknown, "jwt_invalid").await;
    eventually_http(&doors, &by_old, "jwt_invalid").await;
    doors.check("the new one is in", Some(&by_new), Deed::Publish("a"), "ok").await;
}

#[tokio::test]
async fn a_key_that_was_taken_out_does_not_end_sockets_that_are_open() {
    let (old, new) = (Key::edwards(), Key::edwards());
    let endpoint = Endpoint::publishing(vec![old.published("old")]).await;
    let doors = trusting(&endpoint).await;
    let mut socket = doors.connect().await;
    assert_eq!(socket.ask(json!({"op": "AUTH", "token": old.token("old", &claims(600))})).await, "ok");
    endpoint.publish(Some(vec![new.published("new")]));
    eventually(&doors, &new.token("new", &claims(600)), "ok").await;
    assert_eq!(socket.ask(json!({"op": "PUBLISH", "topic": "a", "payload": 1})).await, "ok");
    assert_eq!(socket.ask(json!({"op": "AUTH", "token": new.token("new", &claims(600))})).await, "ok");
}

#[tokio::test]
async fn while_the_endpoint_is_down_known_keys_count_and_no_others_are_let_in() {
    let (known, later) = (Key::edwards(), Key::edwards());
    let endpoint = Endpoint::publishing(Vec::new()).await;
    endpoint.publish(None);
    let doors = trusting(&endpoint).await;
    let (by_known, by_later) = (known.token("known", &claims(600)), later.token("later", &claims(600)));
    doors.check("never fetched", Some(&by_known), Deed::Read("a"), "overloaded").await;
    doors.check("still forged", Some("x.y.z"), Deed::Read("a"), "jwt_invalid").await;
    endpoint.publish(Some(vec![known.published("known")]));
    eventually(&doors, &by_known, "ok").await;
    endpoint.publish(None);
    doors.check("a known key", Some(&by_known), Deed::Publish("a"), "ok").await;
    let unknown = doors.over_http(Some(&by_later), reqwest::Method::GET, "/replay?topic=a", None).await;
    assert!(unknown == "jwt_invalid" || unknown == "overloaded", "{unknown}");
    endpoint.publish(Some(vec![known.published("known"), later.published("later")]));
    eventually(&doors, &by_later, "ok").await;
}
