//! `prom codegen`: files written, files checked, and schemas that cannot be used.

use std::path::Path;

use crate::prom::{Ran, prom_in};

fn write(folder: &Path, file: &str, text: &str) {
    let path = folder.join(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// A folder with two topics, one in two versions, and files of other tools.
fn filled() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let object = r#"{"type":"object","required":["id"],"properties":{"id":{"type":"integer"}}}"#;
    write(folder.path(), "schemas/orders.placed/v1.json", object);
    write(folder.path(), "schemas/orders.placed/v2.json", object);
    write(folder.path(), "schemas/orders.placed/v1-to-v2.jq", ".");
    write(folder.path(), "schemas/orders.placed/settings.toml", "compat = \"none\"");
    write(folder.path(), "schemas/users.joined/v1.json", r#"{"type":"string"}"#);
    write(folder.path(), "schemas/README.md", "not a topic");
    folder
}

fn codegen(folder: &Path, arguments: &[&str]) -> Ran {
    let all: Vec<&str> = ["codegen"].into_iter().chain(arguments.iter().copied()).collect();
    prom_in(folder, &all, &[])
}

#[test]
fn standard_output_gets_all_versions_of_all_topics() {
    let folder = filled();
    let ran = codegen(folder.path(), &["ts", "--folder", "schemas"]).exits(0);
    for wanted in
        ["OrdersPlacedV1", "OrdersPlacedV2", "type OrdersPlaced = OrdersPlacedV2", "\"users.joined\": UsersJoined;"]
    {
        assert!(ran.stdout.contains(wanted), "{wanted} is missing from {}", ran.stdout);
    }
    let ran = codegen(folder.path(), &["rust", "--folder", "schemas"]).exits(0);
    assert!(ran.stdout.contains("pub mod orders_placed") && ran.stdout.contains("pub use self::v2 as latest"));
}

#[test]
fn topics_and_versions_can_be_chosen() {
    let folder = filled();
    let chosen = ["ts", "--folder", "schemas", "--topic", "orders.*", "--versions", "latest"];
    let ran = codegen(folder.path(), &chosen).exits(0);
    assert!(ran.stdout.contains("OrdersPlacedV2") && !ran.stdout.contains("OrdersPlacedV1"));
    assert!(!ran.stdout.contains("users.joined"));
    let ran = codegen(folder.path(), &["ts", "--folder", "schemas", "--topic", "nothing.*"]).exits(1);
    assert!(ran.stderr.contains("no schema of such a topic"), "{}", ran.stderr);
}

#[test]
fn a_check_fails_until_the_file_is_written_and_again_when_a_schema_changes() {
    let folder = filled();
    for (language, file) in [("ts", "topics.ts"), ("rust", "topics.rs")] {
        let write_it = [language, "--folder", "schemas", "--out", file];
        let check_it = [language, "--folder", "schemas", "--out", file, "--check"];
        codegen(folder.path(), &check_it).exits(1);
        assert!(!folder.path().join(file).exists(), "a check writes nothing");
        codegen(folder.path(), &write_it).exits(0);
        codegen(folder.path(), &check_it).exits(0);
        write(folder.path(), "schemas/users.joined/v2.json", r#"{"type":"boolean"}"#);
        let ran = codegen(folder.path(), &check_it).exits(1);
        assert!(ran.stderr.contains("is not current") && ran.stdout.contains("\n+"), "{ran:#?}");
        let ran = codegen(folder.path(), &[&check_it[..], &["--json"]].concat()).exits(1);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&ran.stdout).unwrap()["current"], false);
        std::fs::remove_file(folder.path().join("schemas/users.joined/v2.json")).unwrap();
    }
}

#[test]
fn a_current_file_is_not_touched() {
    let folder = filled();
    let write_it = ["ts", "--folder", "schemas", "--out", "topics.ts"];
    codegen(folder.path(), &write_it).exits(0);
    let before = std::fs::metadata(folder.path().join("topics.ts")).unwrap().modified().unwrap();
    let ran = codegen(folder.path(), &write_it).exits(0);
    assert!(ran.stderr.contains("is current"), "{}", ran.stderr);
    assert_eq!(std::fs::metadata(folder.path().join("topics.ts")).unwrap().modified().unwrap(), before);
}

#[test]
fn what_no_validator_checks_is_noted() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "s/a/v1.json", r#"{"type":"object","unevaluatedProperties":false}"#);
    let ran = codegen(folder.path(), &["ts", "--folder", "s"]).exits(0);
    assert!(ran.stderr.contains("a v1 at `/unevaluatedProperties`"), "{}", ran.stderr);
}

#[test]
fn unusable_schemas_are_named() {
    for (schema, said) in [
        ("{", "v1.json"),
        (r##"{"$ref":"#"}"##, "refers to itself"),
        (r#"{"$schema":"http://json-schema.org/draft-04/schema#"}"#, "draft"),
        (r#"{"properties":{"a":5}}"#, "/properties/a"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "s/a/v1.json", schema);
        let ran = codegen(folder.path(), &["rust", "--folder", "s"]).exits(1);
        assert!(ran.stderr.contains(said) && ran.stdout.is_empty(), "{ran:#?}");
    }
}

#[test]
fn wrong_usage_is_told_apart() {
    let folder = filled();
    for wrong in [
        &["ts"][..],
        &["ts", "--folder", "missing"],
        &["cobol", "--folder", "schemas"],
        &["ts", "--folder", "schemas", "--check"],
    ] {
        codegen(folder.path(), wrong).exits(2);
    }
    write(folder.path(), "schemas/Not A Topic/v1.json", "{}");
    codegen(folder.path(), &["ts", "--folder", "schemas"]).exits(2);
}
