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
assert.deepEqual(Object.keys(document.channels), ["orders.placed", "plain", "system.audit"]);
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
