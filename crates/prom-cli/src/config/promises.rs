//! What the configuration promises: the printed default is the default, wrong input is told apart with its place, and
//! flags win over environment over file.

use std::time::Duration;

use prom_protocol::http::topics::CompactionChoice;
use prom_types::Compaction;

use super::*;

fn read(text: &str) -> Result<Config, ConfigProblems> {
    let mut config = Config::default();
    file::read(&mut config, "prom.toml", text).map(|()| config)
}

fn errors(text: &str) -> String {
    read(text).expect_err("it was accepted").to_string()
}

#[test]
fn the_printed_default_is_exactly_the_default() {
    assert_eq!(read(&default_text()), Ok(Config::default()));
}

#[test]
fn every_key_of_the_printed_default_can_be_switched_on() {
    let all_on: Vec<String> = default_text().lines().map(switch_on).collect();
    let config = read(&all_on.join("\n")).unwrap();
    assert_eq!((config.declared.len(), config.upcasters.len(), config.searches.len()), (1, 1, 1));
    assert_eq!((config.outboxes.len(), config.feeds.len(), config.projectors.len()), (1, 1, 3));
    assert!(config.schemas.folder.is_some());
    assert!(config.server.tls.is_some() && config.auth.jwt_secret.is_some());
}

#[test]
fn every_key_that_does_not_say_otherwise_stands_there_with_its_default() {
    let text = default_text();
    let lines: Vec<&str> = text.lines().collect();
    let (mut section, mut prose, mut judged) = ("", String::new(), 0);
    for line in lines {
        match line {
            _ if line.starts_with('[') => section = line,
            _ if line.starts_with("#[[") => break,
            _ if line.starts_with("# ") => prose.push_str(line),
            _ if line.starts_with('#') => {
                if !prose.contains("Unset") {
                    let alone = format!("{section}\n{}\n", switch_on(line));
                    assert_eq!(read(&alone), Ok(Config::default()), "{line}");
                    judged += 1;
                }
                prose.clear();
            }
            _ => prose.clear(),
        }
    }
    assert!(judged > 15, "only {judged} keys have a default");
}

fn switch_on(line: &str) -> String {
    match line.strip_prefix('#') {
        Some(key) if !key.starts_with(' ') => key.to_owned(),
        _ => line.to_owned(),
    }
}

#[test]
fn what_is_written_is_what_holds() {
    let config = read(
        r#"
        [server]
        listen = "localhost:9000"
        drain = "250ms"
        [limits]
        frame_bytes = 4096
        per_connection = { rate = 50, burst = 100 }
        per_topic = { rate = 7 }
        [topics]
        auto_create = false
        [[topic]]
        name = "process.state"
        compaction = { tombstone_grace = "1h" }
        [[topic]]
        name = "heartbeat.received"
        partitions = 4
        retention = { age = "3d", size = "10GB" }
        [cors]
        origins = ["https://app.example.com"]
        "#,
    )
    .unwrap();
    assert_eq!(config.server.listen, "127.0.0.1:9000".parse().unwrap());
    assert_eq!(config.server.drain, Duration::from_millis(250));
    assert_eq!(config.limits.frame_bytes, 4096);
    assert_eq!(config.limits.per_connection, RateLimit::Limit { per_second: 50, burst: 100 });
    assert_eq!(config.limits.per_topic, RateLimit::Limit { per_second: 7, burst: 7 });
    assert!(!config.topics.auto_create);
    let hour = Compaction { tombstone_grace_ms: 3_600_000, min_age_ms: 0 };
    assert_eq!(config.declared[0].compaction, CompactionChoice::With(hour));
    assert_eq!(config.declared[1].partitions, 4);
    assert_eq!(config.declared[1].retention.age_ms, Some(3 * 86_400_000));
    assert_eq!(config.declared[1].retention.size_bytes, Some(10_000_000_000));
    assert_eq!(config.cors.origins, ["https://app.example.com"]);
}

#[test]
fn unknown_keys_are_named_with_their_place_and_the_nearest_key() {
    let text = "[server]\nlisen = \"127.0.0.1:8090\"\n\n[sever]\n\n[limits]\nper_topic = { rat = 3 }\nqqq = 1\n";
    insta::assert_snapshot!(errors(text), @r"
    prom.toml:2:1: unknown key `lisen` in [server]
      did you mean `listen`?
    prom.toml:4:2: unknown section `sever`
      did you mean `server`?
    prom.toml:7:13: `per_topic` needs a rate: { rate = 200, burst = 200 }
    prom.toml:7:15: unknown key `rat` in [limits] per_topic
      did you mean `rate`?
    prom.toml:8:1: unknown key `qqq` in [limits]
      valid here: frame_bytes, body_bytes, bodies_bytes, connections, subscriptions_per_connection, subscriptions_per_subject, topics_per_subject, groups_per_subject, topics, groups, auth_deadline, write_deadline, ping_interval, silence_limit, per_connection, per_topic, per_subject
    ");
}

#[test]
fn text_without_quotes_and_a_list_of_the_wrong_name_get_a_hint() {
    let told = errors("[server]\nlisten = 0.0.0.0:8090   # everywhere\n");
    assert!(told.contains("text stands in quotes: listen = \"0.0.0.0:8090\""), "{told}");
    let told = errors("[server]\ndata = ./here\n");
    assert!(told.contains("text stands in quotes: data = \"./here\""), "{told}");
    let told = errors("[server\n");
    assert!(!told.contains("quotes"), "{told}");
    let told = errors("[[topics]]\nname = \"a\"\n");
    assert!(told.contains("a topic that exists from the start is a [[topic]]"), "{told}");
}

#[test]
fn wrong_types_and_values_are_all_told_at_once() {
    let text = r#"
[server]
listen = 8090
ops_port = 70000
data = ""
tls = { cert = "a.pem" }
drain = "soon"
[store]
kind = "embeded"
[mongo]
url = "postgres://user:hunter2@host"
[auth]
clock_tolerance_s = -1
jwks_url = "login.example.com"
[limits]
frame_bytes = "1GiB"
per_connection = 200
ping_interval = "90s"
[[topic]]
name = "Bad Name"
partitions = 0
[[topic]]
partitions = 2
[cors]
origins = ["https://app.example.com/path"]
[log]
level = "inof"
"#;
    let errors = errors(text);
    assert!(!errors.contains("hunter2"), "a password was printed");
    insta::assert_snapshot!(errors, @r#"
    prom.toml:3:10: `listen`: expected an address such as "127.0.0.1:8090", found integer
    prom.toml:4:12: `ops_port`: expected a whole number from 0 to 65535, found 70000
    prom.toml:5:8: `data`: it is empty; remove the line, or give it a value
    prom.toml:6:7: `tls` needs both files: tls = { cert = "cert.pem", key = "key.pem" }
    prom.toml:7:9: `drain`: `soon` is not a duration; write a number and ms, s, m, h, d or w, such as "30s"
    prom.toml:9:8: `kind`: `embeded` is not one of memory, embedded, mongo; did you mean `embedded`?
    prom.toml:11:7: `url`: a MongoDB address begins with mongodb:// or mongodb+srv://
    prom.toml:13:21: `clock_tolerance_s`: expected a whole number from 0 to 3600, found -1
    prom.toml:14:12: `jwks_url`: `login.example.com` is not a web address; it begins with http:// or https:// and names a host
    prom.toml:15:2: `silence_limit` is not longer than `ping_interval`; live clients would count as gone
    prom.toml:16:15: `frame_bytes`: 1073741824 bytes is outside of 1024 to 67108864
    prom.toml:17:18: `per_connection`: expected { rate = 200, burst = 200 } or "off", found integer
    prom.toml:20:8: `name`: topic name "Bad Name" is invalid: it has a character outside a-z, 0-9 and the dot; use lower-case letters and digits in segments joined by dots, e.g. orders.placed.v2
    prom.toml:21:14: `partitions`: expected a whole number from 1 to 4096, found 0
    prom.toml:22:1: a [[topic]] needs a `name`
    prom.toml:25:11: `origins`: `https://app.example.com/path` is not an origin; write scheme, host and port only, such as "https://app.example.com"
    prom.toml:27:9: `level`: `inof` is not one of off, error, warn, info, debug, trace
    "#);
}

#[test]
fn saved_searches_are_read_and_their_slips_told() {
    let config = read("[[search]]\nname = \"late\"\ntopic = \"orders.placed\"\njq = \".payload.late\"\n").unwrap();
    assert_eq!((config.searches[0].name.as_str(), config.searches[0].jq.as_deref()), ("late", Some(".payload.late")));
    let text = "[[search]]\nname = \"a\"\ntopic = \"A\"\njq = \"}\"\n[[search]]\ntext = \"x\"\n[[search]]\nname = \"b\"\n\
        topic = \"b\"\n[[search]]\nname = \"b\"\ntopic = \"b\"\nkey = \"k\"\nwords = 1\n";
    insta::assert_snapshot!(errors(text), @r#"
    prom.toml:3:9: `topic`: topic name "A" is invalid: it has a character outside a-z, 0-9 and the dot; use lower-case letters and digits in segments joined by dots, e.g. orders.placed.v2
    prom.toml:4:6: `jq`: not a valid jq program: jq program, line 1, column 1: expected token, found `}`
    prom.toml:5:1: a [[search]] needs a `name`
    prom.toml:5:1: a [[search]] needs a `topic`
    prom.toml:7:1: a [[search]] needs at least one of text, jq, key, header
    prom.toml:11:8: search `b` is declared twice
    prom.toml:14:1: unknown key `words` in [[search]]
      valid here: name, topic, jq, text, key, header
    "#);
}

#[test]
fn keys_of_later_versions_are_refused_by_name() {
    let text = "[[topic]]
name = \"a\"
dlq = \"30s\"
";
    insta::assert_snapshot!(errors(text), @"prom.toml:3:1: `dlq` in [[topic]]: not supported by this version");
}

#[test]
fn sections_in_the_wrong_form_are_told_the_right_one() {
    let text = "port = 1\n[[server]]\nlisten = \"127.0.0.1:1\"\n[topic]\nname = \"a\"\n";
    insta::assert_snapshot!(errors(text), @r"
    prom.toml:1:1: unknown key `port` outside of any section
      valid here: server, store, mongo, auth, limits, topics, schemas, cors, telemetry, log, lint, topic, upcast, outbox, changefeed, projector, search
    prom.toml:2:3: `server` is a section, given once: write [server]
    prom.toml:4:2: `topic` is a list of sections: write [[topic]]
    ");
}

#[test]
fn broken_syntax_is_told_with_its_place() {
    insta::assert_snapshot!(errors("[server]\nlisten = \n"), @"prom.toml:2:10: string values must be quoted, expected literal string");
    insta::assert_snapshot!(errors("[server]\ndata = \"a\"\ndata = \"b\"\n"), @"prom.toml:3:1: duplicate key");
}

#[test]
fn schemas_and_upcasters_are_read_and_their_slips_told() {
    let config = read(
        "[schemas]\nfolder = \"here\"\ncompat = \"full_transitive\"\npolicy = \"strict\"\nformats = \"assert\"\n\
         undecided = \"allow\"\nadmit = \"latest\"\nunversioned_as = 2\n[[upcast]]\ntopic = \"a\"\nfrom = 1\njq = \".\"\n",
    )
    .unwrap();
    let settings = prom_schema::SchemaSettings {
        compat: prom_schema::Compat::FullTransitive,
        policy: prom_schema::CompatPolicy::Strict,
        formats: prom_schema::Formats::Assert,
        undecided: prom_schema::Undecided::Allow,
        admit: prom_schema::Admit::Latest,
        unversioned_as: 2,
    };
    assert_eq!(config.schemas, SchemasConfig { folder: Some("here".into()), settings });
    assert_eq!((config.upcasters[0].topic.as_str(), config.upcasters[0].from), ("a", 1));
    let text = "[schemas]\ncompat = \"backwards\"\nunversioned_as = 0\n[[upcast]]\ntopic = \"a\"\nfrom = 1\njq = \"}\"\n\
        [[upcast]]\nfrom = 1\n[[upcast]]\ntopic = \"b\"\nfrom = 1\njq = \".\"\n[[upcast]]\ntopic = \"b\"\nfrom = 1\njq = \".\"\n";
    insta::assert_snapshot!(errors(text), @r"
    prom.toml:2:10: `compat`: `backwards` is not one of none, backward, forward, full, backward_transitive, forward_transitive, full_transitive, upcast; did you mean `backward`?
    prom.toml:3:18: `unversioned_as`: expected a whole number from 1 to 4294967295, found 0
    prom.toml:7:6: `jq`: not a valid jq program: jq program, line 1, column 1: expected token, found `}`
    prom.toml:8:1: an [[upcast]] needs `topic`
    prom.toml:8:1: an [[upcast]] needs `jq`
    prom.toml:16:8: the step from version 1 of `b` is declared twice
    ");
}

#[test]
fn the_same_topic_is_not_declared_twice() {
    insta::assert_snapshot!(errors("[[topic]]\nname = \"a\"\n[[topic]]\nname = \"a\"\n"), @"prom.toml:4:8: topic `a` is declared twice");
}

#[test]
fn the_environment_wins_over_the_file_and_flags_win_over_both() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("my.toml");
    std::fs::write(&file, "[server]\nlisten = \"127.0.0.1:1\"\ndata = \"from-file\"\n[auth]\njwt_secret = \"file\"\n")
        .unwrap();
    let environment = |name: &str| match name {
        "WS_PORT" => Some("2".to_owned()),
        "OPS_PORT" => Some("3".to_owned()),
        "JWT_SECRET" => Some("environment".to_owned()),
        _ => None,
    };
    let from_environment = load(Some(&file), environment, Overrides::default()).unwrap().config;
    assert_eq!(from_environment.server.listen.port(), 2);
    assert_eq!(from_environment.server.ops_port, Some(3));
    assert_eq!(from_environment.auth.jwt_secret.as_deref(), Some("environment"));
    assert_eq!(from_environment.server.data.to_str(), Some("from-file"));
    let flags = Overrides {
        listen: Some("127.0.0.1:4".parse().unwrap()),
        data: Some("from-flag".into()),
        store: Some(StoreKind::Memory),
        log_level: Some("debug".into()),
        ..Overrides::default()
    };
    let from_flags = load(Some(&file), environment, flags).unwrap().config;
    assert_eq!(from_flags.server.listen.port(), 4);
    assert_eq!(from_flags.server.data.to_str(), Some("from-flag"));
    assert_eq!(from_flags.store.kind, StoreKind::Memory);
    assert_eq!(from_flags.log.level, "debug");
}

#[test]
fn bad_values_in_the_environment_name_the_variable() {
    let environment = |name: &str| match name {
        "WS_PORT" => Some("http".to_owned()),
        "JWT_SECRET" => Some(String::new()),
        "MONGO_URL" => Some("localhost".to_owned()),
        _ => None,
    };
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty.toml");
    std::fs::write(&empty, "").unwrap();
    let problems = load(Some(&empty), environment, Overrides::default()).err().unwrap();
    insta::assert_snapshot!(problems, @r"
    environment variable WS_PORT: `http` is not a port; it is a whole number from 0 to 65535
    environment variable MONGO_URL: a MongoDB address begins with mongodb:// or mongodb+srv://
    environment variable JWT_SECRET: it is set, but empty; unset it, or give it a value
    ");
}

#[test]
fn a_file_that_is_named_has_to_be_there() {
    let problems = load(Some("no/such.toml".as_ref()), |_| None, Overrides::default()).err().unwrap();
    insta::assert_snapshot!(problems, @r"
    no/such.toml: cannot be read: No such file or directory (os error 2)
      `prom config default` prints a file to begin with
    ");
}

#[test]
fn secrets_are_not_shown_when_a_configuration_is() {
    let config = read("[auth]\njwt_secret = \"hunter2\"\nstatic_token = \"hunter3\"\n").unwrap();
    let shown = format!("{config:?}");
    assert!(!shown.contains("hunter"), "{shown}");
}

#[test]
fn an_outbox_says_what_it_lacks_and_what_does_not_fit_and_never_shows_its_url() {
    let text = r#"
[[outbox]]
name = "a"
[[outbox]]
name = "b"
source = "postgres"
url = "mysql://u:pa55w0rd@h/d"
table = "x; drop table y"
field = "f"
lease = "1ms"
[[outbox]]
name = "c"
source = "mongo"
table = "rows"
field = "outbox"
keep_sent = "1h"
[[outbox]]
name = "c"
source = "sqlite"
table = "rows"
"#;
    insta::assert_snapshot!(errors(text), @r#"
    prom.toml:2:1: an [[outbox]] needs `source`
    prom.toml:2:1: an [[outbox]] needs `table`
    prom.toml:7:7: `url`: a PostgreSQL address begins with postgres:// or postgresql://
    prom.toml:8:9: `table`: letters, digits and _, also with the name of a schema before it
    prom.toml:9:9: `field` is for source = "mongo"; remove it
    prom.toml:10:9: `lease`: a lease is between 1s and 10m
    prom.toml:16:13: `keep_sent`: rows in a `field` are pulled when they are sent; remove it
    prom.toml:17:1: this [[outbox]] needs `url`; only that of mongo has a default
    prom.toml:18:8: outbox `c` is declared twice
    "#);
    let right =
        read("[[outbox]]\nname = \"a\"\nsource = \"postgres\"\nurl = \"postgres://u:pa55w0rd@h/d\"\ntable = \"t\"\n");
    assert!(!format!("{:?}", right.unwrap()).contains("pa55w0rd"));
}

#[test]
fn a_changefeed_says_what_it_lacks_and_never_shows_its_url() {
    let text = r#"
[[changefeed]]
name = "a"
url = "postgres://u:hunter@h"
topic = "dlq.orders"
oversize = "project"
filter = ".a +"
[[changefeed]]
name = "b"
database = "shop"
topic = "shop.{collection}"
fields = ["total"]
on_lost_token = "resnapshoot"
[[changefeed]]
name = "b"
database = "shop"
topic = "shop.orders"
"#;
    insta::assert_snapshot!(errors(text), @r#"
    prom.toml:2:1: a [[changefeed]] needs `database`
    prom.toml:4:7: `url`: a MongoDB address begins with mongodb:// or mongodb+srv://
    prom.toml:5:9: `topic`: topic "dlq.orders" belongs to the hub: clients read dlq.* and system.*, they do not publish there
    prom.toml:6:12: oversize = "project" needs `fields`
    prom.toml:7:10: `filter`: not a valid jq program: jq program, line 1, column 5: expected term, found the end
    prom.toml:12:10: `fields` belong to oversize = "project"
    prom.toml:13:17: `on_lost_token`: `resnapshoot` is not one of stop, resnapshot; did you mean `resnapshot`?
    prom.toml:15:8: changefeed `b` is declared twice
    "#);
    let right = "[[changefeed]]\nname = \"a\"\nurl = \"mongodb://u:hunter@h/d\"\ndatabase = \"d\"\ntopic = \"t\"\n";
    let shown = format!("{:?}", read(right).unwrap());
    assert!(!shown.contains("hunter") && !errors(text).contains("hunter"), "{shown}");
}
