//! `prom pub` and `prom sub` against a real hub.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::prom::{Ran, prom};
use crate::serve::Served;

struct Hub {
    served: Served,
    _folder: tempfile::TempDir,
}

impl Hub {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { served: Served::start(folder.path(), &["--store", "memory"], &[]), _folder: folder }
    }

    fn prom(&self, arguments: &[&str]) -> Ran {
        prom(&[arguments, &["--url", &self.served.url]].concat())
    }

    fn spawn(&self, arguments: &[&str]) -> Child {
        Command::new(env!("CARGO_BIN_EXE_prom"))
            .args(arguments)
            .args(["--url", &self.served.url])
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Runs with these lines as standard input.
    fn feed(&self, arguments: &[&str], lines: &str) -> Ran {
        let mut child = self.spawn(arguments);
        child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
        Ran::of(child.wait_with_output().unwrap())
    }
}

fn events(ran: &Ran) -> Vec<Value> {
    ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn what_is_published_comes_out_whole() {
    let hub = Hub::start();
    let flags =
        ["--key", "k", "--header", "x-source=web", "--tag", "t", "--id", "0190163d-8694-739b-aea5-966c26f8ad91"];
    let ran = hub.prom(&[&["pub", "hello", "{\"n\": 1}"], &flags[..]].concat()).exits(0);
    assert_eq!(ran.stdout, "hello/0 offset 0, id 0190163d-8694-739b-aea5-966c26f8ad91, durable: memory\n");
    let again = hub.prom(&[&["pub", "hello", "2"], &flags[..]].concat()).exits(0);
    assert!(again.stdout.ends_with("; this id was there before, nothing was stored\n"), "{}", again.stdout);
    let ran = hub.prom(&["sub", "hello", "--from", "earliest", "--count", "1"]).exits(0);
    let event = &events(&ran)[0];
    assert_eq!((&event["topic"], &event["payload"]["n"], &event["key"]), (&"hello".into(), &1.into(), &"k".into()));
    assert_eq!((&event["headers"]["x-source"], &event["tags"][0]), (&"web".into(), &"t".into()));
    let ran = hub.prom(&["pub", "hello", "null", "--json"]).exits(0);
    let receipt: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((receipt["offset"].as_u64(), receipt["durability"].as_str()), (Some(1), Some("memory")));
}

#[test]
fn lines_are_published_in_their_order() {
    let hub = Hub::start();
    let lines: String = (0..3000).map(|n| format!("{n}\n")).collect();
    let ran = hub.feed(&["pub", "numbers", "-"], &lines).exits(0);
    assert_eq!(ran.stdout, "published 3000 events\n");
    let ran = hub.prom(&["sub", "numbers", "--from", "earliest", "--count", "3000", "--jq", ".payload"]).exits(0);
    assert_eq!(ran.stdout, lines);
    let ran = hub.feed(&["pub", "numbers", "-", "--json"], "1\n2\n").exits(0);
    assert_eq!(
        events(&ran).iter().map(|receipt| receipt["offset"].as_u64()).collect::<Vec<_>>(),
        [Some(3000), Some(3001)]
    );
}

#[test]
fn whole_events_say_where_they_go() {
    let hub = Hub::start();
    let lines = "{\"topic\":\"other\",\"payload\":1,\"key\":\"a\"}\n{\"payload\":2}\n";
    hub.feed(&["pub", "usual", "-", "--events"], lines).exits(0);
    let ran =
        hub.prom(&["sub", "**", "--from", "earliest", "--count", "2", "--jq", "[.topic, .payload, .key]"]).exits(0);
    let mut printed: Vec<&str> = ran.stdout.lines().collect();
    printed.sort_unstable();
    assert_eq!(printed, [r#"["other",1,"a"]"#, r#"["usual",2,null]"#]);
}

#[test]
fn bad_lines_are_told_and_stop_nothing() {
    let hub = Hub::start();
    let ran = hub.feed(&["pub", "hello", "-"], "1\nnonsense\n\n3\n").exits(2);
    assert_eq!(ran.stdout, "published 2 events\n");
    assert!(ran.stderr.contains("line 2:") && ran.stderr.contains("1 line was not published"), "{}", ran.stderr);
}

#[test]
fn a_group_sees_each_event_once() {
    let hub = Hub::start();
    hub.feed(&["pub", "hello", "-"], "1\n2\n3\n").exits(0);
    let work = ["sub", "hello", "--group", "mine", "--from", "earliest", "--jq", ".payload"];
    assert_eq!(hub.prom(&[&work[..], &["--count", "2"]].concat()).exits(0).stdout, "1\n2\n");
    assert_eq!(hub.prom(&[&work[..], &["--count", "1"]].concat()).exits(0).stdout, "3\n");
    let ran = hub.prom(&["lag", "hello", "mine", "--max", "0"]).exits(0);
    assert!(ran.stdout.contains("mine"), "{}", ran.stdout);
    let ran = hub.prom(&["why", "hello", "mine"]).exits(0);
    assert!(ran.stdout.contains("up to date"), "{}", ran.stdout);
    hub.prom(&["cursor", "set", "hello", "mine", "--from", "offset:1"]).exits(0);
    assert_eq!(hub.prom(&[&work[..], &["--count", "2"]].concat()).exits(0).stdout, "2\n3\n");
}

#[test]
fn a_failing_program_ends_it_and_acknowledges_nothing() {
    let hub = Hub::start();
    hub.prom(&["pub", "hello", "\"text\""]).exits(0);
    let work = ["sub", "hello", "--group", "mine", "--from", "earliest", "--count", "1", "--jq"];
    let ran = hub.prom(&[&work[..], &[".payload + 1"]].concat()).exits(1);
    assert!(ran.stderr.contains("the jq program failed on hello/0 offset 0"), "{}", ran.stderr);
    assert_eq!(hub.prom(&[&work[..], &[".payload"]].concat()).exits(0).stdout, "\"text\"\n");
    let ran = hub.prom(&["sub", "hello", "--jq", ".payload |"]).exits(2);
    assert!(ran.stderr.contains("jq program, line 1"), "{}", ran.stderr);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let hub = Hub::start();
    hub.feed(&["pub", "hello", "-"], &"1\n".repeat(5000)).exits(0);
    for group in [&[][..], &["--group", "mine"]] {
        let mut child = hub.spawn(&[&["sub", "hello", "--from", "earliest"], group].concat());
        let mut first = String::new();
        BufReader::with_capacity(64, child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        assert!(first.starts_with('{'), "{first}");
        assert_eq!(Ran::of(child.wait_with_output().unwrap()).code, 0);
    }
}

#[test]
fn a_signal_ends_it_cleanly() {
    let hub = Hub::start();
    hub.prom(&["pub", "hello", "1"]).exits(0);
    for group in [&[][..], &["--group", "mine"]] {
        let mut child = hub.spawn(&[&["sub", "hello", "--from", "earliest"], group].concat());
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut String::new()).unwrap();
        let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        let ran = Ran::of(child.wait_with_output().unwrap());
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    }
    hub.prom(&["lag", "hello", "mine", "--max", "0"]).exits(0);
}

#[test]
fn what_cannot_be_published_is_told_apart() {
    let hub = Hub::start();
    let ran = hub.prom(&["pub", "hello", "plain text"]).exits(2);
    assert!(ran.stderr.contains("text needs quotes"), "{}", ran.stderr);
    hub.prom(&["pub", "Hello", "1"]).exits(2);
    hub.prom(&["pub", "hello", "1", "--header", "no"]).exits(2);
    hub.prom(&["pub", "hello", "1", "--header", "nope=1"]).exits(2);
    let ran = hub.prom(&["pub", "dlq.hello", "1"]);
    assert!(ran.code != 0 && !ran.stderr.is_empty(), "{ran:?}");
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    prom(&["pub", "hello", "1", "--url", &format!("http://{free}")]).exits(3);
    prom(&["sub", "hello", "--url", &format!("http://{free}")]).exits(3);
}
