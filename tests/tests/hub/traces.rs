//! Traces: the header travels with the event, and a collector gets the hub's spans.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use prom_testkit::{HubProcess, prom_binary};

const TRACE_ID: &str = "0af7651916cd43dd8448eb211c80319c";

/// Accepts every POST, and passes the bodies on.
fn collector() -> (String, mpsc::Receiver<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (bodies, received) = mpsc::channel();
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            let mut request = Vec::new();
            let mut byte = [0];
            while !request.ends_with(b"\r\n\r\n") {
                if socket.read_exact(&mut byte).is_err() {
                    break;
                }
                request.push(byte[0]);
            }
            let head = String::from_utf8_lossy(&request).to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            let mut body = vec![0; length.unwrap_or(0)];
            socket.read_exact(&mut body).unwrap();
            let answer = "HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            socket.write_all(answer.as_bytes()).unwrap();
            assert!(head.starts_with("post /v1/traces "), "{head}");
            if bodies.send(body).is_err() {
                return;
            }
        }
    });
    (url, received)
}

fn contains(body: &[u8], part: &[u8]) -> bool {
    body.windows(part.len()).any(|window| window == part)
}

#[tokio::test]
async fn the_log_names_the_trace_of_a_request() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let config = folder.path().join("prom.toml");
    std::fs::write(&config, "[log]\nformat = \"json\"\n").unwrap();
    let mut hub =
        HubProcess::start_logging_to(&log, &["--store", "memory", "--config", &config.to_string_lossy()], &[]).unwrap();
    let prom = |arguments: &[&str]| {
        let output = Command::new(prom_binary().unwrap()).args(arguments).args(["--url", &hub.url()]).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    prom(&["pub", "a.b", "1"]);
    prom(&["sub", "a.b", "--group", "g", "--from", "earliest", "--count", "1"]);
    let request = reqwest::Client::new()
        .post(format!("{}/cursors", hub.url()))
        .header("traceparent", format!("00-{TRACE_ID}-b7ad6b7169203331-01"))
        .body(r#"{"topic":"a.b","group":"g","from":"earliest"}"#);
    assert!(request.send().await.unwrap().status().is_success());
    hub.stop().unwrap();
    let lines = std::fs::read_to_string(&log).unwrap();
    let moved = lines.lines().find(|line| line.contains("the cursor was moved")).unwrap();
    assert!(moved.contains(&format!("\"trace_id\":\"{TRACE_ID}\"")) && moved.contains("\"level\":\"INFO\""), "{moved}");
}

#[test]
fn a_trace_goes_from_publish_to_delivery_and_a_collector_receives_both() {
    let (endpoint, received) = collector();
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("prom.toml");
    std::fs::write(&config, format!("[telemetry]\notlp_endpoint = \"{endpoint}\"\n")).unwrap();
    let mut hub = HubProcess::start(&["--store", "memory", "--config", &config.to_string_lossy()], &[]).unwrap();
    let prom = |arguments: &[&str]| {
        let output = Command::new(prom_binary().unwrap()).args(arguments).args(["--url", &hub.url()]).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let header = format!("traceparent=00-{TRACE_ID}-b7ad6b7169203331-01");
    prom(&["pub", "a.b", "1", "--header", &header]);
    let event = prom(&["sub", "a.b", "--group", "g", "--from", "earliest", "--count", "1"]);
    assert!(event.contains(TRACE_ID), "{event}");
    hub.stop().unwrap();
    let mut all = Vec::new();
    while let Ok(body) = received.recv_timeout(Duration::from_secs(1)) {
        all.extend(body);
    }
    let trace_id: Vec<u8> = (0..16).map(|at| u8::from_str_radix(&TRACE_ID[2 * at..2 * at + 2], 16).unwrap()).collect();
    for part in [&trace_id[..], b"publish a.b", b"deliver a.b"] {
        assert!(contains(&all, part), "{:?} was not sent", String::from_utf8_lossy(part));
    }
}
