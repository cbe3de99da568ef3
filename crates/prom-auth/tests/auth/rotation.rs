//! Published keys over time: rotation, the floor between fetches, one fetch for all, endpoints that are down or lie.

use std::sync::Arc;
use std::time::{Duration, Instant};

use prom_auth::{AuthError, AuthOptions, Authenticator, JwksOptions};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::clock::ManualClock;
use crate::endpoint::{EndpointAnswer, TestEndpoint, unreachable_url};
use crate::signer::Signer;

const FLOOR: Duration = Duration::from_secs(30);
const REFRESH_AFTER: Duration = Duration::from_secs(600);
const MOMENT: Duration = Duration::from_millis(1);

/// A hub and its clock.
struct Hub {
    door: Authenticator,
    clock: Arc<ManualClock>,
}

impl Hub {
    fn trusting(url: String) -> Self {
        Self::with_timeout(url, Duration::from_secs(20))
    }

    fn with_timeout(url: String, timeout: Duration) -> Self {
        let clock = ManualClock::new();
        let jwks = JwksOptions { min_fetch_interval: FLOOR, refresh_after: REFRESH_AFTER, timeout };
        let options = AuthOptions { jwks_url: Some(url), jwks, ..AuthOptions::default() };
        Self { door: Authenticator::with_clock(options, clock.clone()).unwrap(), clock }
    }

    async fn say(&self, token: &str) -> &'static str {
        self.door.authenticate(Some(token)).await.map_or_else(|error| error.code(), |_| "ok")
    }

    /// Asks until this is the answer: a background refresh takes a moment.
    async fn eventually_says(&self, token: &str, expected: &str) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while self.say(token).await != expected {
            assert!(Instant::now() < deadline, "never said {expected}");
            tokio::task::yield_now().await;
        }
    }
}

fn token(signer: &Signer, kid: &str) -> String {
    signer.token(kid, &json!({"sub": "alpha"}))
}

#[tokio::test]
async fn keys_are_fetched_once_and_then_used() {
    let signer = Signer::eddsa();
    let endpoint = TestEndpoint::publishing(&[signer.jwk("1")]).await;
    let hub = Hub::trusting(endpoint.url());
    assert_eq!(endpoint.requests(), 0, "nothing is fetched before it is needed");
    for _ in 0..20 {
        assert_eq!(hub.say(&token(&signer, "1")).await, "ok");
    }
    assert_eq!(endpoint.requests(), 1);
}

#[tokio::test]
async fn a_new_key_is_fetched_when_a_token_names_it_and_the_old_one_is_dropped() {
    let (old, new) = (Signer::es256(), Signer::es256());
    let endpoint = TestEndpoint::publishing(&[old.jwk("old")]).await;
    let hub = Hub::trusting(endpoint.url());
    assert_eq!(hub.say(&token(&old, "old")).await, "ok");
    endpoint.publish(&[new.jwk("new")]);
    hub.clock.advance(FLOOR);
    assert_eq!(hub.say(&token(&old, "old")).await, "ok", "the hub has not heard otherwise yet");
    assert_eq!(hub.say(&token(&new, "new")).await, "ok");
    assert_eq!(endpoint.requests(), 2);
    assert_eq!(hub.say(&token(&old, "old")).await, "overloaded", "it could have come back meanwhile");
    hub.clock.advance(FLOOR);
    assert_eq!(hub.say(&token(&old, "old")).await, "jwt_invalid");
}

#[tokio::test]
async fn unknown_keys_cause_no_fetch_within_the_floor() {
    let (signer, forger) = (Signer::eddsa(), Signer::eddsa());
    let endpoint = TestEndpoint::publishing(&[signer.jwk("1")]).await;
    let hub = Hub::trusting(endpoint.url());
    assert_eq!(hub.say(&token(&signer, "1")).await, "ok");
    hub.clock.advance(FLOOR - MOMENT);
    for forged in 0..50 {
        assert_eq!(hub.say(&token(&forger, &format!("forged {forged}"))).await, "overloaded");
    }
    assert_eq!(endpoint.requests(), 1);
    hub.clock.advance(MOMENT);
    assert_eq!(hub.say(&token(&forger, "forged")).await, "jwt_invalid", "we looked, and it is not there");
    for forged in 0..50 {
        assert_eq!(hub.say(&token(&forger, &format!("forged {forged}"))).await, "overloaded");
    }
    assert_eq!(endpoint.requests(), 2);
}

#[tokio::test]
async fn endless_forged_tokens_cause_one_fetch_per_floor() {
    let (signer, forger) = (Signer::eddsa(), Signer::eddsa());
    let endpoint = TestEndpoint::publishing(&[signer.jwk("1")]).await;
    let hub = Hub::trusting(endpoint.url());
    for second in 0..FLOOR.as_secs() * 5 {
        hub.say(&token(&forger, &format!("forged {second}"))).await;
        hub.clock.advance(Duration::from_secs(1));
    }
    assert_eq!(endpoint.requests(), 5);
}

#[tokio::test]
async fn a_key_that_is_newer_than_the_last_fetch_is_not_refused_for_good() {
    let (old, new) = (Signer::eddsa(), Signer::eddsa());
    let endpoint = TestEndpoint::publishing(&[old.jwk("old")]).await;
    let hub = Hub::trusting(endpoint.url());
    assert_eq!(hub.say(&token(&old, "old")).await, "ok");
    endpoint.publish(&[old.jwk("old"), new.jwk("new")]);
    hub.clock.advance(Duration::from_millis(17_500));
    let error = hub.door.authenticate(Some(&token(&new, "new"))).await.unwrap_err();
    assert!(matches!(&error, AuthError::Unavailable { reason } if reason.contains("in 13 s")), "{error}");
    hub.clock.advance(Duration::from_secs(13));
    assert_eq!(hub.say(&token(&new, "new")).await, "ok");
}

#[tokio::test]
async fn a_thousand_callers_cause_one_fetch() {
    let signer = Signer::eddsa();
    let endpoint = TestEndpoint::publishing(&[signer.jwk("1")]).await;
    endpoint.hold();
    let hub = Arc::new(Hub::trusting(endpoint.url()));
    let token: Arc<str> = token(&signer, "1").into();
    let (arrived, mut arrivals) = tokio::sync::watch::channel(0);
    let callers: Vec<_> = (0..1000)
        .map(|_| {
            let (hub, token, arrived) = (hub.clone(), token.clone(), arrived.clone());
            tokio::spawn(async move {
                arrived.send_modify(|count| *count += 1);
                hub.say(&token).await
            })
        })
        .collect();
    arrivals.wait_for(|count| *count == 1000).await.unwrap();
    endpoint.wait_for_requests(1).await;
    endpoint.release();
    for caller in callers {
        assert_eq!(caller.await.unwrap(), "ok");
    }
    assert_eq!(endpoint.requests(), 1);
}

#[tokio::test]
async fn a_fetch_that_takes_longer_than_the_floor_is_still_the_only_one() {
    let signer = Signer::eddsa();
    let endpoint = TestEndpoint::publishing(&[signer.jwk("1")]).await;
    endpoint.hold();
    let hub = Hub::trusting(endpoint.url());
    let token = token(&signer, "1");
    let mut early = std::pin::pin!(hub.say(&token));
    tokio::select! {
        said = &mut early => panic!("said {said} without a key"),
        () = endpoint.wait_for_requests(1) => hub.clock.advance(FLOOR * 2),
    }
    let mut late = std::pin::pin!(hub.say(&token));
    tokio::select! {
        biased;
        said = &mut late => panic!("said {said} without a key"),
        () = endpoint.round_trip() => endpoint.release(),
    }
    assert_eq!((early.await, late.await), ("ok", "ok"));
    assert_eq!(endpoint.requests(), 1);
}

#[tokio::test]
async fn a_caller_that_leaves_does_not_end_the_fetch_for_the_others() {
    let signer = Signer::eddsa();
    let endpoint = TestEndpoint::publishing(&[signer.jwk("1")]).await;
    endpoint.hold();
    let hub = Arc::new(Hub::trusting(endpoint.url()));
    let caller = || {
        let (hub, token) = (hub.clone(), token(&signer, "1"));
        tokio::spawn(async move { hub.say(&token).await })
    };
    let impatient = caller();
    endpoint.wait_for_requests(1).await;
    let patient = caller();
    impatient.abort();
    assert!(impatient.await.unwrap_err().is_cancelled());
    endpoint.release();
    assert_eq!(patient.await.unwrap(), "ok");
    assert_eq!(endpoint.requests(), 1);
}

#[tokio::test]
async fn old_keys_are_refreshed_in_the_background() {
    let (old, new) = (Signer::eddsa(), Signer::eddsa());
    let endpoint = TestEndpoint::publishing(&[old.jwk("old")]).await;
    let hub = Hub::trusting(endpoint.url());
    assert_eq!(hub.say(&token(&old, "old")).await, "ok");
    hub.clock.advance(REFRESH_AFTER);
    endpoint.publish(&[new.jwk("new")]);
    endpoint.hold();
    assert_eq!(hub.say(&token(&old, "old")).await, "ok", "it does not wait for the refresh");
    endpoint.wait_for_requests(2).await;
    endpoint.release();
    hub.eventually_says(&token(&old, "old"), "overloaded").await;
    assert_eq!(hub.say(&token(&new, "new")).await, "ok");
    assert_eq!(endpoint.requests(), 2);
}

#[tokio::test]
async fn a_hub_that_was_idle_for_long_fetches_before_it_trusts_again() {
    let signer = Signer::eddsa();
    let endpoint = TestEndpoint::publishing(&[signer.jwk("1")]).await;
    let hub = Hub::trusting(endpoint.url());
    assert_eq!(hub.say(&token(&signer, "1")).await, "ok");
    endpoint.publish(&[]);
    hub.clock.advance(REFRESH_AFTER * 2);
    assert_eq!(hub.say(&token(&signer, "1")).await, "jwt_invalid", "withdrawn while the hub was idle");
}

#[tokio::test]
async fn known_keys_stay_in_use_while_the_endpoint_is_down() {
    let (signer, new) = (Signer::eddsa(), Signer::eddsa());
    let endpoint = TestEndpoint::publishing(&[signer.jwk("1")]).await;
    let hub = Hub::trusting(endpoint.url());
    assert_eq!(hub.say(&token(&signer, "1")).await, "ok");
    endpoint.answer(EndpointAnswer::Status(503));
    for round in 2..6 {
        hub.clock.advance(REFRESH_AFTER);
        assert_eq!(hub.say(&token(&signer, "1")).await, "ok", "round {round}");
        endpoint.wait_for_requests(round).await;
        hub.eventually_says(&token(&new, "new"), "overloaded").await;
    }
    endpoint.publish(&[new.jwk("new")]);
    hub.clock.advance(FLOOR);
    assert_eq!(hub.say(&token(&new, "new")).await, "ok");
    assert_eq!(hub.say(&token(&signer, "1")).await, "overloaded");
    hub.clock.advance(FLOOR);
    assert_eq!(hub.say(&token(&signer, "1")).await, "jwt_invalid");
}

#[tokio::test]
async fn without_any_key_callers_are_told_to_try_again_and_the_floor_holds() {
    let signer = Signer::eddsa();
    let endpoint = TestEndpoint::answering(EndpointAnswer::Status(500)).await;
    let hub = Hub::trusting(endpoint.url());
    for _ in 0..50 {
        assert_eq!(hub.say(&token(&signer, "1")).await, "overloaded");
    }
    assert_eq!(endpoint.requests(), 1);
    endpoint.publish(&[signer.jwk("1")]);
    assert_eq!(hub.say(&token(&signer, "1")).await, "overloaded", "still within the floor");
    hub.clock.advance(FLOOR);
    assert_eq!(hub.say(&token(&signer, "1")).await, "ok");
    assert_eq!(endpoint.requests(), 2);
}

#[tokio::test]
async fn an_answer_that_is_no_key_set_is_a_failure_with_a_reason() {
    let huge = format!("{{\"keys\":[],\"padding\":\"{}\"}}", "x".repeat(1024 * 1024));
    let cases = [
        (EndpointAnswer::Status(404), "404"),
        (EndpointAnswer::Status(204), "not a key set"),
        (EndpointAnswer::Body(String::new()), "not a key set"),
        (EndpointAnswer::Body("<html>sign in</html>".to_owned()), "not a key set"),
        (EndpointAnswer::Body(json!({"key": []}).to_string()), "not a key set"),
        (EndpointAnswer::Body(json!({"keys": {}}).to_string()), "not a key set"),
        (EndpointAnswer::Body("[".repeat(100_000)), "not a key set"),
        (EndpointAnswer::Body(huge), "larger than 1048576 bytes"),
        (EndpointAnswer::Redirect("https://127.0.0.1:9/keys".to_owned()), "redirects"),
        (EndpointAnswer::Redirect("file:///etc/passwd".to_owned()), "redirects"),
        (EndpointAnswer::Redirect("/keys".to_owned()), "redirects"),
    ];
    for (answer, expected) in cases {
        let hub = Hub::trusting(TestEndpoint::answering(answer).await.url());
        let error = hub.door.authenticate(Some(&token(&Signer::eddsa(), "1"))).await.unwrap_err();
        assert!(matches!(&error, AuthError::Unavailable { reason } if reason.contains(expected)), "{error}");
        assert!(!error.to_string().contains("127.0.0.1"), "callers need not know the address: {error}");
    }
}

#[tokio::test]
async fn an_answer_that_is_wrong_leaves_the_known_keys_alone() {
    let signer = Signer::eddsa();
    let endpoint = TestEndpoint::publishing(&[signer.jwk("1")]).await;
    let hub = Hub::trusting(endpoint.url());
    assert_eq!(hub.say(&token(&signer, "1")).await, "ok");
    endpoint.answer(EndpointAnswer::Body("oops".to_owned()));
    hub.clock.advance(FLOOR);
    assert_eq!(hub.say(&token(&signer, "2")).await, "overloaded");
    assert_eq!(hub.say(&token(&signer, "1")).await, "ok");
}

#[tokio::test]
async fn a_redirect_to_an_equally_safe_target_is_followed() {
    let signer = Signer::eddsa();
    let moved_to = TestEndpoint::publishing(&[signer.jwk("1")]).await;
    let endpoint = TestEndpoint::answering(EndpointAnswer::Redirect(moved_to.url())).await;
    assert_eq!(Hub::trusting(endpoint.url()).say(&token(&signer, "1")).await, "ok");
}

#[tokio::test]
async fn a_missing_and_a_silent_endpoint_fail_in_time() {
    let token = token(&Signer::eddsa(), "1");
    assert_eq!(Hub::trusting(unreachable_url().await).say(&token).await, "overloaded");

    let endpoint = TestEndpoint::publishing(&[]).await;
    endpoint.hold();
    let hub = Hub::with_timeout(endpoint.url(), Duration::from_millis(50));
    let error = hub.door.authenticate(Some(&token)).await.unwrap_err();
    assert!(error.to_string().contains("did not answer within 50ms"), "{error}");
}

#[tokio::test]
async fn an_endless_answer_is_cut_off() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let hub = Hub::trusting(format!("http://{}/keys", listener.local_addr().unwrap()));
    let endless = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let _ = socket.read(&mut [0; 4096]).await.unwrap();
        socket.write_all(b"HTTP/1.1 200 OK\r\n\r\n{\"keys\": [").await.unwrap();
        let mut written = 0_usize;
        while socket.write_all(&[b' '; 65_536]).await.is_ok() {
            written += 65_536;
        }
        written
    });
    let error = hub.door.authenticate(Some(&token(&Signer::eddsa(), "1"))).await.unwrap_err();
    assert!(error.to_string().contains("larger than"), "{error}");
    let written = tokio::time::timeout(Duration::from_secs(10), endless).await.expect("still reading").unwrap();
    assert!(written < 64 * 1024 * 1024, "{written} bytes were taken");
}

#[tokio::test]
async fn rights_come_from_the_token_whatever_signed_it() {
    let signer = Signer::rs256();
    let endpoint = TestEndpoint::publishing(&[signer.jwk("1")]).await;
    let hub = Hub::trusting(endpoint.url());
    let claims: Value = json!({"sub": "alpha", "scope": "openid subscribe:orders.**"});
    let identity = hub.door.authenticate(Some(&signer.token("1", &claims))).await.unwrap();
    let orders = prom_types::TopicPattern::parse("orders.*").unwrap();
    assert!(identity.policy.allows_pattern(prom_auth::Action::Subscribe, &orders, None));
    assert!(!identity.policy.allows_pattern(prom_auth::Action::Publish, &orders, None));
}
