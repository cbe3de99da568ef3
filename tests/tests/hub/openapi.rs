//! `/openapi.json` as a third-party validator sees it.

use std::process::Command;

use prom_testkit::{HubProcess, tools};

use super::or_skip;

#[test]
fn a_validator_accepts_the_openapi_document() {
    let Some(python) = or_skip(tools::python_packages(&["openapi-spec-validator==0.7.1"])) else {
        return;
    };
    let hub = HubProcess::in_memory().unwrap();
    let check = "import json, sys, urllib.request\n\
        from openapi_spec_validator import validate\n\
        document = json.load(urllib.request.urlopen(sys.argv[1]))\n\
        assert document['openapi'].startswith('3.1'), document['openapi']\n\
        assert len(document['paths']) > 10, document['paths'].keys()\n\
        validate(document)\n";
    let url = format!("{}/openapi.json", hub.url());
    let output = Command::new(python).args(["-c", check, &url]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
