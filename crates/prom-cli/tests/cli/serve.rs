//! `prom serve`: it starts, says where it is, ends when it is asked to, and says why when it cannot start.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::prom::{prom, prom_in};

/// A hub on a free port, ended with the test.
pub struct Served {
    child: Child,
    pub url: String,
    pub greeting: Vec<String>,
}

impl Served {
    pub fn start(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_prom"))
            .args(["serve", "--listen", "127.0.0.1:0"])
            .args(arguments)
            .current_dir(folder)
            .env_clear()
            .envs(variables.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut greeting = Vec::new();
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            let line = line.unwrap();
            let is_last = line.contains("prom sub");
            greeting.push(line);
            if is_last {
                break;
            }
        }
        let page =
            greeting.iter().find_map(|line| line.trim().strip_prefix("page ")).expect("it says where the page is");
        Self { url: page.trim().trim_end_matches('/').to_owned(), child, greeting }
    }

    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    pub fn exit_code(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn a_hub_serves_and_says_where_until_it_is_asked_to_end() {
    for signal in ["TERM", "INT"] {
        let folder = tempfile::tempdir().unwrap();
        let hub = Served::start(folder.path(), &[], &[]);
        let greeting = hub.greeting.join("\n");
        assert!(greeting.contains("prom-data") && greeting.contains("auth       none"), "{greeting}");
        let ran = prom(&["topics", "--url", &hub.url]).exits(0);
        assert!(ran.stdout.starts_with("no topics yet"), "{}", ran.stdout);
        hub.signal(signal);
        assert_eq!(hub.exit_code(), Some(0), "after SIG{signal}");
        let ran = prom_in(folder.path(), &["fsck"], &[]).exits(0);
        assert!(ran.stdout.contains("sound"), "{}", ran.stdout);
    }
}

#[test]
fn a_second_signal_ends_a_hub_that_still_waits_for_a_handler() {
    let folder = tempfile::tempdir().unwrap();
    let mut hub = Served::start(folder.path(), &["--store", "memory"], &[]);
    let payload = format!("\"{}\"", "x".repeat(100_000));
    for _ in 0..3 {
        prom(&["pub", "hello", &payload, "--url", &hub.url]).exits(0);
    }
    // Its output is not read, so it never comes to the ack.
    let mut stuck = Command::new(env!("CARGO_BIN_EXE_prom"))
        .args(["sub", "hello", "--group", "stuck", "--from", "earliest", "--url", &hub.url])
        .env_clear()
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let ran = prom(&["lag", "hello", "--json", "--url", &hub.url]).exits(0);
        let answer: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        if answer["lags"][0]["inFlight"].as_u64().is_some_and(|events| events > 0) {
            break;
        }
        assert!(Instant::now() < deadline, "nothing was handed out: {answer}");
    }
    let mut said = BufReader::new(hub.child.stderr.take().unwrap()).lines();
    hub.signal("TERM");
    assert!(said.any(|line| line.unwrap().starts_with("ending")), "it did not say that it ends");
    hub.signal("TERM");
    let code = hub.exit_code();
    stuck.kill().unwrap();
    stuck.wait().unwrap();
    assert_eq!(code, Some(130));
}

#[test]
fn declared_topics_exist_from_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = "[store]\nkind = \"memory\"\n[topics]\nauto_create = false\n[[topic]]\nname = \"orders.placed\"\npartitions = 3\n";
    std::fs::write(folder.path().join("prom.toml"), file).unwrap();
    let hub = Served::start(folder.path(), &[], &[]);
    let ran = prom(&["topics", "show", "orders.placed", "--url", &hub.url]).exits(0);
    assert!(ran.stdout.starts_with("orders.placed: 3 partitions"), "{}", ran.stdout);
    prom(&["topics", "set", "orders.placed", "--keep-for", "3d", "--url", &hub.url]).exits(0);
    let ran = prom(&["topics", "--url", &hub.url]).exits(0);
    assert!(ran.stdout.contains("for 3d"), "{}", ran.stdout);
    prom(&["topics", "show", "nothing", "--url", &hub.url]).exits(1);
    prom(&["topics", "set", "orders.placed", "--partitions", "1", "--url", &hub.url]).exits(2);
}

#[test]
fn a_hub_with_a_secret_wants_a_token_and_takes_the_one_that_was_minted() {
    let folder = tempfile::tempdir().unwrap();
    let hub =
        Served::start(folder.path(), &["--store", "memory"], &[("JWT_SECRET", "hunter2hunter2hunter2hunter2hunter2")]);
    let ran = prom(&["topics", "--url", &hub.url]).exits(4);
    assert!(ran.stderr.contains("no_token") && ran.stderr.contains("prom token"), "{}", ran.stderr);
    let mint = ["token", "--secret", "hunter2hunter2hunter2hunter2hunter2", "--scope"];
    let token = prom(&[&mint[..], &["ops"]].concat()).exits(0).stdout;
    prom(&["topics", "--url", &hub.url, "--token", token.trim()]).exits(0);
    prom(&["topics", "set", "a", "--url", &hub.url, "--token", token.trim()]).exits(4);
}

#[test]
fn http_has_a_port_of_its_own_where_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let hub = Served::start(folder.path(), &["--store", "memory"], &[("OPS_PORT", "0")]);
    let greeting = hub.greeting.join("\n");
    let websocket = greeting.lines().find(|line| line.contains("WebSocket")).unwrap();
    assert!(!websocket.contains(hub.url.trim_start_matches("http://")), "{greeting}");
    prom(&["topics", "--url", &hub.url]).exits(0);
}

#[test]
fn a_port_in_use_is_told() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ran = prom(&["serve", "--store", "memory", "--listen", &address]).exits(1);
    assert!(ran.stderr.contains(&address) && ran.stderr.contains("--listen"), "{}", ran.stderr);
}

#[test]
fn a_data_directory_in_use_is_told_with_its_holder() {
    let folder = tempfile::tempdir().unwrap();
    let hub = Served::start(folder.path(), &[], &[]);
    let ran = prom_in(folder.path(), &["serve", "--listen", "127.0.0.1:0"], &[]).exits(1);
    let holder = format!("in use by process {}", hub.child.id());
    assert!(ran.stderr.contains(&holder) && ran.stderr.contains("--data"), "{}", ran.stderr);
}

#[test]
fn a_data_directory_that_cannot_be_made_is_told() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    let ran = prom_in(folder.path(), &["serve", "--listen", "127.0.0.1:0", "--data", "file/below"], &[]).exits(1);
    assert!(ran.stderr.contains("file/below") && ran.stderr.contains("--data"), "{}", ran.stderr);
}

#[test]
fn tls_files_that_are_none_are_named() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("cert.pem"), "no certificate").unwrap();
    let file = "[server]\ntls = { cert = \"cert.pem\", key = \"key.pem\" }\n[store]\nkind = \"memory\"\n";
    std::fs::write(folder.path().join("prom.toml"), file).unwrap();
    let ran = prom_in(folder.path(), &["serve", "--listen", "127.0.0.1:0"], &[]).exits(1);
    assert!(ran.stderr.contains("cert.pem"), "{}", ran.stderr);
}

#[test]
fn a_declared_topic_that_would_break_readers_keeps_the_hub_from_starting() {
    let folder = tempfile::tempdir().unwrap();
    let declare = |partitions: u32| {
        let file = format!("[[topic]]\nname = \"orders.placed\"\npartitions = {partitions}\n");
        std::fs::write(folder.path().join("prom.toml"), file).unwrap();
    };
    declare(4);
    let hub = Served::start(folder.path(), &[], &[]);
    hub.signal("TERM");
    assert_eq!(hub.exit_code(), Some(0));
    declare(2);
    let ran = prom_in(folder.path(), &["serve", "--listen", "127.0.0.1:0"], &[]).exits(1);
    assert!(ran.stderr.contains("[[topic]] orders.placed") && ran.stderr.contains("never lowered"), "{}", ran.stderr);
}
