//! `/asyncapi.json` as AsyncAPI's own schema sees it.

use std::process::Command;

use prom_testkit::{HubProcess, prom_binary, tools};

use super::or_skip;

const SCRIPT: &str = r#"
import Ajv from "ajv";
import formats from "ajv-formats";
import assert from "node:assert";
import { createRequire } from "node:module";

const schema = createRequire(import.meta.url)("@asyncapi/specs/schemas/3.0.0-without-$id.json");
const ajv = new Ajv({ strict: false, allErrors: true, unicodeRegExp: false });
formats(ajv);
const validate = ajv.compile(schema);
const document = await (await fetch(`${process.argv[2]}/asyncapi.json`)).json();
assert.deepEqual(Object.keys(document.channels), ["orders.placed", "plain"]);
assert.equal(document.components.messages["orders.placed"].payload.schema.properties.n.type, "integer");
assert.ok(validate(document), JSON.stringify(validate.errors, null, 1));
document.channels.plain.adress = "a slip";
assert.ok(!validate(document), "the schema lets everything pass");
"#;

#[test]
fn the_schema_of_asyncapi_accepts_the_document() {
    let packages = ["@asyncapi/specs@6.11.1", "ajv@8.17.1", "ajv-formats@3.0.1"];
    let Some(packages) = or_skip(tools::node_packages(&packages)) else {
        return;
    };
    let script = packages.join("asyncapi.mjs");
    std::fs::write(&script, SCRIPT).unwrap();
    let hub = HubProcess::in_memory().unwrap();
    let file = packages.join("orders.placed.json");
    std::fs::write(&file, r#"{"type":"object","properties":{"n":{"type":"integer"}}}"#).unwrap();
    let prom = |arguments: &[&str]| {
        let output = Command::new(prom_binary().unwrap()).args(arguments).args(["--url", &hub.url()]).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    prom(&["pub", "plain", "1"]);
    prom(&["schema", "register", "orders.placed", &file.to_string_lossy()]);
    let output = Command::new("node").arg(&script).arg(hub.url()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

const PARSE: &str = r#"
import { Parser } from "@asyncapi/parser";
import assert from "node:assert";

const text = await (await fetch(`${process.argv[2]}/asyncapi.json`)).text();
const wrong = (diagnostics) => diagnostics.filter((one) => one.severity === 0);
const { document, diagnostics } = await new Parser().parse(text);
assert.deepEqual(wrong(diagnostics), []);
const named = process.argv.slice(3).sort();
assert.deepEqual(document.channels().all().map((channel) => channel.id()), named);
for (const topic of named.filter((topic) => topic !== "plain")) {
  const payload = document.components().messages().get(topic).payload();
  assert.equal(payload.properties().n.type(), "integer", `a reference in ${topic} leads elsewhere`);
}
const broken = JSON.parse(text);
broken.channels.plain.adress = "a slip";
assert.notDeepEqual(wrong((await new Parser().parse(broken)).diagnostics), []);
"#;

/// One way each to say that `n` is an integer.
const SCHEMAS: [(&str, &str); 6] = [
    ("in.place", r#"{"properties":{"n":{"type":"integer"}}}"#),
    (
        "by.pointer",
        r##"{"properties":{"n":{"$ref":"#/$defs/n"},"next":{"$ref":"#"}},"$defs":{"n":{"type":"integer"}}}"##,
    ),
    ("by.escapes", r##"{"properties":{"n":{"$ref":"#/$defs/a~1b%20c"}},"$defs":{"a/b c":{"type":"integer"}}}"##),
    ("by.anchor", r##"{"properties":{"n":{"$ref":"#here"}},"$defs":{"n":{"$anchor":"here","type":"integer"}}}"##),
    (
        "by.name",
        r##"{"$id":"https://example.com/x","properties":{"n":{"$ref":"y"}},"$defs":{"n":{"$id":"y","type":"integer"}}}"##,
    ),
    (
        "of.draft7",
        r##"{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"n":{"$ref":"#/definitions/n"}},"definitions":{"n":{"type":"integer"}}}"##,
    ),
];

#[test]
fn the_parser_of_asyncapi_reads_the_document() {
    let Some(packages) = or_skip(tools::node_packages(&["@asyncapi/parser@3.6.3"])) else {
        return;
    };
    let script = packages.join("parse.mjs");
    std::fs::write(&script, PARSE).unwrap();
    let hub = HubProcess::in_memory().unwrap();
    let url = hub.url();
    let prom = |arguments: &[&str]| {
        let output = Command::new(prom_binary().unwrap()).args(arguments).args(["--url", &url]).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    prom(&["pub", "plain", "1"]);
    let folder = tempfile::tempdir().unwrap();
    for (topic, schema) in SCHEMAS {
        let file = folder.path().join(format!("{topic}.json"));
        std::fs::write(&file, schema).unwrap();
        prom(&["schema", "register", topic, &file.to_string_lossy()]);
    }
    let mut node = Command::new("node");
    node.arg(&script).arg(&url).arg("plain").args(SCHEMAS.map(|(topic, _)| topic));
    let output = node.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
