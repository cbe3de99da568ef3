//! `prom config`, and what `prom serve` says about a configuration that is wrong.

use crate::prom::{prom, prom_in};

#[test]
fn the_default_file_is_one_that_check_accepts() {
    let folder = tempfile::tempdir().unwrap();
    let default = prom(&["config", "default"]).exits(0).stdout;
    std::fs::write(folder.path().join("prom.toml"), default).unwrap();
    let ran = prom_in(folder.path(), &["config", "check"], &[]).exits(0);
    assert_eq!(ran.stdout, "prom.toml: ok\n");
}

#[test]
fn every_error_is_listed_with_its_place_and_the_exit_code_is_1() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("my.toml"), "[server]\nlisen = 1\n[store]\nkind = \"disk\"\n").unwrap();
    let ran = prom_in(folder.path(), &["config", "check", "my.toml"], &[]).exits(1);
    assert!(ran.stderr.contains("my.toml:2:1: unknown key `lisen` in [server]"), "{}", ran.stderr);
    assert!(ran.stderr.contains("did you mean `listen`?"), "{}", ran.stderr);
    assert!(ran.stderr.contains("my.toml:4:8: `kind`"), "{}", ran.stderr);

    let ran = prom_in(folder.path(), &["config", "check", "my.toml", "--json"], &[]).exits(1);
    let answer: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(answer["ok"], false);
    assert_eq!(answer["problems"].as_array().unwrap().len(), 2);
    assert_eq!(answer["problems"][0]["place"], "my.toml:2:1");
}

#[test]
fn a_file_that_is_not_there_is_told() {
    let ran = prom(&["config", "check", "no.toml"]).exits(1);
    assert!(ran.stderr.contains("no.toml: cannot be read"), "{}", ran.stderr);
}

#[test]
fn a_hub_does_not_start_with_a_wrong_file_or_a_wrong_variable() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("prom.toml"), "[servr]\n").unwrap();
    let ran = prom_in(folder.path(), &["serve"], &[("WS_PORT", "http")]).exits(2);
    assert!(ran.stderr.contains("prom.toml:1:2: unknown section `servr`"), "{}", ran.stderr);
    assert!(ran.stderr.contains("environment variable WS_PORT: `http` is not a port"), "{}", ran.stderr);
    assert!(!folder.path().join("prom-data").exists(), "it made a data directory");
}

#[test]
fn a_hub_without_auth_refuses_to_listen_for_other_machines() {
    let folder = tempfile::tempdir().unwrap();
    let ran = prom_in(folder.path(), &["serve", "--listen", "0.0.0.0:0"], &[]).exits(2);
    assert!(ran.stderr.contains("0.0.0.0:0") && ran.stderr.contains("auth"), "{}", ran.stderr);
    assert!(!folder.path().join("prom-data").exists(), "it made a data directory");
}

#[test]
fn a_hub_on_mongodb_asks_where_that_is() {
    let folder = tempfile::tempdir().unwrap();
    let ran = prom_in(folder.path(), &["serve", "--store", "mongo"], &[]).exits(2);
    assert!(ran.stderr.contains("needs the address of MongoDB"), "{}", ran.stderr);
    assert!(ran.stderr.contains("--mongo mongodb://") && ran.stderr.contains("MONGO_URL"), "{}", ran.stderr);
}

#[test]
fn check_refuses_what_serve_refuses() {
    let folder = tempfile::tempdir().unwrap();
    for (text, named) in [
        ("[server]\nlisten = \"0.0.0.0:0\"\n", "no auth is configured"),
        ("[server]\ntls = { cert = \"no.pem\", key = \"no.pem\" }\n", "no.pem"),
        ("[store]\nkind = \"mongo\"\n", "the address of MongoDB"),
        ("[store]\nkind = \"mongo\"\n[mongo]\nurl = \"mongodb://127.0.0.1:1\"\nhub_ca = \"no.pem\"\n", "no.pem"),
        (
            "[auth]\njwks_url = \"http://127.0.0.1:1/\"\njwt_secret = \"x\"\n[server]\nlisten = \"0.0.0.0:1\"\ntls = { cert = \"prom.toml\", key = \"prom.toml\" }\n",
            "prom.toml",
        ),
    ] {
        std::fs::write(folder.path().join("prom.toml"), text).unwrap();
        let served = prom_in(folder.path(), &["serve", "--data", "data"], &[]);
        assert!(served.code != 0 && served.stderr.contains(named), "{text}: {}", served.stderr);
        let checked = prom_in(folder.path(), &["config", "check"], &[]).exits(1);
        assert!(checked.stderr.contains(named), "{text}: {}", checked.stderr);
        let answer: serde_json::Value =
            serde_json::from_str(&prom_in(folder.path(), &["config", "check", "--json"], &[]).exits(1).stdout).unwrap();
        assert_eq!((&answer["ok"], &answer["problems"][0]["place"]), (&false.into(), &"prom.toml".into()));
    }
    std::fs::write(folder.path().join("prom.toml"), "[server]\nlisten = \"0.0.0.0:0\"\n").unwrap();
    prom_in(folder.path(), &["config", "check"], &[("JWT_SECRET", "hunter2hunter2")]).exits(0);
}
