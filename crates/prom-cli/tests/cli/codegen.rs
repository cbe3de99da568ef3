//! `prom codegen`: files written, files checked, schemas of a hub, and schemas that cannot be used.

use std::path::Path;

use crate::prom::{Ran, prom_in};
use crate::serve::Served;

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
    assert!(ran.stderr.contains("no schema of a matching topic"), "{}", ran.stderr);
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
        assert!(ran.stderr.contains("is out of date") && ran.stdout.contains("\n+"), "{ran:#?}");
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
        &["ts", "--folder", "missing"][..],
        &["cobol", "--folder", "schemas"],
        &["ts", "--folder", "schemas", "--check"],
    ] {
        codegen(folder.path(), wrong).exits(2);
    }
    for (file, text) in [("Not A Topic/v1.json", "{}"), ("a/v1.json", "{"), ("a/v2.json", "{}"), ("a/one.json", "{}")] {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &format!("s/{file}"), text);
        let ran = codegen(folder.path(), &["ts", "--folder", "s"]).exits(2);
        assert!(ran.stderr.contains(&format!("s/{}", file.split('/').next().unwrap())), "{}", ran.stderr);
    }
}

const ADDRESS: &str = r##"{"type":"object","title":"Where it goes","required":["city"],
    "properties":{"city":{"type":"string"},"country":{"$ref":"#/$defs/code"},"floor":{"type":"number","minimum":1.0}},
    "$defs":{"code":{"enum":["DE","NO"]}}}"##;
const PARCEL: &str = r##"{"$id":"https://example.com/parcel.json","type":"object","required":["to"],
    "properties":{"to":{"$ref":"address.json"},"via":{"type":"array","items":{"$ref":"address.json#/$defs/code"}},
    "parts":{"type":"array","items":{"$ref":"#"}}}}"##;
const ROUTE: &str = r#"{"type":"array","items":{"$ref":"parcel.json"}}"#;
const STAMP: &str = r#"{"$schema":"http://json-schema.org/draft-07/schema#","enum":["first","second"]}"#;
const LETTER: &str = r#"{"$schema":"http://json-schema.org/draft-07/schema#","type":"object",
    "properties":{"stamps":{"items":[{"$ref":"stamp.json"}]}}}"#;

fn refers(version: u32, name: &str, subject: &str) -> String {
    format!("[[references.v{version}]]\nname = \"{name}\"\nsubject = \"{subject}\"\nversion = 1\n")
}

/// Schemas that refer to others, which refer to others.
fn referring() -> tempfile::TempDir {
    let folder = filled();
    write(folder.path(), "schemas/orders.placed/v2.json", r#"{"type":"object","title":"The second"}"#);
    write(folder.path(), "schemas/shop.address/v1.json", ADDRESS);
    write(folder.path(), "schemas/shop.parcel/v1.json", PARCEL);
    write(folder.path(), "schemas/shop.parcel/settings.toml", &refers(1, "address.json", "shop.address"));
    write(folder.path(), "schemas/post.route/v1.json", ROUTE);
    write(folder.path(), "schemas/post.route/settings.toml", &refers(1, "parcel.json", "shop.parcel"));
    write(folder.path(), "schemas/post.stamp/v1.json", STAMP);
    write(folder.path(), "schemas/post.letter/v1.json", LETTER);
    write(folder.path(), "schemas/post.letter/settings.toml", &refers(1, "stamp.json", "post.stamp"));
    folder
}

#[test]
fn a_hub_gives_the_same_bytes_as_the_folder_that_was_registered() {
    let folder = referring();
    let hub = Served::start(folder.path(), &["--store", "memory"], &[]);
    prom_in(folder.path(), &["schema", "register", "--folder", "schemas", "--url", &hub.url], &[]).exits(0);
    // Deleted versions are not offered, so they are not generated either.
    write(folder.path(), "users.json", r#"{"type":["string","null"]}"#);
    prom_in(folder.path(), &["schema", "register", "users.joined", "users.json", "--url", &hub.url], &[]).exits(0);
    prom_in(folder.path(), &["schema", "delete", "users.joined", "2", "--url", &hub.url], &[]).exits(0);
    for more in [&["ts"][..], &["rust"], &["ts", "--topic", "shop.*"], &["rust", "--versions", "latest"]] {
        let of_hub = codegen(folder.path(), &[more, &["--url", &hub.url]].concat()).exits(0);
        let of_folder = codegen(folder.path(), &[more, &["--folder", "schemas"]].concat()).exits(0);
        assert_eq!(of_hub.stdout, of_folder.stdout, "{more:?}");
        assert_eq!(of_hub.stderr, of_folder.stderr, "{more:?}");
        assert!(!of_hub.stdout.is_empty());
    }
    codegen(folder.path(), &["ts", "--folder", "schemas", "--out", "topics.ts"]).exits(0);
    codegen(folder.path(), &["ts", "--out", "topics.ts", "--check", "--url", &hub.url]).exits(0);
    let ran = codegen(folder.path(), &["ts", "--topic", "nothing.*", "--url", &hub.url]).exits(1);
    assert!(ran.stderr.contains("no schema of a matching topic") && ran.stderr.contains(&hub.url), "{}", ran.stderr);
}

#[test]
fn what_a_schema_refers_to_is_in_its_types_and_its_validator() {
    let folder = referring();
    let ran = codegen(folder.path(), &["ts", "--folder", "schemas", "--topic", "shop.parcel"]).exits(0);
    assert_eq!(ran.stderr, "", "every reference is followed");
    let (_, types) = ran.stdout.split_once("*/\n/* eslint-disable */\n\n").unwrap();
    let (types, _) = types.split_once("\n/** The latest version. */").unwrap();
    insta::assert_snapshot!(types, @r#"
    export interface ShopParcelV1 {
      parts?: ShopParcelV1[];
      to: ShopParcelV1Address;
      via?: ShopParcelV1Code[];
    }

    /** Where it goes */
    export interface ShopParcelV1Address {
      city: string;
      country?: ShopParcelV1Code;
      floor?: number;
    }

    export type ShopParcelV1Code = "DE" | "NO";
    "#);
    let ran = codegen(folder.path(), &["rust", "--folder", "schemas", "--topic", "shop.parcel"]).exits(0);
    assert!(ran.stdout.contains("pub city: String"), "{}", ran.stdout);
}

#[test]
fn a_reference_out_of_the_folder_and_a_circle_are_told() {
    let folder = referring();
    std::fs::remove_dir_all(folder.path().join("schemas/shop.address")).unwrap();
    let ran = codegen(folder.path(), &["ts", "--folder", "schemas"]).exits(2);
    assert!(ran.stderr.contains("shop.address version 1 is not in this folder"), "{}", ran.stderr);
    codegen(folder.path(), &["ts", "--folder", "schemas", "--topic", "orders.*"]).exits(0);
    write(folder.path(), "schemas/shop.address/v1.json", ADDRESS);
    write(folder.path(), "schemas/shop.address/settings.toml", &refers(1, "route.json", "post.route"));
    let ran = codegen(folder.path(), &["ts", "--folder", "schemas"]).exits(2);
    assert!(ran.stderr.contains("in a circle"), "{}", ran.stderr);
}

#[test]
fn a_hub_that_is_not_there_is_told() {
    let ran = codegen(filled().path(), &["ts", "--url", "http://127.0.0.1:1"]).exits(3);
    assert!(ran.stderr.contains("127.0.0.1:1"), "{}", ran.stderr);
}
