//! CloudEvents as a third-party SDK speaks them.

use std::process::Command;

use prom_testkit::{HubProcess, tools};

use super::or_skip;

/// Sends one event in each mode and reads both back from the export.
const SCRIPT: &str = r#"
import { CloudEvent, HTTP } from "cloudevents";
import assert from "node:assert";

const [url] = process.argv.slice(2);
const make = (n) => new CloudEvent({ type: "orders.placed", source: "/shop", subject: `order-${n}`, data: { n },
  datacontenttype: "application/json", region: "eu" });
const sent = [make(1), make(2)];
for (const [event, message] of [[sent[0], HTTP.binary(sent[0])], [sent[1], HTTP.structured(sent[1])]]) {
  const answer = await fetch(`${url}/publish`, { method: "POST", headers: message.headers, body: message.body });
  const said = await answer.text();
  assert.ok(answer.ok, said);
  assert.equal(JSON.parse(said).id, event.id);
}
const answer = await fetch(`${url}/export?topic=orders.placed`, { headers: { accept: "application/cloudevents-batch+json" } });
const body = await answer.text();
const read = HTTP.toEvent({ headers: Object.fromEntries(answer.headers), body });
assert.equal(read.length, 2);
read.forEach((event, at) => {
  event.validate();
  for (const member of ["id", "type", "source", "subject", "region"]) assert.equal(event[member], sent[at][member], member);
  assert.deepEqual(event.data, sent[at].data);
});
"#;

#[test]
fn a_cloudevents_sdk_publishes_in_both_modes_and_reads_the_export() {
    let Some(packages) = or_skip(tools::node_packages(&["cloudevents@10.0.0"])) else {
        return;
    };
    let script = packages.join("both.mjs");
    std::fs::write(&script, SCRIPT).unwrap();
    let hub = HubProcess::in_memory().unwrap();
    let output = Command::new("node").arg(&script).arg(hub.url()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
