//! Commands that ask a hub over HTTP: what they ask, what they make of the answer, and how they end.

use crate::fake_hub::FakeHub;
use crate::prom::{Ran, prom, prom_in};

fn ask(hub: &FakeHub, arguments: &[&str]) -> Ran {
    prom(&[arguments, &["--url", &hub.url]].concat())
}

const TOPIC: &str = r#"{"topic":"orders.placed","settings":{"partitions":2,"retention":{"age_ms":86400000},
    "compaction":null,"max_attempts":null},"partitions":[{"partition":0,"start":3,"head":10,"bytes":700},
    {"partition":1,"start":0,"head":5,"bytes":500}],"events":12,"bytes":1200,"events_per_s":1.5,"bytes_per_s":null}"#;

#[test]
fn topics_are_a_table_for_people_and_the_hubs_own_words_for_machines() {
    let answer: &str = Box::leak(format!("{{\"topics\":[{}]}}", TOPIC.replace('\n', "")).into_boxed_str());
    let hub = FakeHub::answering(200, answer);
    let ran = ask(&hub, &["topics"]).exits(0);
    insta::assert_snapshot!(ran.stdout, @r"
    TOPIC          PARTITIONS  EVENTS    SIZE  PER SECOND  KEPT
    orders.placed           2      12  1.2 KB         1.5  for 1d
    ");
    assert_eq!(hub.asked().line, "GET /topics");
    let ran = ask(&hub, &["topics", "ls", "--json"]).exits(0);
    assert_eq!(ran.stdout, format!("{answer}\n"));
}

#[test]
fn one_topic_is_shown_partition_by_partition() {
    let hub = FakeHub::answering(200, TOPIC);
    let ran = ask(&hub, &["topics", "show", "orders.placed"]).exits(0);
    insta::assert_snapshot!(ran.stdout, @r"
    orders.placed: 2 partitions, kept for 1d, attempts set by the group
    PARTITION  START  END   SIZE
            0      3   10  700 B
            1      0    5  500 B
    ");
    assert_eq!(hub.asked().line, "GET /topics/orders.placed");
}

#[test]
fn the_token_goes_with_the_request() {
    let hub = FakeHub::answering(200, r#"{"topics":[]}"#);
    let folder = tempfile::tempdir().unwrap();
    let variables = [("PROM_URL", hub.url.as_str()), ("PROM_TOKEN", "hunter2")];
    prom_in(folder.path(), &["topics"], &variables).exits(0);
    assert!(hub.asked().headers.contains("authorization: bearer hunter2"));
    let ran = prom_in(folder.path(), &["topics", "--help"], &variables).exits(0);
    assert!(!ran.stdout.contains("hunter2"), "help shows the token");
}

const LAGS: &str = r#"{"lags":[{"topic":"orders.placed","group":"billing","lastCursor":3,"tail":15,"lagEvents":12,
    "lagMs":65000,"inFlight":2,"partitions":[]},{"topic":"orders.placed","group":"mail","lastCursor":15,"tail":15,
    "lagEvents":0,"lagMs":0,"inFlight":0,"partitions":[]}]}"#;

#[test]
fn lag_shows_who_is_behind() {
    let hub = FakeHub::answering(200, LAGS);
    let ran = ask(&hub, &["lag", "orders.placed"]).exits(0);
    insta::assert_snapshot!(ran.stdout, @r"
    TOPIC          GROUP    BEHIND  OLDEST  IN FLIGHT  SETTLED TO  END
    orders.placed  billing      12  65.0 s          2           3   15
    orders.placed  mail          0       -          0          15   15
    ");
    assert_eq!(hub.asked().line, "GET /lag?topic=orders.placed");
}

#[test]
fn lag_above_the_maximum_exits_1_and_says_who() {
    let hub = FakeHub::answering(200, LAGS);
    ask(&hub, &["lag", "--max", "12"]).exits(0);
    let ran = ask(&hub, &["lag", "--max", "11"]).exits(1);
    assert!(ran.stderr.contains("billing is 12 events behind in orders.placed, more than 11"), "{}", ran.stderr);
    let ran = ask(&hub, &["lag", "--max", "11", "--watch", "--json"]).exits(1);
    assert_eq!(ran.stdout.matches("lagEvents").count(), 2);
}

#[test]
fn a_token_that_may_see_nothing_is_no_empty_list() {
    for (arguments, answer) in [
        (&["topics"][..], r#"{"topics":[],"hidden":true}"#),
        (&["topics", "--json"], r#"{"topics":[],"hidden":true}"#),
        (&["groups"], r#"{"groups":[],"hidden":true}"#),
        (&["lag"], r#"{"lags":[],"hidden":true}"#),
        (&["lag", "--max", "0"], r#"{"lags":[],"hidden":true}"#),
        (&["lag", "--max", "0", "--watch"], r#"{"lags":[],"hidden":true}"#),
    ] {
        let ran = ask(&FakeHub::answering(200, answer), arguments).exits(4);
        assert!(ran.stderr.contains("this token may see none of them"), "{arguments:?}: {}", ran.stderr);
        assert_eq!(ran.stdout, "", "{arguments:?}");
    }
}

#[test]
fn a_list_that_is_not_all_says_so() {
    let answer: &str = Box::leak(LAGS.replace("]}]}", "]}],\"hidden\":true}").into_boxed_str());
    let ran = ask(&FakeHub::answering(200, answer), &["lag"]).exits(0);
    assert!(ran.stdout.contains("billing") && ran.stderr.contains("there are more groups"), "{}", ran.stderr);
}

#[test]
fn dead_letters_are_shown_beside_the_lag() {
    let hub = FakeHub::answering(
        200,
        r#"{"topic":"a","group":"g","lastCursor":3,"tail":3,"lagEvents":0,"lagMs":0,"inFlight":0,"deadLetters":2,"partitions":[]}"#,
    );
    let ran = ask(&hub, &["lag", "a", "g"]).exits(0);
    insta::assert_snapshot!(ran.stdout, @r"
    TOPIC  GROUP  BEHIND  OLDEST  IN FLIGHT  SETTLED TO  END  LETTERS
    a      g           0       -          0           3    3        2
    ");
    let hub = FakeHub::answering(
        200,
        r#"{"topic":"a","group":"g","dead_letters":2,"partitions":[{"partition":0,"floor":3,"next":3,"lag_events":0,
        "event":null,"explanation":"everything is settled","status":null}]}"#,
    );
    let ran = ask(&hub, &["why", "a", "g"]).exits(0);
    insta::assert_snapshot!(ran.stdout, @r"
    g in a: up to date
      dlq.a holds 2 dead letters, of all groups of a; `prom sub dlq.a --from earliest` shows them
    ");
}

#[test]
fn why_explains() {
    let hub = FakeHub::answering(
        200,
        r#"{"topic":"orders.placed","group":"billing","partitions":[{"partition":0,"floor":3,"next":15,"lag_events":12,
        "event":null,"explanation":"no subscriber; start one of this group","status":null}]}"#,
    );
    let ran = ask(&hub, &["why", "orders.placed", "billing"]).exits(0);
    insta::assert_snapshot!(ran.stdout, @r"
    billing in orders.placed: 12 events behind
      no subscriber; start one of this group
    ");
    assert_eq!(hub.asked().line, "GET /why?topic=orders.placed&group=billing");
}

#[test]
fn a_cursor_is_moved_by_what_was_typed() {
    let hub = FakeHub::answering(
        200,
        r#"{"topic":"a","group":"g","dryRun":false,"cursors":[{"partition":1,"before":9,"offset":7,"comeAgain":2,"skipped":0}]}"#,
    );
    let ran = ask(&hub, &["cursor", "set", "a", "g", "--partition", "1", "--from", "offset:7"]).exits(0);
    insta::assert_snapshot!(ran.stdout, @r"
    PARTITION  BEFORE  NEXT  COME AGAIN  SKIPPED
            1       9     7           2        0
    ");
    let asked = hub.asked();
    assert_eq!(asked.line, "POST /cursors");
    assert_eq!(asked.body, r#"{"topic":"a","group":"g","partition":1,"from":"offset","offset":7}"#);
}

#[test]
fn a_preview_says_that_nothing_was_moved() {
    let hub = FakeHub::answering(
        200,
        r#"{"topic":"a","group":"g","dryRun":true,"cursors":[{"partition":0,"before":2,"offset":5,"comeAgain":0,"skipped":3}]}"#,
    );
    let ran = ask(&hub, &["cursor", "set", "a", "g", "--from", "latest", "--dry-run"]).exits(0);
    insta::assert_snapshot!(ran.stdout, @r"
    PARTITION  BEFORE  NEXT  COME AGAIN  SKIPPED
            0       2     5           0        3
    nothing was moved; leave out --dry-run to move it
    ");
    assert_eq!(hub.asked().body, r#"{"topic":"a","group":"g","dryRun":true,"from":"latest"}"#);
}

#[test]
fn an_event_is_skipped_by_its_offset_or_its_id() {
    let hub = FakeHub::answering(
        200,
        r#"{"topic":"a","group":"g","partition":1,"offset":7,"id":null,"already_settled":false}"#,
    );
    let ran = ask(&hub, &["skip", "a", "g", "7", "--partition", "1"]).exits(0);
    insta::assert_snapshot!(ran.stdout, @"g skips offset 7 of a, partition 1");
    let asked = hub.asked();
    assert_eq!(asked.line, "POST /skip");
    assert_eq!(asked.body, r#"{"topic":"a","group":"g","partition":1,"offset":7}"#);
    let hub = FakeHub::answering(
        200,
        r#"{"topic":"a","group":"g","partition":1,"offset":7,"id":null,"already_settled":true}"#,
    );
    let ran = ask(&hub, &["skip", "a", "g", "0190b6ef-8f5c-7cc3-98c4-dc0c0c07398f"]).exits(0);
    insta::assert_snapshot!(ran.stdout, @"g had settled offset 7 of a, partition 1");
    assert_eq!(hub.asked().body, r#"{"topic":"a","group":"g","id":"0190b6ef-8f5c-7cc3-98c4-dc0c0c07398f"}"#);
}

#[test]
fn cursors_are_shown() {
    let hub = FakeHub::answering(
        200,
        r#"{"topic":"a","cursors":[{"group":"g","partition":0,"offset":7,"lastId":null,"lastTs":null,"ackedAbove":2}]}"#,
    );
    let ran = ask(&hub, &["cursor", "get", "a", "g"]).exits(0);
    insta::assert_snapshot!(ran.stdout, @r"
    GROUP  PARTITION  SETTLED TO  BEYOND  LAST STORED  LAST ID
    g              0           7       2            -  -
    ");
    assert_eq!(hub.asked().line, "GET /cursors?topic=a&group=g");
}

const GROUP: &str = r#"{"group":"billing","subscriptions":[{"topics":["orders.*","ledger"],"options":{"from":"earliest",
    "mode":"partitioned","partitions":4,"order":"key","filter":".payload.total > 3","max_attempts":null,
    "backoff":{"first_ms":200,"max_ms":30000},"expire_after_ms":null}}],"created_ts":9999999999999,"last_used_ts":0,
    "subscribers":2}"#;

#[test]
fn a_group_is_shown_with_all_its_options() {
    let hub = FakeHub::answering(200, GROUP);
    let ran = ask(&hub, &["groups", "show", "billing"]).exits(0);
    insta::assert_snapshot!(ran.stdout, @r"
    billing: 2 subscribers, created 0 ms ago
    READS             BEGAN     MODE         PARTITIONS  ORDER  PARKS  ATTEMPTS           BACKOFF  EXPIRES AFTER  FILTER
    orders.*, ledger  earliest  partitioned  4           key    no      topic's  200 ms to 30.0 s          never  .payload.total > 3
    ");
    assert_eq!(hub.asked().line, "GET /groups/billing");
}

#[test]
fn a_group_is_changed_by_what_was_named_only() {
    let hub = FakeHub::answering(200, GROUP);
    ask(&hub, &["groups", "set", "billing", "--max-attempts", "7", "--expire-after", "never"]).exits(0);
    let asked = hub.asked();
    assert_eq!(asked.line, "PATCH /groups/billing");
    assert_eq!(asked.body, r#"{"max_attempts":7,"expire_after_ms":null}"#);
}

#[test]
fn a_group_is_deleted() {
    let hub = FakeHub::answering(200, "");
    let ran = ask(&hub, &["groups", "delete", "billing"]).exits(0);
    assert_eq!(ran.stdout, "billing is deleted\n");
    assert_eq!(hub.asked().line, "DELETE /groups/billing");
}

#[test]
fn an_export_is_written_whole_or_not_at_all() {
    let hub = FakeHub::answering(200, "{\"n\":1}\n{\"n\":2}\n");
    let folder = tempfile::tempdir().unwrap();
    let ran = ask(&hub, &["export", "orders.placed", "--from-ts", "1970-01-01T00:00:01Z"]).exits(0);
    assert_eq!(ran.stdout, "{\"n\":1}\n{\"n\":2}\n");
    assert_eq!(hub.asked().line, "GET /export?topic=orders.placed&fromTs=1000&ndjson=1");
    prom_in(folder.path(), &["export", "orders.placed", "--out", "a.ndjson", "--url", &hub.url], &[]).exits(0);
    assert_eq!(std::fs::read_to_string(folder.path().join("a.ndjson")).unwrap(), "{\"n\":1}\n{\"n\":2}\n");

    let broken = FakeHub::breaking_off("{\"n\":1}\n");
    prom_in(folder.path(), &["export", "orders.placed", "--out", "b.ndjson", "--url", &broken.url], &[]).exits(3);
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["a.ndjson"]);
}

#[test]
fn an_import_sends_the_file_and_tells_of_bad_lines() {
    let answer = "{\"line\":2,\"error\":{\"type\":\"t\",\"title\":\"t\",\"status\":400,\"detail\":\"not an event\",\
        \"code\":\"bad_json\"}}\n{\"progress\":1}\n{\"imported\":1,\"duplicates\":3,\"failed\":1}\n";
    let hub = FakeHub::answering(200, answer);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.ndjson"), "{\"payload\":1}\nnonsense\n").unwrap();
    let arguments = ["import", "a.ndjson", "--topic", "orders.placed", "--url", &hub.url];
    let ran = prom_in(folder.path(), &arguments, &[]).exits(1);
    assert_eq!(ran.stdout, "imported 1 event, 3 already there, 1 failed\n");
    assert!(ran.stderr.contains("a.ndjson:2: not an event (bad_json)"), "{}", ran.stderr);
    let asked = hub.asked();
    assert_eq!(asked.line, "POST /import?topic=orders.placed");
    assert_eq!(asked.body, "{\"payload\":1}\nnonsense\n");
    prom_in(folder.path(), &["import", "missing.ndjson", "--url", &hub.url], &[]).exits(2);
}

#[test]
fn an_import_without_an_end_is_not_taken_for_one() {
    let hub = FakeHub::answering(200, "{\"progress\":1}\n");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.ndjson"), "{\"payload\":1}\n").unwrap();
    prom_in(folder.path(), &["import", "a.ndjson", "--url", &hub.url], &[]).exits(3);
}

#[test]
fn a_topic_keeps_the_settings_that_are_not_named() {
    let hub = FakeHub::answering(200, TOPIC);
    // The same answer to both requests: the second one is not settings, which is told after they were sent.
    ask(&hub, &["topics", "set", "orders.placed", "--partitions", "4", "--keep-bytes", "10GB"]);
    assert_eq!(hub.asked().line, "GET /topics/orders.placed");
    let asked = hub.asked();
    assert_eq!(asked.line, "PUT /topics/orders.placed");
    let sent: serde_json::Value = serde_json::from_str(&asked.body).unwrap();
    let expected = serde_json::json!({"partitions": 4, "key": null, "compaction": null, "max_attempts": null, "snapshot": null,
        "retention": {"age_ms": 86_400_000, "size_bytes": 10_000_000_000u64}});
    assert_eq!(sent, expected);
}

#[test]
fn dual_write_is_turned_on_for_good_until_a_time_and_off() {
    for (asked, expected) in [
        ("on", serde_json::json!({})),
        ("2030-01-31T12:00:00Z", serde_json::json!({"until": 1_896_091_200_000_i64})),
        ("off", serde_json::Value::Null),
    ] {
        let hub = FakeHub::answering(200, TOPIC);
        ask(&hub, &["topics", "set", "orders.placed", "--dual-write", asked]);
        hub.asked();
        let sent: serde_json::Value = serde_json::from_str(&hub.asked().body).unwrap();
        assert_eq!(sent.get("dual_write").unwrap_or(&serde_json::Value::Null), &expected, "{asked}");
    }
}

#[test]
fn without_a_hub_it_exits_3_and_says_what_to_do() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let ran = prom(&["topics", "--url", &url]).exits(3);
    assert!(ran.stderr.contains(&format!("no hub at {url}")), "{}", ran.stderr);
    assert!(ran.stderr.contains("prom serve"), "{}", ran.stderr);
}

#[test]
fn another_server_is_told_from_a_hub() {
    let hub = FakeHub::answering(404, "<html>nothing here</html>");
    let ran = ask(&hub, &["topics"]).exits(3);
    assert!(ran.stderr.contains("not a hub's answer"), "{}", ran.stderr);
    let hub = FakeHub::answering(200, "<html>hello</html>");
    ask(&hub, &["topics"]).exits(3);
}

#[test]
fn refusals_exit_4_and_unknown_names_1() {
    let refused = r#"{"type":"t","title":"forbidden","status":403,"detail":"no right","code":"forbidden"}"#;
    let ran = ask(&FakeHub::answering(403, refused), &["topics"]).exits(4);
    assert!(ran.stderr.starts_with("error: no right (forbidden)\n  use a token"), "{}", ran.stderr);
    let unknown = r#"{"type":"t","title":"unknown","status":404,"detail":"no such topic","code":"unknown_topic"}"#;
    ask(&FakeHub::answering(404, unknown), &["topics", "show", "orders"]).exits(1);
}

const GOING: &str =
    r#"{"topics":[{"topic":"orders.test","events":12,"bytes":1200,"groups":["billing"]}],"dry_run":true}"#;

#[test]
fn a_topic_is_not_deleted_unless_somebody_says_so() {
    let hub = FakeHub::answering(200, GOING);
    let ran = ask(&hub, &["topics", "delete", "orders.test", "--dry-run"]).exits(0);
    assert_eq!(ran.stdout, "orders.test would go: 12 events, 1.2 KB, the cursors of billing\n");
    let only_looked_at = || {
        assert_eq!(hub.asked().line, "DELETE /topics/orders.test?dry_run=1");
        assert_eq!(hub.asked().line, "GET /topics/orders.test/schema");
    };
    only_looked_at();
    let ran = ask(&hub, &["topics", "delete", "orders.test"]).exits(2);
    assert!(ran.stderr.contains("was not deleted") && ran.stderr.contains("--yes"), "{}", ran.stderr);
    only_looked_at();
}
