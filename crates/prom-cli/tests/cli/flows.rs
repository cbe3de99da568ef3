//! `prom outbox`, `prom feeds` and `prom projections`: what they ask, what they show, and how they end.

use crate::fake_hub::FakeHub;
use crate::prom::{Ran, prom};
use crate::serve::Served;

fn ask(hub: &FakeHub, arguments: &[&str]) -> Ran {
    prom(&[arguments, &["--url", &hub.url]].concat())
}

const WELL: &str = r#"{"kind":"outbox","name":"orders","state":"running","from":"postgres shop.outbox","to":"topics of the rows","pending":0,"counts":{"read":12,"written":12,"skipped":0,"failed":0},"stages":[{"name":"commit_to_publish","last_ms":4,"p50_ms":3,"p99_ms":12}],"details":{}}"#;
const STOPPED: &str = r#"{"kind":"feed","name":"orders","state":"stopped","from":"mongo shop.orders","to":"topic orders.changed","error":{"reason":"the oplog no longer reaches back to the token;\nseek to a time","since_ts":0,"tries":1},"counts":{"read":5,"written":4,"skipped":1,"failed":0},"stages":[],"position":"8265E6","details":{"full_document":"updateLookup"}}"#;
const OUTBOXES: &str = r#"{"flows":[WELL]}"#;

fn with(text: &str) -> &'static str {
    Box::leak(text.replace("WELL", WELL).replace("STOPPED", STOPPED).into_boxed_str())
}

#[test]
fn flows_are_a_table_for_people_and_the_hubs_own_words_for_machines() {
    let answer = with(OUTBOXES);
    let hub = FakeHub::answering(200, answer);
    let ran = ask(&hub, &["outbox"]).exits(0);
    insta::assert_snapshot!(ran.stdout, @r"
    NAME    STATE    FROM                  TO                  PENDING  OLDEST  READ  WRITTEN  SKIPPED  FAILED  P50 / P99
    orders  running  postgres shop.outbox  topics of the rows        0       -    12       12        0       0  commit to publish 3 / 12 ms
    ");
    assert_eq!(hub.asked().line, "GET /flows?kind=outbox");
    assert_eq!(ask(&hub, &["outbox", "ls", "--json", "--check"]).exits(0).stdout, format!("{answer}\n"));
}

#[test]
fn what_does_not_move_is_told_in_words_and_check_exits_1() {
    let hub = FakeHub::answering(200, with(r#"{"flows":[STOPPED]}"#));
    let ran = ask(&hub, &["feeds"]).exits(0);
    let (table, trouble) = ran.stdout.trim_end().rsplit_once('\n').unwrap();
    insta::assert_snapshot!(table, @r"
    NAME    STATE    FROM               TO                    PENDING  OLDEST  READ  WRITTEN  SKIPPED  FAILED
    orders  stopped  mongo shop.orders  topic orders.changed        -       -     5        4        1       0
    ");
    assert!(
        trouble
            .starts_with("orders is stopped: the oplog no longer reaches back to the token; seek to a time (1 try in ")
    );
    assert!(trouble.ends_with(" d, waits for an operator)"), "{trouble}");
    let ran = ask(&hub, &["feeds", "ls", "--check"]).exits(1);
    assert!(
        ran.stderr.contains("feed orders is stopped") && ran.stderr.contains("`prom feeds show orders`"),
        "{ran:?}"
    );
    let ran = ask(&hub, &["feeds", "--watch", "--check", "--json"]).exits(1);
    assert_eq!(ran.stdout.lines().count(), 1);
}

#[test]
fn one_flow_is_shown_with_what_helps_it() {
    let hub = FakeHub::answering(200, STOPPED);
    let ran = ask(&hub, &["feeds", "show", "orders"]).exits(0);
    let told: Vec<&str> = ran.stdout.lines().filter(|line| !line.contains("1 try in")).collect();
    insta::assert_snapshot!(told.join("\n"), @r"
    orders: feed, stopped
      from: mongo shop.orders
      to: topic orders.changed
      since the hub started: 5 read, 4 written, 1 skipped, 0 failed
      stands at: 8265E6
      full document: updateLookup
      prom feeds restart orders   # try again now
      prom feeds seek orders --at TIME   # go on at a time, and leave out what is before
    ");
    assert_eq!(hub.asked().line, "GET /flows/feed/orders");
    let hub = FakeHub::answering(200, WELL);
    insta::assert_snapshot!(ask(&hub, &["outbox", "show", "orders"]).exits(0).stdout, @r"
    orders: outbox, running
      from: postgres shop.outbox
      to: topics of the rows
      waiting: 0
      since the hub started: 12 read, 12 written, 0 skipped, 0 failed

    STAGE              LAST   P50    P99
    commit to publish  4 ms  3 ms  12 ms
    ");
}

#[test]
fn rows_are_asked_for_and_shown() {
    let hub = FakeHub::answering(
        200,
        r#"{"outbox":"orders","rows":[{"id":"7","topic":"Orders!","key":"customer 3","status":"error","ts":0,"attempts":10,
        "last_err":"topic name \"Orders!\" is invalid\u001b[31m"}]}"#,
    );
    let ran = ask(&hub, &["outbox", "rows", "orders", "--status", "error", "--key", "customer 3"]).exits(0);
    assert_eq!(hub.asked().line, "GET /flows/outbox/orders/rows?status=error&key=customer+3&limit=50");
    let row = ran.stdout.lines().nth(1).unwrap();
    assert!(
        row.starts_with("7") && row.contains("d ago") && row.contains("Orders!") && row.contains("customer 3"),
        "{row}"
    );
    assert!(row.ends_with("topic name \"Orders!\" is invalid [31m"), "{row}");
    let ran = ask(&hub, &["outbox", "rows", "orders", "--limit", "1"]).exits(0);
    assert!(ran.stderr.contains("there may be more"), "{}", ran.stderr);
    ask(&hub, &["outbox", "rows", "orders", "--status", "lost"]).exits(2);
    let none = FakeHub::answering(200, r#"{"outbox":"orders","rows":[]}"#);
    assert_eq!(ask(&none, &["outbox", "rows", "orders"]).exits(0).stdout, "no such rows of orders\n");
}

const ACTED: &str = r#"{"kind":"outbox","name":"orders","done":"2 rows are pending again","rows":2}"#;

#[test]
fn rows_are_requeued_as_they_were_chosen() {
    let hub = FakeHub::answering(200, ACTED);
    let ran = ask(&hub, &["outbox", "requeue", "orders", "--id", "a", "--id", "b"]).exits(0);
    assert_eq!(ran.stdout, "orders: 2 rows are pending again\n");
    let asked = hub.asked();
    assert_eq!(
        (asked.line.as_str(), asked.body.as_str()),
        ("POST /flows/outbox/orders/requeue", r#"{"ids":["a","b"],"limit":1000}"#)
    );
    let ran = ask(&hub, &["outbox", "requeue", "orders", "--all", "--limit", "2"]).exits(0);
    assert_eq!(hub.asked().body, r#"{"all":true,"limit":2}"#);
    assert!(ran.stderr.contains("run it again"), "{}", ran.stderr);
    assert!(ask(&hub, &["outbox", "requeue", "orders"]).exits(2).stderr.contains("or --all"));
    ask(&hub, &["outbox", "requeue", "orders", "--all", "--key", "k"]).exits(2);
    let none =
        FakeHub::answering(200, r#"{"kind":"outbox","name":"orders","done":"0 rows are pending again","rows":0}"#);
    assert!(
        ask(&none, &["outbox", "requeue", "orders", "--key", "k"]).exits(1).stderr.contains("no such row is in error")
    );
}

#[test]
fn nothing_is_dropped_without_a_yes() {
    let hub = FakeHub::answering(200, ACTED);
    let ran = ask(&hub, &["outbox", "drop", "orders", "--key", "k"]).exits(2);
    assert!(ran.stderr.contains("nothing was dropped") && ran.stderr.contains("--yes"), "{}", ran.stderr);
    ask(&hub, &["outbox", "drop", "orders", "--key", "k", "--yes"]).exits(0);
    let asked = hub.asked();
    assert_eq!(
        (asked.line.as_str(), asked.body.as_str()),
        ("POST /flows/outbox/orders/drop", r#"{"key":"k","limit":1000}"#)
    );
}

#[test]
fn a_feed_is_moved_to_a_time_or_a_token() {
    let hub = FakeHub::answering(
        200,
        r#"{"kind":"feed","name":"orders","done":"feed orders goes on at 1970-01-01T00:00:05Z"}"#,
    );
    let seek = |at: &str| ask(&hub, &["feeds", "seek", "orders", "--at", at]);
    assert_eq!(seek("1970-01-01T00:00:05Z").exits(0).stdout, "feed orders goes on at 1970-01-01T00:00:05Z\n");
    let asked = hub.asked();
    assert_eq!((asked.line.as_str(), asked.body.as_str()), ("POST /flows/feed/orders/seek", r#"{"at":5000}"#));
    seek("8265E6F2A1000000012B022C0100296E5A10").exits(0);
    assert_eq!(hub.asked().body, r#"{"token":"8265E6F2A1000000012B022C0100296E5A10"}"#);
    seek("-15m").exits(0);
    assert!(hub.asked().body.starts_with(r#"{"at":1"#));
    seek("yesterday").exits(2);
    ask(&hub, &["feeds", "seek", "orders"]).exits(2);
}

#[test]
fn flows_are_restarted_and_rebuilt() {
    let hub = FakeHub::answering(200, r#"{"kind":"projection","name":"processes","done":"it is tried again now"}"#);
    for (arguments, line) in [
        (["outbox", "restart", "processes"], "POST /flows/outbox/processes/restart"),
        (["feeds", "restart", "processes"], "POST /flows/feed/processes/restart"),
        (["projections", "restart", "processes"], "POST /flows/projection/processes/restart"),
        (["projections", "rebuild", "processes"], "POST /flows/projection/processes/rebuild"),
    ] {
        assert_eq!(ask(&hub, &arguments).exits(0).stdout, "processes: it is tried again now\n");
        assert_eq!(hub.asked().line, line);
    }
}

#[test]
fn a_hub_without_flows_says_how_one_is_declared_and_an_unknown_one_exits_1() {
    let folder = tempfile::tempdir().unwrap();
    let hub = Served::start(folder.path(), &["--store", "memory"], &[]);
    for (command, section) in [("outbox", "[[outbox]]"), ("feeds", "[[changefeed]]"), ("projections", "[[projector]]")]
    {
        let ran = prom(&[command, "--url", &hub.url]).exits(0);
        assert!(ran.stdout.starts_with("no ") && ran.stdout.contains(section), "{}", ran.stdout);
        let ran = prom(&[command, "show", "nothing", "--url", &hub.url]).exits(1);
        assert!(ran.stderr.contains("\"nothing\"") && ran.stderr.contains("(unknown_id)"), "{}", ran.stderr);
        prom(&[command, "restart", "nothing", "--url", &hub.url]).exits(1);
    }
}
