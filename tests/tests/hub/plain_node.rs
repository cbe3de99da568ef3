//! The example client in plain frames, through a kill of the hub.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use prom_testkit::{HubProcess, tools};

use super::or_skip;

#[test]
fn a_node_client_in_plain_frames_resumes_after_the_hub_was_killed() {
    let Some(packages) = or_skip(tools::node_packages(&["ws@8.18.0"])) else {
        return;
    };
    let script = packages.join("plain.mjs");
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/node/plain.mjs");
    std::fs::copy(example, &script).unwrap();
    let data = tempfile::tempdir().unwrap();
    let mut hub = HubProcess::on(data.path()).unwrap();
    let url = format!("ws://{}/ws", hub.address());
    let mut node = Command::new("node").arg(&script).arg(url).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = Vec::new();
    for line in BufReader::new(node.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        if line.starts_with("half done") {
            hub.kill().unwrap();
            hub.restart().unwrap();
        }
        said.push(line);
    }
    assert!(node.wait().unwrap().success(), "{said:#?}");
    let count = |line: &str| said.iter().filter(|said| *said == line).count();
    assert_eq!(count("event 2, attempt 2"), 1, "{said:#?}");
    for n in [1, 3, 4, 5, 6] {
        assert_eq!(count(&format!("event {n}, attempt 1")), 1, "{said:#?}");
    }
    assert_eq!(said.last().unwrap(), "resumed where it was");
}
