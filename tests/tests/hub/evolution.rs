//! The example of a schema's evolution, as a reader of the guide runs it: one command.

use std::process::Command;

use prom_testkit::{prom_binary, tools};

use super::or_skip;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/evolution/run.sh");

#[test]
fn a_mistyped_name_of_the_binary_stops_the_example() {
    if or_skip(tools::require("bash")).is_none() {
        return;
    }
    for wrong in ["/no/such/prom", "/tmp"] {
        let output = Command::new("bash").arg(SCRIPT).env("PROM", wrong).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains(wrong) && output.stdout.is_empty(), "{told}");
    }
}

#[test]
fn the_example_of_evolution_runs_in_one_command_and_shows_what_the_guide_says() {
    if or_skip(tools::require("bash")).is_none() {
        return;
    }
    let output = Command::new("bash").arg(SCRIPT).env("PROM", prom_binary().unwrap()).output().unwrap();
    let (said, wrong) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}\n{wrong}");
    for told in [
        "4 versions of 3 topics are compatible",
        "heartbeat.received version 1 is registered",
        "schema_invalid",
        "schema_incompatible",
        "rule required-added",
        "more: prom schema explain required-added",
        "heartbeat.received version 2 is registered",
        "upcaster 1→2",
        "mem_mib: number;",
    ] {
        assert!(said.contains(told), "{told} is missing from {said}");
    }
    let lines: Vec<&str> = said.lines().collect();
    let after = |command: &str| {
        let at = lines.iter().position(|line| line.starts_with("$ prom sub") && line.contains(command)).unwrap();
        lines[at + 1..at + 5].to_vec()
    };
    let stored = [r#"["1",12,null]"#, r#"["1",900,null]"#, r#"["1",13,null]"#, r#"["2",null,64]"#];
    assert_eq!(after("x-schema-version"), stored, "{said}");
    let normalised = [r#"["1",null,12]"#, r#"["1",null,900]"#, r#"["1",null,13]"#, "[null,null,64]"];
    assert_eq!(after("--normalize"), normalised, "{said}");
}
