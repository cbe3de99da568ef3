//! The ETags of the state API, with curl and with a caching HTTP client of Python.

use std::process::Command;

use prom_testkit::{HubProcess, tools};

use super::or_skip;

const SCRIPT: &str = r#"
import sys, requests
from cachecontrol import CacheControl

url = sys.argv[1]
plain = requests.Session()

def post(path, body):
    answer = plain.post(url + path, json=body)
    answer.raise_for_status()
    return answer

def cutover():
    done = post("/topics/process/cutover", {"to_collection": "processes", "fields": ["status"]})
    assert '"done"' in done.text, done.text

post("/publish", [{"topic": "process", "payload": {"status": "alive"}, "opts": {"key": f"p{n}"}} for n in range(3)])
post("/topics/process/schema", {"schema": {"type": "object"}})
cutover()

cached = CacheControl(requests.Session())
for path in ["/snap/processes/p1", "/list/processes?status=alive"]:
    first = cached.get(url + path)
    assert first.status_code == 200 and not first.from_cache, path
    second = cached.get(url + path)
    assert second.from_cache and second.json() == first.json(), path

post("/publish", {"topic": "process", "payload": {"status": "stale"}, "opts": {"key": "p2"}})
cutover()
assert cached.get(url + "/snap/processes/p1").from_cache, "another document changed"
listed = cached.get(url + "/list/processes?status=alive")
assert not listed.from_cache and listed.json()["count"] == 2, listed.text

post("/publish", {"topic": "process", "payload": {"status": "stale"}, "opts": {"key": "p1"}})
cutover()
changed = cached.get(url + "/snap/processes/p1")
assert not changed.from_cache and changed.json()["payload"]["status"] == "stale"
assert cached.get(url + "/snap/processes/p1").from_cache
print("all of it")
"#;

#[test]
fn a_caching_client_and_curl_ask_again_and_are_told_that_nothing_changed() {
    let Some(python) = or_skip(tools::python_packages(&["CacheControl==0.14.3", "requests==2.32.5"])) else {
        return;
    };
    let data = tempfile::tempdir().unwrap();
    let mut hub = HubProcess::on(data.path()).unwrap();
    let run = Command::new(python).args(["-c", SCRIPT, &hub.url()]).output().unwrap();
    let (said, failed) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success() && said.trim() == "all of it", "{said}{failed}");

    if or_skip(tools::require("curl")).is_none() {
        return;
    }
    let curl = |arguments: &[&str]| {
        let run = Command::new("curl").args(["-s", "-i"]).args(arguments).output().unwrap();
        String::from_utf8(run.stdout).unwrap()
    };
    let snap = format!("{}/snap/processes/p1", hub.url());
    let first = curl(&[&snap]);
    let tag = first.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap().trim().to_owned();
    let known = format!("If-None-Match: {tag}");
    assert!(curl(&["-H", &known, &snap]).starts_with("HTTP/1.1 304"), "{tag}");
    let head = curl(&["-I", &snap]);
    let headers = |text: &str| -> Vec<String> {
        let lines = text.split("\r\n\r\n").next().unwrap().lines().map(str::to_owned);
        lines.filter(|line| !line.starts_with("date:")).collect()
    };
    assert_eq!(headers(&head), headers(&first), "HEAD differs from GET");
    hub.kill().unwrap();
    hub.restart().unwrap();
    let snap = format!("{}/snap/processes/p1", hub.url());
    assert!(curl(&["-H", &known, &snap]).starts_with("HTTP/1.1 304"), "another tag after a restart");
}
