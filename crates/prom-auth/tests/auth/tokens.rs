//! Tokens signed with a secret, and the static token: what is accepted, and with which code the rest is refused.

use std::time::Duration;

use prom_auth::{Action, AuthError, AuthOptions, Authenticator, Identity};
use prom_types::TopicName;
use serde_json::{Value, json};

use crate::clock::{ManualClock, START_S};
use crate::signer::{Signer, encode};

const SECRET: &str = "a secret that is long enough for every test";

fn options() -> AuthOptions {
    AuthOptions {
        jwt_secret: Some(SECRET.to_owned()),
        audience: Some("hub".to_owned()),
        issuer: Some("https://issuer.example".to_owned()),
        ..AuthOptions::default()
    }
}

async fn enter(options: AuthOptions, token: Option<&str>) -> Result<Identity, AuthError> {
    Authenticator::with_clock(options, ManualClock::new()).unwrap().authenticate(token).await
}

/// Valid claims, some of them replaced; `null` counts as absent.
fn claims(changes: Value) -> Value {
    let mut claims = json!({"sub": "alpha", "aud": "hub", "iss": "https://issuer.example", "exp": START_S + 60});
    claims.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    claims
}

fn code(result: &Result<Identity, AuthError>) -> &'static str {
    result.as_ref().map_or_else(AuthError::code, |_| "ok")
}

#[tokio::test]
async fn a_hub_that_wants_tokens_to_expire_refuses_those_that_never_do() {
    let strict = AuthOptions { require_exp: true, static_token: Some("dev".to_owned()), ..options() };
    let endless = Signer::hs256(SECRET).token("any", &claims(json!({"exp": null})));
    let refused = enter(strict.clone(), Some(&endless)).await.unwrap_err();
    assert!(refused.code() == "jwt_invalid" && refused.to_string().contains("`exp`"), "{refused}");
    assert_eq!(code(&enter(strict.clone(), Some(&Signer::hs256(SECRET).token("any", &claims(json!({}))))).await), "ok");
    assert_eq!(code(&enter(strict, Some("dev")).await), "ok", "the static token is no JWT");
    assert_eq!(code(&enter(options(), Some(&endless)).await), "ok");
}

#[tokio::test]
async fn claims_are_judged_one_by_one() {
    let cases = [
        ("all in order", json!({}), "ok"),
        ("no subject", json!({"sub": null}), "ok"),
        ("a subject that is no text", json!({"sub": 7}), "jwt_invalid"),
        ("one of several audiences", json!({"aud": ["other", "hub"]}), "ok"),
        ("another audience", json!({"aud": "other"}), "jwt_invalid"),
        ("other audiences", json!({"aud": ["other", "another"]}), "jwt_invalid"),
        ("no audience in the list", json!({"aud": []}), "jwt_invalid"),
        ("no audience", json!({"aud": null}), "jwt_invalid"),
        ("an audience that is no text", json!({"aud": {"hub": true}}), "jwt_invalid"),
        ("an audience that begins alike", json!({"aud": "hub2"}), "jwt_invalid"),
        ("another issuer", json!({"iss": "https://issuer.example/"}), "jwt_invalid"),
        ("no issuer", json!({"iss": null}), "jwt_invalid"),
        ("no end", json!({"exp": null}), "ok"),
        ("ended within the tolerance", json!({"exp": START_S - 4}), "ok"),
        ("ended just beyond the tolerance", json!({"exp": START_S - 5}), "jwt_expired"),
        ("ended long ago", json!({"exp": 1}), "jwt_expired"),
        ("ended before the epoch", json!({"exp": -1}), "jwt_expired"),
        ("ends at a fraction of a second, within", json!({"exp": START_S as f64 - 4.999}), "ok"),
        ("ends at a fraction of a second, beyond", json!({"exp": START_S as f64 - 5.001}), "jwt_expired"),
        ("ends after the end of time", json!({"exp": 1e300}), "ok"),
        ("ends after the end of whole numbers", json!({"exp": u64::MAX}), "ok"),
        ("an end that is no number", json!({"exp": (START_S + 60).to_string()}), "jwt_invalid"),
        ("begins within the tolerance", json!({"nbf": START_S + 5}), "ok"),
        ("begins later", json!({"nbf": START_S + 6}), "jwt_invalid"),
        ("a beginning that is no number", json!({"nbf": "now"}), "jwt_invalid"),
        ("scopes as text", json!({"scopes": "publish:a subscribe:b.**"}), "ok"),
        ("scopes as a number", json!({"scopes": 1}), "jwt_invalid"),
        ("scopes that are not all text", json!({"scopes": ["publish:a", 1]}), "jwt_invalid"),
        ("a scope with an unknown action", json!({"scopes": ["publsh:a"]}), "jwt_invalid"),
        ("a good scope and a bad one", json!({"scopes": ["publish:a", "publish:A"]}), "jwt_invalid"),
        ("another system's scope", json!({"scope": "openid profile publish:a"}), "ok"),
        ("a bad scope of ours", json!({"scope": "openid publish:A"}), "jwt_invalid"),
        ("a policy that is text", json!({"policy": "allow all"}), "jwt_invalid"),
        ("a policy without rules", json!({"policy": {}}), "jwt_invalid"),
        ("a policy with more than rules", json!({"policy": {"rules": [], "default": "allow"}}), "jwt_invalid"),
        ("a policy with a bad rule", json!({"policy": [{"effect": "allow", "action": "*"}]}), "jwt_invalid"),
        ("a policy with no rule", json!({"policy": []}), "ok"),
        ("a bad policy next to good scopes", json!({"policy": 1, "scopes": ["*"]}), "jwt_invalid"),
    ];
    for (name, changes, expected) in cases {
        let token = Signer::hs256(SECRET).token("any", &claims(changes));
        let result = enter(options(), Some(&token)).await;
        assert_eq!(code(&result), expected, "{name}: {:?}", result.err());
    }
}

#[tokio::test]
async fn what_is_not_signed_with_the_secret_is_refused() {
    let claims = claims(json!({}));
    let good = Signer::hs256(SECRET).token("any", &claims);
    let (message, signature) = good.rsplit_once('.').unwrap();
    let (header, payload) = message.split_once('.').unwrap();
    let other_payload = encode(json!({"sub": "echo", "aud": "hub", "scopes": ["*"]}).to_string());
    let none = encode(json!({"alg": "none"}).to_string());
    let sign = |header: Value| Signer::hs256(SECRET).sign(&header, &claims);
    let cases = [
        ("as signed", good.clone(), "ok"),
        ("another secret", Signer::hs256("another").token("any", &claims), "jwt_invalid"),
        ("another payload", format!("{header}.{other_payload}.{signature}"), "jwt_invalid"),
        ("no signature", format!("{message}."), "jwt_invalid"),
        ("half a signature", format!("{message}.{}", &signature[..20]), "jwt_invalid"),
        ("a padded signature", format!("{good}="), "jwt_invalid"),
        ("two parts", message.to_owned(), "jwt_invalid"),
        ("four parts", format!("{good}.{signature}"), "jwt_invalid"),
        ("alg none without a signature", format!("{none}.{payload}."), "jwt_invalid"),
        ("alg none with a signature", sign(json!({"alg": "none"})), "jwt_invalid"),
        ("alg NONE", sign(json!({"alg": "NONE"})), "jwt_invalid"),
        ("alg in lower case", sign(json!({"alg": "hs256"})), "jwt_invalid"),
        ("alg HS512", sign(json!({"alg": "HS512"})), "jwt_invalid"),
        ("alg RS256 where no keys are published", sign(json!({"alg": "RS256"})), "jwt_invalid"),
        ("no alg", sign(json!({"typ": "JWT"})), "jwt_invalid"),
        ("alg as a list", sign(json!({"alg": ["HS256"]})), "jwt_invalid"),
        ("critical extensions", sign(json!({"alg": "HS256", "crit": ["exp"], "exp": 1})), "jwt_invalid"),
        ("empty critical extensions", sign(json!({"alg": "HS256", "crit": []})), "jwt_invalid"),
        ("a kid that is no text", sign(json!({"alg": "HS256", "kid": 1})), "jwt_invalid"),
        ("a header that is no object", sign(json!("HS256")), "jwt_invalid"),
        ("claims that are no object", Signer::hs256(SECRET).token("any", &json!([])), "jwt_invalid"),
        ("not a token", "let me in".to_owned(), "jwt_invalid"),
        ("dots", "..".to_owned(), "jwt_invalid"),
        ("no ASCII", "ä.ö.ü".to_owned(), "jwt_invalid"),
        ("too long", format!("{header}.{}.{signature}", "a".repeat(70_000)), "jwt_invalid"),
        ("empty", String::new(), "no_token"),
    ];
    for (name, token, expected) in cases {
        let result = enter(options(), Some(&token)).await;
        assert_eq!(code(&result), expected, "{name}: {:?}", result.err());
    }
    assert_eq!(code(&enter(options(), None).await), "no_token");
}

#[tokio::test]
async fn an_identity_says_who_it_is_and_how_long_tolerance_included() {
    let tolerant = AuthOptions { clock_tolerance: Duration::from_millis(1500), ..options() };
    let token = Signer::hs256(SECRET).token("any", &claims(json!({"exp": START_S + 1})));
    let identity = enter(tolerant.clone(), Some(&token)).await.unwrap();
    assert_eq!(identity.subject.as_deref(), Some("alpha"));
    assert_eq!(identity.expires_at_ms, Some(START_S * 1000 + 2500));
    let endless = Signer::hs256(SECRET).token("any", &claims(json!({"exp": null})));
    assert_eq!(enter(tolerant, Some(&endless)).await.unwrap().expires_at_ms, None);
}

#[tokio::test]
async fn a_token_is_accepted_until_the_moment_its_identity_names() {
    let clock = ManualClock::new();
    let door = Authenticator::with_clock(options(), clock.clone()).unwrap();
    let token = Signer::hs256(SECRET).token("any", &claims(json!({"exp": START_S + 1})));
    clock.advance(Duration::from_millis(5999));
    assert_eq!(code(&door.authenticate(Some(&token)).await), "ok");
    clock.advance(Duration::from_millis(1));
    assert_eq!(code(&door.authenticate(Some(&token)).await), "jwt_expired");
}

#[tokio::test]
async fn policy_wins_over_scopes_and_scopes_over_scope() {
    let deny = json!([{"effect": "deny", "action": "*", "topics": ["**"]}]);
    let cases = [
        (json!({"scope": "publish:a"}), true),
        (json!({"scope": ["publish:a"]}), true),
        (json!({"scope": "publish:a", "scopes": []}), false),
        (json!({"scopes": ["publish:a"], "policy": deny}), false),
        (json!({"scopes": ["publish:a"], "policy": {"rules": deny}}), false),
        (json!({"scopes": ["publish:a"], "policy": []}), false),
        (json!({"scopes": ["publish:a"], "policy": null}), true),
        (json!({"policy": {"rules": [{"effect": "allow", "action": "*", "topics": ["a"]}]}}), true),
        (json!({"scopes": "publish:a"}), true),
        (json!({"scopes": ""}), false),
        (json!({}), false),
    ];
    for (rights, expected) in cases {
        let token = Signer::hs256(SECRET).token("any", &claims(rights.clone()));
        let identity = enter(options(), Some(&token)).await.unwrap();
        let allowed = identity.policy.allows(Action::Publish, &TopicName::parse("a").unwrap());
        assert_eq!(allowed, expected, "{rights}");
    }
}

#[tokio::test]
async fn without_expectations_audience_and_issuer_are_not_checked() {
    let lax = AuthOptions { audience: None, issuer: None, ..options() };
    let token = Signer::hs256(SECRET).token("any", &claims(json!({"aud": "other", "iss": "other"})));
    assert_eq!(code(&enter(lax, Some(&token)).await), "ok");
}

#[tokio::test]
async fn an_open_hub_lets_every_caller_in_with_every_right() {
    let door = Authenticator::new(AuthOptions::default()).unwrap();
    assert!(door.is_open());
    for token in [None, Some(""), Some("anything")] {
        let identity = door.authenticate(token).await.unwrap();
        assert_eq!((identity.subject, identity.expires_at_ms), (None, None));
        assert!(identity.policy.allows(Action::Subscribe, &TopicName::parse("dlq.orders").unwrap()));
        assert!(identity.policy.allows_everywhere(Action::Admin));
    }
}

#[tokio::test]
async fn the_static_token_opens_everything_and_nothing_else_does() {
    let only_static = AuthOptions { static_token: Some("open sesame".to_owned()), ..AuthOptions::default() };
    let door = Authenticator::new(only_static.clone()).unwrap();
    assert!(!door.is_open());
    let identity = door.authenticate(Some("open sesame")).await.unwrap();
    assert_eq!(identity.subject.as_deref(), Some("dev"));
    assert!(identity.policy.allows_everywhere(Action::Admin));
    for wrong in ["open sesam", "open sesame ", "Open sesame", "x"] {
        assert_eq!(code(&door.authenticate(Some(wrong)).await), "jwt_invalid", "{wrong}");
    }
    assert_eq!(code(&door.authenticate(None).await), "no_token");

    let both = AuthOptions { static_token: only_static.static_token, ..options() };
    let token = Signer::hs256(SECRET).token("any", &claims(json!({})));
    assert_eq!(code(&enter(both.clone(), Some("open sesame")).await), "ok");
    assert_eq!(code(&enter(both, Some(&token)).await), "ok");
}

#[test]
fn contradictory_or_unsafe_options_are_refused() {
    let some = |text: &str| Some(text.to_owned());
    let no_floor = prom_auth::JwksOptions { min_fetch_interval: Duration::ZERO, ..Default::default() };
    let cases = [
        AuthOptions { jwt_secret: some(""), ..AuthOptions::default() },
        AuthOptions { static_token: some(""), ..AuthOptions::default() },
        AuthOptions { audience: some(""), ..options() },
        AuthOptions { issuer: some(""), ..options() },
        AuthOptions { jwks_url: some(""), ..AuthOptions::default() },
        AuthOptions { jwks_url: some("issuer.example/keys"), ..AuthOptions::default() },
        AuthOptions { jwks_url: some("file:///etc/keys.json"), ..AuthOptions::default() },
        AuthOptions { jwks_url: some("ftp://issuer.example/keys"), ..AuthOptions::default() },
        AuthOptions { jwks_url: some("https://issuer.example/keys"), jwks: no_floor, ..AuthOptions::default() },
    ];
    for options in cases {
        let refused = Authenticator::new(options.clone()).err().map(|error| error.code());
        assert_eq!(refused, Some("internal"), "{options:?}");
    }
}

#[test]
fn options_in_a_log_hide_secrets() {
    let options = AuthOptions { static_token: Some("open sesame".to_owned()), ..options() };
    let logged = format!("{options:?}");
    assert!(!logged.contains("sesame") && !logged.contains(SECRET), "{logged}");
    assert!(logged.contains("https://issuer.example"), "{logged}");
}
