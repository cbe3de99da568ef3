//! `prom lint`: formats, exit codes, remarks, fixes, baselines, revisions; and our own code.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::prom::{prom, prom_in};

const CLIENT: &str =
    "import { PromClient } from \"@promethean/client\";\nconst client = new PromClient(\"http://hub\");\n";
const SCHEMA: &str = r#"{"type":"object","required":["id"],"properties":{"id":{"type":"integer"}}}"#;

/// A project with a file of code and others.
fn project(code: &str, files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "src/a.ts", &format!("{CLIENT}{code}\n"));
    for (path, text) in files {
        write(folder.path(), path, text);
    }
    folder
}

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

const BAD: &str = "client.publish(\"Orders.Placed\", {});";

#[test]
fn people_see_the_source_and_the_fix_and_errors_exit_with_1() {
    let folder = project(BAD, &[]);
    let ran = prom_in(folder.path(), &["lint"], &[]).exits(1);
    assert_eq!(ran.stderr, "");
    insta::assert_snapshot!(ran.stdout, @r#"
    error[topic-name]: topic name "Orders.Placed" is invalid: it has a character outside a-z, 0-9 and the dot; use lower-case letters and digits in segments joined by dots, e.g. orders.placed.v2
     --> src/a.ts:3:16
      |
    3 | client.publish("Orders.Placed", {});
      |                ^^^^^^^^^^^^^^^
      = fix: write "orders.placed" (--fix does it)

    1 error in 1 source file
    "#);
    let ran = prom_in(folder.path(), &["lint", "--format", "concise"], &[]).exits(1);
    assert!(ran.stdout.starts_with("src/a.ts:3:16: error[topic-name] topic name"), "{}", ran.stdout);
    let ran = prom_in(folder.path(), &["lint", "--format", "agent"], &[]).exits(1);
    assert!(ran.stdout.ends_with("\n  fix: write \"orders.placed\"\n"), "{}", ran.stdout);
    let ran = prom_in(folder.path(), &["lint", "--format", "github"], &[]).exits(1);
    let head =
        "::error file=src/a.ts,line=3,endLine=3,col=16,endColumn=31,title=topic-name::topic name \"Orders.Placed\"";
    assert!(ran.stdout.starts_with(head), "{}", ran.stdout);
}

#[test]
fn what_is_written_elsewhere_is_shown_there_too() {
    let folder =
        project("import { T } from \"./t\";\nclient.publish(T, {});", &[("src/t.ts", "export const T = \"Bad\";\n")]);
    let ran = prom_in(folder.path(), &["lint"], &[]).exits(1);
    assert!(ran.stdout.contains("--> src/a.ts:4:16"), "{}", ran.stdout);
    assert!(ran.stdout.contains("--> src/t.ts:1:18"), "{}", ran.stdout);
    assert!(ran.stdout.contains("1 | export const T = \"Bad\";"), "{}", ran.stdout);
    // It may be used for something else there.
    let ran = prom_in(folder.path(), &["lint", "--fix"], &[]).exits(1);
    assert_eq!(ran.stderr, "fixed: 0 places in 0 files\n");
    assert_eq!(std::fs::read_to_string(folder.path().join("src/t.ts")).unwrap(), "export const T = \"Bad\";\n");
}

#[test]
fn json_has_places_and_counts() {
    let folder = project(BAD, &[]);
    let ran = prom_in(folder.path(), &["lint", "--json"], &[]).exits(1);
    let json: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(json["errors"], 1);
    assert_eq!(json["findings"][0]["rule"], "topic-name");
    assert_eq!(json["findings"][0]["file"], "src/a.ts");
    assert_eq!(json["findings"][0]["start"]["line"], 3);
    assert_eq!(json["findings"][0]["fixable"], true);
    assert_eq!(json["statistics"]["calls"]["ours"], 1);
}

#[test]
fn warnings_alone_are_no_failure_and_severities_are_settings() {
    let folder = project(BAD, &[("prom.toml", "[lint]\nrules = { topic-name = \"warn\" }\n")]);
    let ran = prom_in(folder.path(), &["lint"], &[]).exits(0);
    assert!(ran.stdout.ends_with("1 warning in 1 source file\n"), "{}", ran.stdout);
    write(folder.path(), "prom.toml", "[lint]\nrules = { topic-nam = \"off\" }\n");
    let ran = prom_in(folder.path(), &["lint"], &[]).exits(2);
    assert!(ran.stderr.contains("there is no rule `topic-nam`; did you mean `topic-name`?"), "{}", ran.stderr);
    for wrong in [
        "wrappers = [{ topic = 0 }]",
        "wrappers = [{ name = \"a\", topics = 0 }]",
        "clients = [{ module = \"a\" }]",
        "allow = [\"a\"]",
        "rules = { topic-name = \"loud\" }",
        "exclude = \"a\"",
    ] {
        write(folder.path(), "prom.toml", &format!("[lint]\n{wrong}\n"));
        let ran = prom_in(folder.path(), &["lint"], &[]).exits(2);
        assert!(ran.stderr.contains("prom.toml:2:"), "{wrong}: {}", ran.stderr);
    }
}

#[test]
fn the_configuration_above_is_found_and_paths_begin_there() {
    let folder = project(BAD, &[("prom.toml", "[lint]\n")]);
    let ran = prom_in(&folder.path().join("src"), &["lint", "a.ts", "--format", "concise"], &[]).exits(1);
    assert!(ran.stdout.starts_with("src/a.ts:3:16"), "{}", ran.stdout);
    prom_in(folder.path(), &["lint", "nowhere"], &[]).exits(2);
    prom_in(folder.path(), &["lint", "--format", "xml"], &[]).exits(2);
    prom_in(folder.path(), &["lint", "--config", "other.toml"], &[]).exits(2);
    prom_in(folder.path(), &["lint", "--schemas", "other"], &[]).exits(2);
}

#[test]
fn fixes_change_what_is_safe_and_nothing_else() {
    let code = "client.publish(\"Orders.Placed\", {}, { headers: { \"X-Shop\": \"7\" } });\n\
        client.publish(\"orders_placed\", {});\n// prom-ignore group-name: left over\nclient.publish(\"good\", {});";
    let folder = project(code, &[]);
    let ran = prom_in(folder.path(), &["lint", "--fix"], &[]).exits(1);
    assert_eq!(ran.stderr, "fixed: 3 places in 1 file\n");
    assert!(ran.stdout.contains("orders_placed") && !ran.stdout.contains("Orders.Placed"), "{}", ran.stdout);
    let fixed = std::fs::read_to_string(folder.path().join("src/a.ts")).unwrap();
    let expected = format!(
        "{CLIENT}client.publish(\"orders.placed\", {{}}, {{ headers: {{ \"x-shop\": \"7\" }} }});\n\
        client.publish(\"orders_placed\", {{}});\nclient.publish(\"good\", {{}});\n"
    );
    assert_eq!(fixed, expected);
}

#[test]
fn a_baseline_lets_through_what_was_there_and_shows_what_is_new() {
    let folder = project(BAD, &[]);
    let run = |arguments: &[&str]| {
        let all = [&["lint", "--format", "concise", "--baseline", "base.json"], arguments].concat();
        prom_in(folder.path(), &all, &[])
    };
    assert!(run(&[]).exits(2).stderr.contains("--write-baseline creates it"));
    run(&["--write-baseline"]).exits(0);
    run(&[]).exits(0);
    write(folder.path(), "src/b.ts", &format!("{CLIENT}{BAD}\n"));
    let ran = run(&[]).exits(1);
    assert!(ran.stdout.contains("src/b.ts:3:16") && !ran.stdout.contains("src/a.ts"), "{}", ran.stdout);
    write(folder.path(), "src/b.ts", "");
    write(folder.path(), "src/a.ts", &format!("{CLIENT}\n"));
    assert!(run(&[]).exits(0).stderr.contains("no longer found: 1 finding;"), "stale counts are told");
    run(&["--prune"]).exits(0);
    write(folder.path(), "src/a.ts", &format!("{CLIENT}{BAD}\n"));
    run(&[]).exits(1);
    write(folder.path(), "base.json", "{}");
    run(&[]).exits(2);
}

#[test]
fn a_run_over_a_part_leaves_the_rest_of_a_baseline_alone() {
    let folder = project(BAD, &[]);
    write(folder.path(), "other/b.ts", &format!("{CLIENT}{BAD}\n"));
    let run = |arguments: &[&str]| {
        let all = [&["lint", "--format", "concise", "--baseline", "base.json"], arguments].concat();
        prom_in(folder.path(), &all, &[])
    };
    run(&["--write-baseline"]).exits(0);
    assert_eq!(run(&["src", "--prune"]).exits(0).stderr, "", "nothing of what was looked at is gone");
    run(&["src", "--write-baseline"]).exits(0);
    run(&[]).exits(0);
    // What is gone in the part that was looked at is taken out.
    write(folder.path(), "src/a.ts", CLIENT);
    run(&["src", "--prune"]).exits(0);
    write(folder.path(), "src/a.ts", &format!("{CLIENT}{BAD}\n"));
    let ran = run(&[]).exits(1);
    assert!(ran.stdout.contains("src/a.ts") && !ran.stdout.contains("other/b.ts"), "{}", ran.stdout);
}

#[test]
fn a_fix_never_makes_one_header_of_two() {
    let code = "client.publish(\"a\", {}, { headers: { \"X-Shop\": \"1\", \"x-shop\": \"2\" } });";
    let folder = project(code, &[]);
    prom_in(folder.path(), &["lint", "--fix"], &[]).exits(1);
    assert_eq!(std::fs::read_to_string(folder.path().join("src/a.ts")).unwrap(), format!("{CLIENT}{code}\n"));
}

#[test]
fn a_record_from_the_cache_gives_the_same_findings() {
    let folder = project(BAD, &[]);
    let run = |arguments: &[&str]| {
        let ran = prom_in(folder.path(), &[&["lint", "--json"], arguments].concat(), &[]).exits(1);
        let mut json: Value = serde_json::from_str(&ran.stdout).unwrap();
        (json["findings"].take(), json["statistics"]["cached"].as_u64().unwrap())
    };
    let (first, from_cache) = run(&[]);
    assert_eq!(from_cache, 0);
    let (second, from_cache) = run(&[]);
    assert_eq!((&second, from_cache), (&first, 1));
    assert_eq!(run(&["--no-cache"]), (first, 0));
    write(folder.path(), ".prom-cache/lint/records.json", "{ broken");
    assert_eq!(run(&[]).1, 0);
    assert_eq!(std::fs::read_to_string(folder.path().join(".prom-cache/lint/.gitignore")).unwrap(), "*\n");
}

#[test]
fn rules_explain_themselves() {
    let list = prom(&["lint", "--explain"]).exits(0).stdout;
    let page = prom(&["lint", "--explain", "topic-unregistered"]).exits(0).stdout;
    assert!(list.contains("payload-mismatch") && page.starts_with("## topic-unregistered\n"), "{list}{page}");
    assert!(
        prom(&["lint", "--explain", "topic-unregisterd"])
            .exits(2)
            .stderr
            .contains("did you mean `topic-unregistered`?")
    );
}

#[test]
fn statistics_count_calls_that_are_not_ours() {
    let folder = project(
        BAD,
        &[("src/r.ts", "import { createClient } from \"redis\";\ncreateClient().publish(\"A B\", \"x\");\n")],
    );
    let ran = prom_in(folder.path(), &["lint", "--statistics"], &[]).exits(1);
    assert!(ran.stdout.contains("      1  topic-name\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("1  calls on our clients; 1 of others called publish or subscribe"), "{}", ran.stdout);
}

fn git(folder: &Path, arguments: &[&str]) {
    let settings = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"];
    let ran = Command::new("git").args(settings).args(arguments).current_dir(folder).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn against_a_revision_what_a_version_is_held_to_may_not_change_unseen() {
    let wider = r#"{"type":"object","required":["id","shop"]}"#;
    let step = ("schemas/orders/v1-to-v2.jq", ".shop = 1");
    let schemas = [("schemas/orders/v1.json", SCHEMA), ("schemas/orders/v2.json", wider), step];
    let folder = project("client.publish(\"orders\", { id: 1 });", &schemas);
    let path = std::env::var("PATH").unwrap();
    git(folder.path(), &["init", "-q", "-b", "main"]);
    git(folder.path(), &["add", "."]);
    git(folder.path(), &["commit", "-qm", "first"]);
    let run = || {
        let all = ["lint", "--format", "concise", "--no-cache", "--against", "main"];
        prom_in(folder.path(), &all, &[("PATH", &path)])
    };
    run().exits(0);
    std::fs::remove_file(folder.path().join(step.0)).unwrap();
    assert!(run().exits(1).stdout.contains("version 2 of orders is not backward compatible"), "a step is gone");
    write(folder.path(), step.0, step.1);
    write(folder.path(), "prom.toml", "[schemas]\ncompat = \"full\"\n");
    assert!(run().exits(1).stdout.contains("version 2 of orders is not full compatible"), "the promise is another");
    // Another folder is no other schema.
    write(folder.path(), "prom.toml", "[schemas]\nfolder = \"contracts\"\n");
    std::fs::rename(folder.path().join("schemas"), folder.path().join("contracts")).unwrap();
    run().exits(0);
    write(folder.path(), "contracts/orders/v1.json", "true");
    assert!(
        run().exits(1).stdout.contains("version 1 of orders differs from what it is in main"),
        "a released version"
    );
}

#[test]
fn against_a_revision_only_what_differs_is_judged() {
    let narrower =
        r#"{"type":"object","required":["id","shop"],"properties":{"id":{"type":"integer"},"shop":{"type":"string"}}}"#;
    let old = ("schemas/old/v1.json", "true");
    let folder = project(
        "client.publish(\"orders\", { id: 1 });\nclient.publish(\"old\", 1);",
        &[("schemas/orders/v1.json", SCHEMA), old],
    );
    // Broken before, and no business of this change.
    write(folder.path(), "schemas/old/v2.json", "false");
    let path = std::env::var("PATH").unwrap();
    let git = |arguments: &[&str]| git(folder.path(), arguments);
    git(&["init", "-q", "-b", "main"]);
    git(&["add", "."]);
    git(&["commit", "-qm", "first"]);
    let run = |arguments: &[&str]| {
        let all = [&["lint", "--format", "concise", "--no-cache"], arguments].concat();
        prom_in(folder.path(), &all, &[("PATH", &path)])
    };
    assert!(run(&[]).exits(1).stdout.contains("schemas/old/v2.json"), "without a revision everything is judged");
    run(&["--against", "HEAD"]).exits(0);
    write(folder.path(), "schemas/orders/v2.json", narrower);
    let ran = run(&["--against", "main"]).exits(1);
    assert!(ran.stdout.contains("schemas/orders/v2.json:1:"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("schemas/old"), "{}", ran.stdout);
    write(folder.path(), "schemas/orders/v1.json", narrower);
    std::fs::remove_file(folder.path().join("schemas/orders/v2.json")).unwrap();
    let ran = run(&["--against", "main"]).exits(1);
    assert!(ran.stdout.contains("version 1 of orders differs from what it is in main"), "{}", ran.stdout);
    assert!(run(&["--against", "nowhere"]).exits(2).stderr.contains("--against nowhere: git says"));
}

/// The clients, the examples and, where it is there, the page: everything that users would copy.
#[test]
fn our_own_code_is_clean() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let ours = ["sdk", "examples", "dashboard", "crates", "tests", "bench"]
        .into_iter()
        .filter(|folder| root.join(folder).is_dir());
    let mut arguments = vec!["lint", "--config", "lint.toml", "--no-cache", "--json"];
    arguments.extend(ours);
    let ran = prom_in(&root, &arguments, &[]);
    let json: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:#?}"));
    let findings = json["findings"].as_array().unwrap();
    assert!(findings.is_empty(), "{findings:#?}");
    assert!(json["statistics"]["calls"]["ours"].as_u64().unwrap() > 50, "{}", json["statistics"]);
}
