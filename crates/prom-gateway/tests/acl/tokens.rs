//! The table of tokens: good ones, bad ones and forged ones, shown at every door.

use std::time::{SystemTime, UNIX_EPOCH};

use prom_auth::AuthOptions;
use serde_json::{Value, json};

use crate::doors::{Deed, Doors};
use crate::issuer::{Endpoint, Key, encode};

const SECRET: &str = "a secret that only tests know and that is long enough";

fn now_s() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64
}

/// Claims in order, with some of them replaced.
fn claims(changes: Value) -> Value {
    let mut claims = json!({"sub": "alpha", "aud": "hub", "iss": "issuer", "exp": now_s() + 600, "scopes": ["*"]});
    claims.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    claims
}

fn good() -> Value {
    claims(json!({}))
}

/// Whose keys the hub knows.
struct Issuer {
    secret: Key,
    rsa: Key,
    p256: Key,
    edwards: Key,
}

impl Issuer {
    fn published(&self) -> Vec<Value> {
        vec![self.rsa.published("rsa"), self.p256.published("p256"), self.edwards.published("edwards")]
    }
}

type Tokens = Vec<(&'static str, Option<String>, &'static str)>;

fn in_order(issuer: &Issuer) -> Tokens {
    let with = |changes| Some(issuer.secret.token("", &claims(changes)));
    vec![
        ("HS256", Some(issuer.secret.token("", &good())), "ok"),
        ("RS256", Some(issuer.rsa.token("rsa", &good())), "ok"),
        ("ES256", Some(issuer.p256.token("p256", &good())), "ok"),
        ("EdDSA", Some(issuer.edwards.token("edwards", &good())), "ok"),
        ("the static token", Some("for development".to_owned()), "ok"),
        ("no subject", with(json!({"sub": null})), "ok"),
        ("no end", with(json!({"exp": null})), "ok"),
        ("ended within the tolerance", with(json!({"exp": now_s() - 2})), "ok"),
        ("one of several audiences", with(json!({"aud": ["other", "hub"]})), "ok"),
        ("a foreign claim", with(json!({"https://example.com/role": {"a": 1}})), "ok"),
    ]
}

fn not_in_order(issuer: &Issuer) -> Tokens {
    let with = |changes| Some(issuer.secret.token("", &claims(changes)));
    vec![
        ("none", None, "no_token"),
        ("nonsense", Some("nonsense".to_owned()), "jwt_invalid"),
        ("three parts of nothing", Some("..".to_owned()), "jwt_invalid"),
        ("not base64", Some("a.b!.c".to_owned()), "jwt_invalid"),
        ("the beginning of the static token", Some("for develop".to_owned()), "jwt_invalid"),
        ("ended", with(json!({"exp": now_s() - 60})), "jwt_expired"),
        ("ended before the epoch", with(json!({"exp": -1})), "jwt_expired"),
        ("not begun", with(json!({"nbf": now_s() + 60})), "jwt_invalid"),
        ("another audience", with(json!({"aud": "other"})), "jwt_invalid"),
        ("no audience", with(json!({"aud": null})), "jwt_invalid"),
        ("another issuer", with(json!({"iss": "other"})), "jwt_invalid"),
        ("no issuer", with(json!({"iss": null})), "jwt_invalid"),
        ("an end that is no number", with(json!({"exp": "tomorrow"})), "jwt_invalid"),
        ("a misspelt scope", with(json!({"scopes": ["publsh:a"]})), "jwt_invalid"),
        ("a scope with a bad topic", with(json!({"scopes": ["publish:A B"]})), "jwt_invalid"),
        (
            "a policy with a misspelt field",
            with(json!({"policy": {"rules": [{"effect": "allow", "action": "*", "topics": ["a"], "group": ["g"]}]}})),
            "jwt_invalid",
        ),
        ("a policy that is text", with(json!({"policy": "all"})), "jwt_invalid"),
    ]
}

/// A key that is not published is answered "try again": the keys have just been fetched, and it may be newer.
fn forged(issuer: &Issuer) -> Tokens {
    let stranger = Key::rsa();
    let unsigned = |header: Value| format!("{}.{}.", encode(header.to_string()), encode(good().to_string()));
    let signed = issuer.secret.token("", &claims(json!({"scopes": []})));
    let parts: Vec<&str> = signed.split('.').collect();
    let altered = format!("{}.{}.{}", parts[0], encode(good().to_string()), parts[2]);
    let cut = signed[..signed.len() - 4].to_owned();
    let confused = |public: Vec<u8>, kid: &str| {
        Some(Key::secret(public).sign(&json!({"alg": "HS256", "typ": "JWT", "kid": kid}), &good()))
    };
    let own_key = json!({"alg": "RS256", "jwk": stranger.published("x"), "kid": "x"});
    let own_endpoint = json!({"alg": "RS256", "jku": "http://127.0.0.1:1/keys", "kid": "x"});
    vec![
        ("alg none", Some(unsigned(json!({"alg": "none", "typ": "JWT"}))), "jwt_invalid"),
        ("alg None", Some(unsigned(json!({"alg": "None"}))), "jwt_invalid"),
        ("alg none with a signature", Some(issuer.secret.sign(&json!({"alg": "none"}), &good())), "jwt_invalid"),
        ("no alg", Some(issuer.secret.sign(&json!({"typ": "JWT"}), &good())), "jwt_invalid"),
        ("no signature", Some(unsigned(json!({"alg": "HS256"}))), "jwt_invalid"),
        ("half a signature", Some(cut), "jwt_invalid"),
        ("altered claims", Some(altered), "jwt_invalid"),
        ("another secret", Some(Key::secret("guessed").token("", &good())), "jwt_invalid"),
        ("an empty secret", Some(Key::secret("").token("", &good())), "jwt_invalid"),
        ("a public RSA key as the secret", confused(issuer.rsa.public_bytes(), "rsa"), "jwt_invalid"),
        (
            "a public key as it is published as the secret",
            confused(issuer.rsa.published("rsa").to_string().into(), "rsa"),
            "jwt_invalid",
        ),
        ("a public P-256 key as the secret", confused(issuer.p256.public_bytes(), "p256"), "jwt_invalid"),
        (
            "a secret as an RSA key",
            Some(issuer.secret.sign(&json!({"alg": "RS256", "kid": "rsa"}), &good())),
            "jwt_invalid",
        ),
        (
            "one key under the name of another",
            Some(issuer.p256.sign(&json!({"alg": "ES256", "kid": "rsa"}), &good())),
            "overloaded",
        ),
        (
            "one algorithm under the name of another",
            Some(issuer.p256.sign(&json!({"alg": "RS256", "kid": "p256"}), &good())),
            "overloaded",
        ),
        ("a stranger's key under a known name", Some(stranger.token("rsa", &good())), "jwt_invalid"),
        ("a stranger's key under its own name", Some(stranger.token("x", &good())), "overloaded"),
        ("a key that the token brings along", Some(stranger.sign(&own_key, &good())), "overloaded"),
        ("an endpoint that the token brings along", Some(stranger.sign(&own_endpoint, &good())), "overloaded"),
        ("HS512", Some(issuer.secret.sign(&json!({"alg": "HS512"}), &good())), "jwt_invalid"),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_is_judged_alike_at_every_door() {
    let issuer = Issuer { secret: Key::secret(SECRET), rsa: Key::rsa(), p256: Key::p256(), edwards: Key::edwards() };
    let endpoint = Endpoint::publishing(issuer.published()).await;
    let doors = Doors::with(AuthOptions {
        jwt_secret: Some(SECRET.to_owned()),
        jwks_url: Some(endpoint.url()),
        audience: Some("hub".to_owned()),
        issuer: Some("issuer".to_owned()),
        static_token: Some("for development".to_owned()),
        ..AuthOptions::default()
    })
    .await;
    let mut cases = 0;
    for (name, token, expected) in [in_order(&issuer), not_in_order(&issuer), forged(&issuer)].concat() {
        cases += 1;
        doors.check(name, token.as_deref(), Deed::Publish("a"), expected).await;
        doors.check(name, token.as_deref(), Deed::Read("a"), expected).await;
    }
    println!("{cases} tokens");
    assert!(cases >= 40, "{cases}");
    assert_eq!(doors.bus.read("a", 0, 0, 1000).await.unwrap().events.len(), 3 * in_order(&issuer).len());
}
