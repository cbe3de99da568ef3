//! `prom token`: prints a token and nothing else.

use crate::prom::{Ran, prom, prom_in};

fn claims(ran: &Ran) -> serde_json::Value {
    let token = ran.stdout.strip_suffix('\n').unwrap();
    let payload = token.split('.').nth(1).expect("three parts joined by dots");
    serde_json::from_slice(&base64_url(payload)).unwrap()
}

/// The few lines of it that a test needs.
fn base64_url(text: &str) -> Vec<u8> {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let (mut bits, mut count, mut out) = (0u32, 0, Vec::new());
    for byte in text.bytes() {
        let value = alphabet.iter().position(|letter| *letter == byte).expect("a letter of base64");
        bits = bits << 6 | u32::try_from(value).unwrap();
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    out
}

#[test]
fn the_token_stands_alone_on_standard_output_and_says_what_was_asked() {
    let asked =
        ["token", "--secret", "hunter2", "--sub", "alpha", "--scope", "publish:orders.*", "--scope", "subscribe"];
    let ran = prom(&[&asked[..], &["--ttl", "90s", "--aud", "prom", "--iss", "here"]].concat()).exits(0);
    assert_eq!(ran.stdout.lines().count(), 1);
    let claims = claims(&ran);
    assert_eq!(claims["sub"], "alpha");
    assert_eq!(claims["scopes"], serde_json::json!(["publish:orders.*", "subscribe"]));
    assert_eq!(claims["aud"], "prom");
    assert_eq!(claims["iss"], "here");
    assert_eq!(claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap(), 90);
}

#[test]
fn the_secret_may_come_from_the_environment_and_scopes_have_a_default() {
    let folder = tempfile::tempdir().unwrap();
    let ran = prom_in(folder.path(), &["token"], &[("JWT_SECRET", "hunter2")]).exits(0);
    let expected = serde_json::json!(["publish:heartbeat.received", "subscribe:process.state"]);
    assert_eq!(claims(&ran)["scopes"], expected);
}

#[test]
fn a_policy_comes_from_a_file_and_replaces_scopes() {
    let folder = tempfile::tempdir().unwrap();
    let rules = r#"[{"effect": "allow", "action": "subscribe", "topics": ["orders.**"], "groups": ["billing"]}]"#;
    std::fs::write(folder.path().join("policy.json"), rules).unwrap();
    let ran = prom_in(folder.path(), &["token", "--secret", "s", "--policy", "policy.json"], &[]).exits(0);
    assert!(claims(&ran)["policy"].to_string().contains("orders.**"));
    assert!(claims(&ran)["scopes"].is_null());
}

#[test]
fn what_a_hub_would_refuse_is_refused_here() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("bad.json"), r#"[{"effect": "maybe"}]"#).unwrap();
    for wrong in [
        &["token"][..],
        &["token", "--secret", ""],
        &["token", "--secret", "s", "--scope", "fly:orders"],
        &["token", "--secret", "s", "--scope", "publish:Orders"],
        &["token", "--secret", "s", "--ttl", "0s"],
        &["token", "--secret", "s", "--ttl", "soon"],
        &["token", "--secret", "s", "--policy", "bad.json"],
        &["token", "--secret", "s", "--policy", "missing.json"],
    ] {
        let ran = prom_in(folder.path(), wrong, &[]).exits(2);
        assert!(ran.stdout.is_empty(), "{wrong:?}: {ran:#?}");
    }
}

#[test]
fn a_secret_and_a_token_may_come_from_files() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("secret"), "hunter2\n").unwrap();
    let by_file = prom_in(folder.path(), &["token", "--secret-file", "secret"], &[]).exits(0);
    assert_eq!(claims(&by_file)["sub"], "dev");
    let wins = [("JWT_SECRET", "another"), ("JWT_SECRET_FILE", "secret")];
    let (signed, again) = (prom_in(folder.path(), &["token"], &wins).exits(0), by_file);
    assert_eq!(signed.stdout.split('.').next(), again.stdout.split('.').next());
    for (file, told) in [("nowhere", "nowhere"), ("empty", "the file is empty")] {
        std::fs::write(folder.path().join("empty"), "\n").unwrap();
        let ran = prom_in(folder.path(), &["token", "--secret-file", file], &[]).exits(2);
        assert!(ran.stderr.contains(told), "{}", ran.stderr);
    }
    let ran = prom_in(folder.path(), &["token"], &[]).exits(2);
    assert!(ran.stderr.contains("--secret-file"), "{}", ran.stderr);

    let hub = crate::fake_hub::FakeHub::answering(200, r#"{"topics":[]}"#);
    std::fs::write(folder.path().join("token"), "from-a-file\n").unwrap();
    let arguments = ["topics", "--url", &hub.url, "--token-file", "token"];
    prom_in(folder.path(), &arguments, &[("PROM_TOKEN", "from-the-environment")]).exits(0);
    assert!(hub.asked().headers.contains("authorization: bearer from-a-file"));
}
