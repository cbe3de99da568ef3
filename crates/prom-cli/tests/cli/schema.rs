//! `prom schema` against a real hub, and without one.

use std::path::Path;

use crate::prom::{Ran, prom_in};
use crate::serve::Served;

const V1: &str =
    r#"{"type":"object","properties":{"pid":{"type":"integer"},"mem_mb":{"type":"number"}},"required":["pid"]}"#;
const V2: &str = r#"{"type":"object","properties":{"pid":{"type":"integer"},"mem_mib":{"type":"number"}},"required":["pid","mem_mib"]}"#;
const STEP: &str = ".mem_mib = (.mem_mb // 0) | del(.mem_mb)";

struct Scene {
    folder: tempfile::TempDir,
    hub: Served,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let hub = Served::start(folder.path(), &["--store", "memory"], &[]);
        Self { folder, hub }
    }

    fn write(&self, path: &str, text: &str) {
        write(self.folder.path(), path, text);
    }

    fn schema(&self, arguments: &[&str]) -> Ran {
        let all = [&["schema"], arguments, &["--url", &self.hub.url]].concat();
        prom_in(self.folder.path(), &all, &[])
    }
}

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[test]
fn a_schema_is_registered_shown_checked_and_deleted() {
    let scene = Scene::new();
    scene.write("v1.json", V1);
    scene.write("v2.json", V2);
    scene.write("step.jq", STEP);
    let ran = scene.schema(&["ls"]).exits(0);
    assert!(ran.stdout.contains("no schemas yet"), "{}", ran.stdout);
    let ran = scene.schema(&["register", "heartbeat", "v1.json"]).exits(0);
    assert_eq!(ran.stdout, "heartbeat version 1 is registered, id 1\n");
    let ran = scene.schema(&["register", "heartbeat", "v1.json"]).exits(0);
    assert_eq!(ran.stdout, "heartbeat version 1 was registered before, id 1\n");
    let ran = scene.schema(&["check", "heartbeat", "v2.json"]).exits(1);
    let direction = "backward: new readers cannot read all events of version 1";
    for told in ["v2.json is not compatible with heartbeat", "rule ", "fix: ", "example: ", direction, "more: "] {
        assert!(ran.stderr.contains(told), "{told}: {}", ran.stderr);
    }
    let ran = scene.schema(&["register", "heartbeat", "v2.json"]).exits(1);
    assert!(ran.stderr.contains("schema_incompatible") && ran.stderr.contains("fix: "), "{}", ran.stderr);
    let command = ran.stderr.lines().find_map(|line| line.trim().strip_prefix("more: prom schema ")).unwrap();
    let ran = scene.schema(&command.split(' ').collect::<Vec<_>>()).exits(0);
    assert!(ran.stdout.starts_with("## required-added\n"), "{}", ran.stdout);
    let upcast = ["heartbeat", "v2.json", "--compat", "upcast", "--upcast", "step.jq"];
    let ran = scene.schema(&[&["check"], &upcast[..]].concat()).exits(0);
    assert_eq!(ran.stdout, "v2.json: could be registered for heartbeat\n");
    scene.schema(&[&["register"], &upcast[..]].concat()).exits(0);
    let ran = scene.schema(&["show", "heartbeat"]).exits(0);
    assert!(
        ran.stdout.contains("compat backward") && ran.stdout.contains(&format!("upcaster 1→2: {STEP}")),
        "{}",
        ran.stdout
    );
    let ran = scene.schema(&["show", "heartbeat", "latest"]).exits(0);
    let shown: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(shown, serde_json::from_str::<serde_json::Value>(V2).unwrap());
    let ran = scene.schema(&["diff", "heartbeat", "1", "2"]).exits(0);
    assert!(
        ran.stdout.contains("+ /properties/mem_mib") && ran.stdout.contains("under version 2: no"),
        "{}",
        ran.stdout
    );
    let ran = scene.schema(&["set", "heartbeat", "--compat", "full"]).exits(0);
    assert!(ran.stdout.starts_with("heartbeat: compat full, policy lenient"), "{}", ran.stdout);
    scene.schema(&["set", "heartbeat"]).exits(2);
    scene.schema(&["set", "heartbeat", "--compat", "sideways"]).exits(2);
    let ran = scene.schema(&["set", "heartbeat", "--inherit"]).exits(0);
    assert!(ran.stdout.contains("compat backward"), "{}", ran.stdout);
    scene.schema(&["set", "--all-topics", "--policy", "strict"]).exits(0);
    scene.schema(&["upcast", "heartbeat", "1", "--jq", ".mem_mib = 0"]).exits(0);
    let ran = scene.schema(&["upcast", "heartbeat", "1", "--jq", "}"]).exits(2);
    assert!(ran.stderr.contains("jq"), "{}", ran.stderr);
    let ran = scene.schema(&["ls"]).exits(0);
    assert!(
        ran.stdout.contains("heartbeat") && ran.stdout.contains("1-2") && ran.stdout.contains("1→2"),
        "{}",
        ran.stdout
    );
    let ran = prom_in(scene.folder.path(), &["topics", "set", "heartbeat", "--url", &scene.hub.url], &[]).exits(0);
    assert!(ran.stdout.contains("heartbeat"), "{}", ran.stdout);
    let ran = prom_in(scene.folder.path(), &["topics", "--url", &scene.hub.url], &[]).exits(0);
    assert!(ran.stdout.contains("SCHEMA") && ran.stdout.contains("v2"), "{}", ran.stdout);
    let ran = scene.schema(&["delete", "heartbeat", "2"]).exits(0);
    assert_eq!(ran.stdout, "deleted: version 2 of heartbeat\n");
    scene.schema(&["delete", "heartbeat", "1", "--hard"]).exits(2);
    let ran = scene.schema(&["delete", "heartbeat", "--all", "--json"]).exits(0);
    assert_eq!(ran.stdout.trim(), r#"{"topic":"heartbeat","versions":[1]}"#);
    scene.schema(&["show", "nothing"]).exits(1);
}

#[test]
fn a_folder_is_registered_in_order_and_again_without_a_change() {
    let scene = Scene::new();
    scene.write("schemas/heartbeat/v1.json", V1);
    scene.write("schemas/heartbeat/v2.json", V2);
    scene.write("schemas/heartbeat/v1-to-v2.jq", STEP);
    scene.write("schemas/alarm/v1.json", r#"{"properties":{"of":{"$ref":"heartbeat.json"}}}"#);
    scene.write(
        "schemas/alarm/settings.toml",
        "compat = \"full\"\n[[references.v1]]\nname = \"heartbeat.json\"\nsubject = \"heartbeat\"\nversion = 2\n",
    );
    let ran = scene.schema(&["register", "--folder", "schemas"]).exits(0);
    insta::assert_snapshot!(ran.stdout, @r"
    heartbeat version 1 is registered, id 1
    heartbeat version 2 is registered, id 2
    alarm version 1 is registered, id 3
    ");
    let ran = scene.schema(&["register", "--folder", "schemas"]).exits(0);
    assert_eq!(ran.stdout.matches("was registered before").count(), 3, "{}", ran.stdout);
    let ran = scene.schema(&["show", "alarm"]).exits(0);
    assert!(ran.stdout.contains("compat full"), "{}", ran.stdout);
    scene.write("schemas/heartbeat/v3.json", r#"{"type":"string"}"#);
    let ran = scene.schema(&["register", "--folder", "schemas"]).exits(1);
    assert!(ran.stderr.contains("schemas/heartbeat/v3.json") && ran.stderr.contains("rule "), "{}", ran.stderr);
    scene.write("schemas/heartbeat/v1.json", r#"{"type":"object"}"#);
    let ran = scene.schema(&["register", "--folder", "schemas"]).exits(1);
    for told in ["schemas/heartbeat/v1.json: version 1 of heartbeat is registered with another schema", "v3.json"] {
        assert!(ran.stderr.contains(told), "{told}: {}", ran.stderr);
    }
}

#[test]
fn a_folder_without_a_topic_is_refused_and_told_what_it_should_be() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    std::fs::create_dir(here.join("empty")).unwrap();
    write(here, "schemas/heartbeat/v1.json", V1);
    for path in ["empty", "schemas/heartbeat"] {
        for command in [
            &["schema", "check", path, "--local"][..],
            &["schema", "register", "--folder", path],
            &["codegen", "ts", "--folder", path],
        ] {
            let ran = prom_in(here, command, &[]).exits(2);
            assert!(ran.stderr.contains("schemas/orders.placed/v1.json"), "{command:?}: {}", ran.stderr);
        }
    }
}

#[test]
fn an_upcaster_is_enough_where_the_topic_is_held_to_backward() {
    let scene = Scene::new();
    for (name, text) in
        [("v1.json", V1), ("v2.json", V2), ("step.jq", STEP), ("bad.jq", "}"), ("odd.jq", ".mem_mib=[]")]
    {
        scene.write(name, text);
    }
    let ran = scene.schema(&["check", "heartbeat", "v1.json"]).exits(0);
    assert!(ran.stdout.contains("no schema yet, so it would be version 1"), "{}", ran.stdout);
    scene.schema(&["register", "heartbeat", "v1.json"]).exits(0);
    let ran = scene.schema(&["register", "heartbeat", "v2.json", "--compat", "upcast"]).exits(2);
    assert!(ran.stderr.contains("--upcast FILE"), "{}", ran.stderr);
    scene.schema(&["set", "heartbeat", "--compat", "full"]).exits(0);
    for command in ["check", "register"] {
        let ran = scene.schema(&[command, "heartbeat", "v2.json", "--upcast", "step.jq"]).exits(1);
        assert!(ran.stderr.contains("add --compat upcast"), "{command}: {}", ran.stderr);
    }
    scene.schema(&["set", "heartbeat", "--inherit"]).exits(0);
    let publish = ["pub", "heartbeat", r#"{"pid":1,"mem_mb":5}"#, "--url", &scene.hub.url];
    prom_in(scene.folder.path(), &publish, &[]).exits(0);
    for command in ["check", "register", "prove"] {
        scene.schema(&[command, "heartbeat", "v2.json", "--upcast", "step.jq"]).exits(0);
    }
    // A registered version is proven with the program that is given, not with the stored one.
    let ran = scene.schema(&["prove", "heartbeat", "v2.json", "--upcast", "odd.jq"]).exits(1);
    assert!(ran.stderr.contains("1 event would fail"), "{}", ran.stderr);
    let ran = scene.schema(&["prove", "heartbeat", "v2.json", "--upcast", "bad.jq"]).exits(2);
    assert!(ran.stderr.contains("not valid jq"), "{}", ran.stderr);
    scene.schema(&["prove", "heartbeat", "v1.json", "--upcast", "step.jq"]).exits(2);
    scene.schema(&["prove", "heartbeat", "v2.json"]).exits(0);
}

#[test]
fn what_is_not_there_is_told_with_the_command_that_lists_what_is() {
    let scene = Scene::new();
    scene.write("v1.json", V1);
    scene.schema(&["register", "heartbeat", "v1.json"]).exits(0);
    for (command, told) in [
        (&["show", "nothing"][..], "prom schema ls"),
        (&["show", "heartbeat", "9"], "prom schema show heartbeat"),
        (&["diff", "heartbeat", "1", "9"], "prom schema show heartbeat"),
        (&["delete", "nothing", "--all"], "prom schema ls"),
        (&["delete", "heartbeat", "9"], "prom schema show heartbeat"),
    ] {
        let ran = scene.schema(command).exits(1);
        assert!(ran.stderr.contains(told) && !ran.stderr.contains("prom topics"), "{command:?}: {}", ran.stderr);
    }
    let ran = scene.schema(&["delete", "heartbeat", "1", "--hard"]).exits(2);
    assert!(ran.stderr.contains("first: `prom schema delete heartbeat 1`"), "{}", ran.stderr);
    let ran = scene.schema(&["delete", "heartbeat", "1"]).exits(0);
    assert!(ran.stdout.contains("takes any payload"), "{}", ran.stdout);
    let publish = ["pub", "heartbeat", r#""anything""#, "--url", &scene.hub.url];
    prom_in(scene.folder.path(), &publish, &[]).exits(0);
    let ran = scene.schema(&["delete", "heartbeat", "1"]).exits(1);
    assert!(ran.stderr.contains("deleted already") && ran.stderr.contains("1 --hard`"), "{}", ran.stderr);
    scene.schema(&["delete", "heartbeat", "1", "--hard"]).exits(0);
    let ran = scene.schema(&["show", "heartbeat"]).exits(1);
    assert!(ran.stderr.contains("no schema is registered"), "{}", ran.stderr);
}

#[test]
fn schemas_that_outlive_their_topic_are_told() {
    let scene = Scene::new();
    scene.write("v1.json", V1);
    scene.schema(&["register", "heartbeat", "v1.json"]).exits(0);
    let ask = |arguments: &[&str]| prom_in(scene.folder.path(), &[arguments, &["--url", &scene.hub.url]].concat(), &[]);
    ask(&["pub", "heartbeat", r#"{"pid":1}"#]).exits(0);
    for flag in ["--dry-run", "--yes"] {
        let ran = ask(&["topics", "delete", "heartbeat", flag]).exits(0);
        assert!(ran.stderr.contains("`prom schema delete heartbeat --all`"), "{flag}: {}", ran.stderr);
    }
    scene.schema(&["show", "heartbeat", "1"]).exits(0);
}

#[test]
fn a_folder_is_checked_without_a_hub() {
    let folder = tempfile::tempdir().unwrap();
    let check = || prom_in(folder.path(), &["schema", "check", "schemas", "--local"], &[]);
    write(folder.path(), "schemas/heartbeat/v1.json", V1);
    assert_eq!(check().exits(0).stdout, "schemas: 1 version of 1 topic is compatible\n");
    write(folder.path(), "schemas/heartbeat/v2.json", V2);
    let ran = check().exits(1);
    for told in ["schemas/heartbeat/v2.json breaks compat backward", "rule ", "fix: ", "example: "] {
        assert!(ran.stderr.contains(told), "{told}: {}", ran.stderr);
    }
    let ran = prom_in(folder.path(), &["schema", "check", "schemas", "--local", "--json"], &[]).exits(1);
    let answer: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        (&answer["versions"][0]["compatible"], &answer["versions"][1]["compatible"]),
        (&true.into(), &false.into())
    );
    write(folder.path(), "schemas/heartbeat/v1-to-v2.jq", STEP);
    check().exits(0);
    write(folder.path(), "schemas/heartbeat/v1-to-v2.jq", "}");
    assert!(check().exits(2).stderr.contains("not valid jq"));
    write(folder.path(), "schemas/heartbeat/v4.json", V1);
    assert!(check().exits(2).stderr.contains("v3.json is missing"));
}

const CONFIG: &str = "[schemas]\nfolder = \"schemas\"\n[store]\nkind = \"embedded\"\n";

#[test]
fn a_hub_registers_its_folder_at_the_start_and_does_not_start_with_one_that_breaks() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write(here, "prom.toml", &format!("{CONFIG}[[upcast]]\ntopic = \"heartbeat\"\nfrom = 1\njq = \"{STEP}\"\n"));
    write(here, "schemas/heartbeat/v1.json", V1);
    write(here, "schemas/heartbeat/v2.json", V2);
    let show = |hub: &Served| {
        prom_in(here, &["schema", "show", "heartbeat", "--json", "--url", &hub.url], &[]).exits(0).stdout
    };
    let stop = |hub: Served| {
        hub.signal("TERM");
        assert_eq!(hub.exit_code(), Some(0));
    };
    let hub = Served::start(here, &[], &[]);
    let shown = show(&hub);
    assert!(shown.contains(r#""version":2"#) && shown.contains(r#""from":1"#), "{shown}");
    stop(hub);
    let hub = Served::start(here, &[], &[]);
    assert_eq!(show(&hub), shown, "a second start changed something");
    stop(hub);
    // A version that was changed after it was registered.
    write(here, "schemas/heartbeat/v1.json", r#"{"type":"object"}"#);
    let ran = prom_in(here, &["serve", "--listen", "127.0.0.1:0"], &[]).exits(1);
    assert!(
        ran.stderr.contains("schemas/heartbeat/v1.json") && ran.stderr.contains("another schema"),
        "{}",
        ran.stderr
    );
    // One that no upcaster leads to.
    write(here, "schemas/heartbeat/v1.json", V1);
    write(here, "schemas/heartbeat/v3.json", r#"{"type":"string"}"#);
    for command in [&["serve", "--listen", "127.0.0.1:0"][..], &["config", "check"]] {
        let ran = prom_in(here, command, &[]);
        assert!(ran.code != 0 && ran.stderr.contains("schemas/heartbeat/v3.json"), "{command:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("rule "), "{command:?}: {}", ran.stderr);
    }
}

#[test]
fn a_declared_topic_brings_its_schema_and_its_second_topic() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write(here, "heartbeat.json", V1);
    let text = "[[topic]]\nname = \"heartbeat\"\nschema = \"heartbeat.json\"\ndual_write = true\n";
    write(here, "prom.toml", text);
    let hub = Served::start(here, &["--store", "memory"], &[]);
    let ask = |arguments: &[&str]| prom_in(here, &[arguments, &["--url", &hub.url]].concat(), &[]);
    let ran = ask(&["pub", "heartbeat", r#"{"pid":"one"}"#]).exits(4);
    assert!(ran.stderr.contains("schema_invalid") && ran.stderr.contains("/pid"), "{}", ran.stderr);
    ask(&["pub", "heartbeat", r#"{"pid":1}"#]).exits(0);
    let topics = ask(&["topics", "ls"]).exits(0).stdout;
    assert!(topics.contains("heartbeat.v1") && topics.contains("SCHEMA"), "{topics}");
    write(here, "prom.toml", &text.replace("heartbeat.json", "no.json"));
    let ran = prom_in(here, &["config", "check"], &[]).exits(1);
    assert!(ran.stderr.contains("no.json"), "{}", ran.stderr);
}

#[test]
fn a_rule_is_explained_without_a_hub() {
    let folder = tempfile::tempdir().unwrap();
    let explain = |arguments: &[&str]| prom_in(folder.path(), &[&["schema", "explain"], arguments].concat(), &[]);
    let ran = explain(&[]).exits(0);
    assert!(ran.stdout.contains("required-added") && ran.stdout.contains("undecided"), "{}", ran.stdout);
    let ran = explain(&["minimum-raised"]).exits(0);
    insta::assert_snapshot!(ran.stdout, @r#"
    ## minimum-raised

    A lower bound refuses smaller numbers. `minimum` or `exclusiveMinimum` refuses numbers that the other schema accepts.

    ```text
    old: {"properties": {"count": {"type": "integer", "minimum": 0}}}
    new: {"properties": {"count": {"type": "integer", "minimum": 1}}}
    document: {"count":0}
    ```

    A count of 0 was fine before. The old schema accepts the document, and `/properties/count/minimum` of the new one refuses it.

    To change it safely: keep the old limit, or write an upcaster; with dual write, readers of the old form can follow its own topic. For this pair the upcaster would be:

    ```jq
    if .count == 0 then del(.count) end
    ```
    "#);
    let ran = explain(&["minimum-raised", "--json"]).exits(0);
    let told: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&told["pointer"], &told["example"]["count"]), (&"/properties/count/minimum".into(), &0.into()));
    let ran = explain(&["no-such-rule"]).exits(2);
    assert!(ran.stderr.contains("`prom schema explain` lists them"), "{}", ran.stderr);
}

#[test]
fn a_reader_that_normalises_gets_the_latest_form_and_a_refused_publisher_hears_why() {
    let scene = Scene::new();
    let ask = |arguments: &[&str]| prom_in(scene.folder.path(), &[arguments, &["--url", &scene.hub.url]].concat(), &[]);
    // Stored before there was a schema, and of no version's form.
    ask(&["pub", "heartbeat", r#"{"pid":"seven"}"#]).exits(0);
    scene.write("v1.json", V1);
    scene.write("v2.json", V2);
    scene.write("step.jq", STEP);
    scene.schema(&["register", "heartbeat", "v1.json"]).exits(0);
    let second = ["register", "heartbeat", "v2.json", "--compat", "upcast", "--upcast", "step.jq"];
    scene.schema(&second).exits(0);
    ask(&["pub", "heartbeat", r#"{"pid":1,"mem_mb":5}"#, "--dual-write"]).exits(0);
    let topics = ask(&["topics", "ls"]).exits(0).stdout;
    assert!(topics.contains("heartbeat.v1"), "{topics}");

    let looked = ask(&["sub", "heartbeat", "--from", "earliest", "--count", "2", "--normalize"]).exits(0).stdout;
    let lines: Vec<&str> = looked.lines().collect();
    assert!(lines[0].contains("x-upcast-error") && lines[0].contains(r#""pid":"seven""#), "{looked}");
    assert!(lines[1].contains(r#""x-upcasted-from":"1""#) && lines[1].contains(r#""mem_mib":5"#), "{looked}");
    let worked = ask(&["sub", "heartbeat", "--group", "g", "--from", "earliest", "--count", "1", "--normalize"]);
    let worked = worked.exits(0).stdout;
    assert!(worked.contains(r#""mem_mib":5"#) && !worked.contains("seven"), "{worked}");
    let letters = ask(&["sub", "dlq.heartbeat", "--from", "earliest", "--count", "1"]).exits(0).stdout;
    assert!(letters.contains("seven") && letters.contains("version 2"), "{letters}");

    let ran = ask(&["pub", "heartbeat", r#"{"pid":"one","mem_mib":5}"#]).exits(4);
    let told: Vec<&str> = ran.stderr.lines().collect();
    assert!(told[0].contains("schema_invalid") && told[0].contains("/pid"), "{}", ran.stderr);
    let fix = "change /pid, now \"one\", to satisfy the rule `type`; `prom schema show TOPIC 2` prints the schema";
    assert_eq!(told[1].trim(), fix);
}
