//! Development tokens work on the hub whose secret they were made with, with the rights and for the time they name.

use std::time::{Duration, UNIX_EPOCH};

use prom_auth::{Action, AuthOptions, Authenticator, Identity, Rule, TokenRequest, mint};
use prom_types::TopicName;
use serde_json::json;

use crate::clock::{ManualClock, START_S};

const SECRET: &str = "a secret that is long enough for every test";

fn request() -> TokenRequest {
    TokenRequest { now: UNIX_EPOCH + Duration::from_secs(START_S as u64), ..TokenRequest::default() }
}

async fn enter(request: &TokenRequest) -> Identity {
    let options = AuthOptions {
        jwt_secret: Some(SECRET.to_owned()),
        audience: request.audience.clone(),
        issuer: request.issuer.clone(),
        ..AuthOptions::default()
    };
    let door = Authenticator::with_clock(options, ManualClock::new()).unwrap();
    door.authenticate(Some(&mint(request, SECRET).unwrap())).await.unwrap()
}

fn allows(identity: &Identity, action: Action, topic: &str) -> bool {
    identity.policy.allows(action, &TopicName::parse(topic).unwrap())
}

#[tokio::test]
async fn a_plain_token_sends_heartbeats_and_watches_processes() {
    let identity = enter(&request()).await;
    assert_eq!(identity.subject.as_deref(), Some("dev"));
    assert!(allows(&identity, Action::Publish, "heartbeat.received"));
    assert!(allows(&identity, Action::Subscribe, "process.state"));
    assert!(!allows(&identity, Action::Subscribe, "heartbeat.received"));
    assert_eq!(identity.expires_at_ms, Some((START_S + 24 * 60 * 60 + 5) * 1000));
}

#[tokio::test]
async fn a_token_says_what_was_asked_for() {
    let some = |text: &str| Some(text.to_owned());
    let rules: Vec<Rule> = serde_json::from_value(json!([
        {"effect": "allow", "action": "*", "topics": ["orders.**"]},
        {"effect": "deny", "action": "publish", "topics": ["orders.secret"]},
    ]))
    .unwrap();
    let request = TokenRequest {
        subject: "alpha".to_owned(),
        policy: Some(rules),
        audience: some("hub"),
        issuer: some("me"),
        lifetime: Duration::from_secs(60),
        ..request()
    };
    let identity = enter(&request).await;
    assert_eq!(identity.subject.as_deref(), Some("alpha"));
    assert_eq!(identity.expires_at_ms, Some((START_S + 65) * 1000));
    assert!(allows(&identity, Action::Admin, "orders.placed"));
    assert!(!allows(&identity, Action::Publish, "orders.secret"));
    assert!(!allows(&identity, Action::Publish, "heartbeat.received"), "the policy wins over the scopes");
}

#[test]
fn rights_that_a_hub_would_refuse_are_not_minted() {
    let misspelt = TokenRequest { scopes: vec!["pubish:orders".to_owned()], ..request() };
    assert_eq!(mint(&misspelt, SECRET).unwrap_err().code(), "jwt_invalid");
    assert_eq!(mint(&request(), "").unwrap_err().code(), "internal");
}
