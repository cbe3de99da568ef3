//! Tokens signed with published keys: each algorithm, keys that do not fit, and attempts to confuse one with another.

use aws_lc_rs::rsa::KeySize;
use prom_auth::{AuthError, AuthOptions, Authenticator};
use serde_json::{Value, json};

use crate::clock::ManualClock;
use crate::endpoint::TestEndpoint;
use crate::signer::Signer;

const SECRET: &str = "a secret that is long enough for every test";

/// The hub's answer to a token while these keys are published.
async fn say(keys: &[Value], secret: Option<&str>, token: &str) -> &'static str {
    let endpoint = TestEndpoint::publishing(keys).await;
    let options =
        AuthOptions { jwks_url: Some(endpoint.url()), jwt_secret: secret.map(str::to_owned), ..AuthOptions::default() };
    let door = Authenticator::with_clock(options, ManualClock::new()).unwrap();
    door.authenticate(Some(token)).await.map_or_else(|error| error.code(), |_| "ok")
}

fn with(mut jwk: Value, changes: Value) -> Value {
    for (name, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => jwk.as_object_mut().unwrap().remove(name),
            value => jwk.as_object_mut().unwrap().insert(name.clone(), value.clone()),
        };
    }
    jwk
}

#[tokio::test]
async fn every_algorithm_verifies_what_its_key_signed_and_nothing_else() {
    let claims = json!({"sub": "alpha"});
    for (signer, stranger) in
        [(Signer::rs256(), Signer::rs256()), (Signer::es256(), Signer::es256()), (Signer::eddsa(), Signer::eddsa())]
    {
        let keys = [signer.jwk("k")];
        let token = signer.token("k", &claims);
        assert_eq!(say(&keys, None, &token).await, "ok", "{}", signer.algorithm());
        assert_eq!(say(&keys, None, &stranger.token("k", &claims)).await, "jwt_invalid", "a stranger's key");
        let altered = signer.token("k", &json!({"sub": "echo"}));
        let (message, _) = altered.rsplit_once('.').unwrap();
        let (_, signature) = token.rsplit_once('.').unwrap();
        assert_eq!(say(&keys, None, &format!("{message}.{signature}")).await, "jwt_invalid", "altered claims");
        assert_eq!(say(&keys, None, &format!("{message}.")).await, "jwt_invalid", "no signature");
    }
}

#[tokio::test]
async fn a_key_is_used_only_for_its_stated_purpose() {
    let signer = Signer::es256();
    let token = signer.token("k", &json!({}));
    let jwk = signer.jwk("k");
    let cases = [
        ("as it is", json!({}), "ok"),
        ("no alg", json!({"alg": null}), "ok"),
        ("no use", json!({"use": null}), "ok"),
        ("allowed to verify", json!({"key_ops": ["sign", "verify"]}), "ok"),
        ("unknown fields", json!({"x5t": "abc", "issuer": 1}), "ok"),
        ("another alg", json!({"alg": "RS256"}), "jwt_invalid"),
        ("the alg of a secret", json!({"alg": "HS256"}), "jwt_invalid"),
        ("for encryption", json!({"use": "enc"}), "jwt_invalid"),
        ("not allowed to verify", json!({"key_ops": ["encrypt"]}), "jwt_invalid"),
        ("allowed nothing", json!({"key_ops": []}), "jwt_invalid"),
        ("another kid", json!({"kid": "other"}), "jwt_invalid"),
        ("no kid", json!({"kid": null}), "jwt_invalid"),
        ("another curve", json!({"crv": "P-384"}), "jwt_invalid"),
        ("another kind", json!({"kty": "OKP", "crv": "Ed25519"}), "jwt_invalid"),
        ("no kind", json!({"kty": null}), "jwt_invalid"),
        ("half a point", json!({"y": null}), "jwt_invalid"),
        ("a short coordinate", json!({"x": "AAAA"}), "jwt_invalid"),
        ("a point that is not on the curve", json!({"x": "A".repeat(43)}), "jwt_invalid"),
        ("not base64url", json!({"x": "+/=="}), "jwt_invalid"),
    ];
    for (name, changes, expected) in cases {
        assert_eq!(say(&[with(jwk.clone(), changes)], None, &token).await, expected, "{name}");
    }
}

#[tokio::test]
async fn keys_that_cannot_be_used_do_not_disturb_those_that_can() {
    let signer = Signer::eddsa();
    let others = [json!({"kty": "new kind"}), json!(7), json!({}), json!({"kty": "oct", "k": "AAAA", "kid": "k"})];
    let keys: Vec<Value> = others.into_iter().chain([signer.jwk("k")]).collect();
    assert_eq!(say(&keys, None, &signer.token("k", &json!({}))).await, "ok");
}

#[tokio::test]
async fn short_rsa_keys_are_not_used() {
    let signer = Signer::rs256();
    let token = signer.token("k", &json!({}));
    let short = with(signer.jwk("k"), json!({"n": "A".repeat(170)}));
    assert_eq!(say(&[short], None, &token).await, "jwt_invalid");
    let long = Signer::rsa(KeySize::Rsa3072);
    assert_eq!(say(&[long.jwk("k")], None, &long.token("k", &json!({}))).await, "ok");
}

#[tokio::test]
async fn a_token_without_a_kid_needs_exactly_one_key_of_its_algorithm() {
    let (one, other, edwards) = (Signer::es256(), Signer::es256(), Signer::eddsa());
    let token = one.sign(&json!({"alg": "ES256"}), &json!({}));
    assert_eq!(say(&[one.jwk("1"), edwards.jwk("2")], None, &token).await, "ok");
    assert_eq!(say(&[with(one.jwk("1"), json!({"kid": null}))], None, &token).await, "ok");
    assert_eq!(say(&[one.jwk("1"), other.jwk("2")], None, &token).await, "jwt_invalid");
    assert_eq!(say(&[edwards.jwk("2")], None, &token).await, "jwt_invalid");
    let for_encryption = with(other.jwk("2"), json!({"use": "enc"}));
    assert_eq!(say(&[one.jwk("1"), for_encryption], None, &token).await, "ok");
}

#[tokio::test]
async fn two_keys_of_one_name_are_told_apart_by_algorithm_and_signature() {
    let (one, other, edwards) = (Signer::es256(), Signer::es256(), Signer::eddsa());
    let keys = [one.jwk("k"), other.jwk("k"), edwards.jwk("k")];
    for signer in [&one, &other, &edwards] {
        assert_eq!(say(&keys, None, &signer.token("k", &json!({}))).await, "ok", "{}", signer.algorithm());
    }
    assert_eq!(say(&keys, None, &Signer::es256().token("k", &json!({}))).await, "jwt_invalid");
}

#[tokio::test]
async fn public_keys_never_verify_an_hs256_token() {
    let signer = Signer::rs256();
    let jwk = signer.jwk("k");
    let header = json!({"alg": "HS256", "kid": "k"});
    // Everything an attacker can download, used as the secret of an HS256 signature.
    let public = [jwk["n"].as_str().unwrap().to_owned(), jwk.to_string(), json!({"keys": [jwk]}).to_string()];
    for (public, secret) in public.iter().flat_map(|public| [(public, None), (public, Some(SECRET))]) {
        let forged = Signer::hs256(public).sign(&header, &json!({"scopes": ["*"]}));
        assert_eq!(say(std::slice::from_ref(&jwk), secret, &forged).await, "jwt_invalid");
    }
    let symmetric = with(Signer::hs256(SECRET).jwk("k"), json!({}));
    let token = Signer::hs256(SECRET).sign(&header, &json!({}));
    assert_eq!(say(&[symmetric], None, &token).await, "jwt_invalid", "a published secret is not a secret");
}

#[tokio::test]
async fn with_both_configured_the_algorithm_decides() {
    let signer = Signer::es256();
    let keys = [signer.jwk("k")];
    assert_eq!(say(&keys, Some(SECRET), &signer.token("k", &json!({}))).await, "ok");
    assert_eq!(say(&keys, Some(SECRET), &Signer::hs256(SECRET).token("k", &json!({}))).await, "ok");
    assert_eq!(say(&keys, Some(SECRET), &Signer::hs256("another").token("k", &json!({}))).await, "jwt_invalid");
    assert_eq!(say(&keys, None, &Signer::hs256(SECRET).token("k", &json!({}))).await, "jwt_invalid");
    for algorithm in ["RS256", "EdDSA", "PS256", "none"] {
        let confused = signer.sign(&json!({"alg": algorithm, "kid": "k"}), &json!({}));
        assert_eq!(say(&keys, Some(SECRET), &confused).await, "jwt_invalid", "{algorithm}");
    }
}

#[tokio::test]
async fn keys_in_the_tokens_own_header_are_ignored() {
    let (signer, attacker) = (Signer::es256(), Signer::es256());
    let elsewhere = TestEndpoint::publishing(&[attacker.jwk("k")]).await;
    let header = json!({"alg": "ES256", "kid": "k", "jwk": attacker.jwk("k"), "jku": elsewhere.url()});
    assert_eq!(say(&[signer.jwk("k")], None, &attacker.sign(&header, &json!({}))).await, "jwt_invalid");
    assert_eq!(elsewhere.requests(), 0);
}

#[tokio::test]
async fn a_hub_that_needs_no_published_key_does_not_fetch_any() {
    let endpoint = TestEndpoint::publishing(&[]).await;
    let options =
        AuthOptions { jwks_url: Some(endpoint.url()), jwt_secret: Some(SECRET.to_owned()), ..AuthOptions::default() };
    let door = Authenticator::new(options).unwrap();
    door.authenticate(Some(&Signer::hs256(SECRET).token("k", &json!({})))).await.unwrap();
    assert!(matches!(door.authenticate(Some("nonsense")).await, Err(AuthError::Invalid { .. })));
    assert_eq!(endpoint.requests(), 0);
}
