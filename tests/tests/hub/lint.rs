//! `prom lint` beside a live hub, and its SARIF as the official schema sees it.

use std::path::Path;
use std::process::{Command, Output};

use prom_testkit::{HubProcess, prom_binary, tools};

use super::or_skip;

const CODE: &str = "import { PromClient } from \"@promethean/client\";
const client = new PromClient(\"http://hub\");
client.publish(\"Orders.Placed\", { id: 1 });
client.publish(\"orders.placed\", { id: \"ä\" });
// prom-ignore group-name: left over
client.subscribe(\"orders.*\", \"billing\", () => {});
";
const SCHEMA: &str = r#"{"type":"object","required":["id"],"properties":{"id":{"type":"integer"}}}"#;

const SCRIPT: &str = r#"
import Ajv from "ajv-draft-04";
import formats from "ajv-formats";
import assert from "node:assert";
import { readFileSync } from "node:fs";

const schema = JSON.parse(readFileSync(process.argv[2], "utf8"));
const ajv = new Ajv({ strict: false, allErrors: true, validateSchema: false, unicodeRegExp: false });
formats(ajv);
delete schema.$schema;
const validate = ajv.compile(schema);
const document = JSON.parse(readFileSync(process.argv[3], "utf8"));
assert.equal(document.runs[0].results.length, Number(process.argv[4]));
assert.ok(validate(document), JSON.stringify(validate.errors, null, 1));
document.runs[0].results[0].level = "loud";
assert.ok(!validate(document), "the schema lets everything pass");
"#;

fn project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("schemas/orders.placed")).unwrap();
    std::fs::write(folder.path().join("a.ts"), CODE).unwrap();
    std::fs::write(folder.path().join("schemas/orders.placed/v1.json"), SCHEMA).unwrap();
    folder
}

fn prom(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(prom_binary().unwrap()).args(arguments).current_dir(folder).output().unwrap()
}

#[test]
fn the_official_schema_accepts_the_sarif() {
    let packages = ["@microsoft/jest-sarif@1.0.0-beta.0", "ajv@8.17.1", "ajv-draft-04@1.0.0", "ajv-formats@3.0.1"];
    let Some(packages) = or_skip(tools::node_packages(&packages)) else {
        return;
    };
    let folder = project();
    let sarif = prom(folder.path(), &["lint", "--format", "sarif", "--no-cache"]);
    assert_eq!(sarif.status.code(), Some(1), "{}", String::from_utf8_lossy(&sarif.stderr));
    let document = folder.path().join("report.sarif");
    std::fs::write(&document, sarif.stdout).unwrap();
    let script = packages.join("sarif.mjs");
    std::fs::write(&script, SCRIPT).unwrap();
    let schema = packages.join("node_modules/@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json");
    let output = Command::new("node").arg(&script).arg(schema).arg(&document).arg("3").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_live_hub_tells_what_differs() {
    let hub = HubProcess::in_memory().unwrap();
    let url = hub.url();
    let folder = project();
    let setup = |arguments: &[&str]| {
        let output = prom(folder.path(), &[arguments, &["--url", &url]].concat());
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    setup(&["pub", "orders.placed", "{\"id\":1}"]);
    setup(&["pub", "left.over", "1"]);
    std::fs::write(folder.path().join("a.ts"), CODE.replace("Orders.Placed", "not.there").replace("\"ä\"", "7"))
        .unwrap();
    let lint = || {
        let output = prom(folder.path(), &["lint", "--format", "concise", "--no-cache", "--hub", &url]);
        String::from_utf8(output.stdout).unwrap()
    };
    let told = lint();
    assert!(told.contains("warn[topic-unserved] the hub at") && told.contains("no topic \"not.there\""), "{told}");
    assert!(told.contains("has the topic \"left.over\", which no code mentions"), "{told}");
    assert!(told.contains("error[schema-drift] version 1 of orders.placed is not registered"), "{told}");
    setup(&["schema", "register", "orders.placed", "schemas/orders.placed/v1.json"]);
    assert!(!lint().contains("schema-drift"), "{}", lint());
    let gone = prom(folder.path(), &["lint", "--hub", "http://127.0.0.1:9"]);
    assert_eq!(gone.status.code(), Some(3));
}
