//! Dead letters are seen: by those who look at the group, and by those who look after the hub.

use std::time::Duration;

use axum::http::Method;
use prom_engine::{Position, TopicSettings};
use serde_json::{Value, json};

use crate::home::{Ask, Home};

/// A group gave up on one of two events.
async fn with_a_letter() -> Home {
    let home = Home::protected().await;
    home.publish_numbers("orders", 2).await;
    let orders = home.bus.subscribe("orders", "billing").from(Position::Earliest).max_attempts(1);
    let mut orders = orders.start().await.unwrap();
    orders.next().await.unwrap().nack("cannot be printed").await.unwrap();
    orders.next().await.unwrap().ack().await.unwrap();
    orders.unsubscribe().await;
    home
}

async fn get(home: &Home, path: &str, scopes: &[&str]) -> Value {
    Ask::new(Method::GET, path).token(scopes).send(home).await.json()
}

#[tokio::test]
async fn lag_and_why_count_the_letters_of_the_topic() {
    let home = with_a_letter().await;
    let lag = get(&home, "/lag?topic=orders&group=billing", &["ops:orders"]).await;
    assert_eq!((&lag["lagEvents"], &lag["deadLetters"]), (&json!(0), &json!(1)));
    let lags = get(&home, "/lag", &["ops:orders"]).await;
    assert_eq!(lags["lags"][0]["deadLetters"], 1);
    let why = get(&home, "/why?topic=orders&group=billing", &["ops:orders"]).await;
    assert_eq!(why["dead_letters"], 1);
}

#[tokio::test]
async fn who_operates_a_topic_sees_that_it_has_letters_and_does_not_read_them() {
    let home = with_a_letter().await;
    for scope in ["ops", "ops:orders"] {
        let topics = get(&home, "/topics", &[scope]).await;
        let names: Vec<&str> =
            topics["topics"].as_array().unwrap().iter().filter_map(|one| one["topic"].as_str()).collect();
        assert_eq!(names, ["dlq.orders", "orders"], "{scope}");
        assert_eq!(get(&home, "/topics/dlq.orders", &[scope]).await["events"], 1);
        let read = Ask::new(Method::GET, "/replay?topic=dlq.orders").token(&[scope, "subscribe"]);
        read.send(&home).await.problem(403, "forbidden");
    }
    Ask::new(Method::GET, "/topics/dlq.orders").token(&["ops:other"]).send(&home).await.problem(403, "forbidden");
    Ask::new(Method::GET, "/topics/system.audit").token(&["ops"]).send(&home).await.problem(403, "forbidden");
}

#[tokio::test]
async fn a_reader_of_letters_is_seen_by_those_who_operate_the_topic() {
    let home = with_a_letter().await;
    home.bus.subscribe("dlq.orders", "menders").from(Position::Earliest).start().await.unwrap().unsubscribe().await;
    let group = get(&home, "/groups/menders", &["ops:orders"]).await;
    assert_eq!(group["subscriptions"][0]["topics"], json!(["dlq.orders"]));
    assert_eq!(get(&home, "/lag?topic=dlq.orders&group=menders", &["ops:orders"]).await["lagEvents"], 1);
}

#[tokio::test]
async fn a_token_for_everything_reads_the_letters() {
    let home = with_a_letter().await;
    let letters = get(&home, "/replay?topic=dlq.orders", &["*"]).await;
    assert_eq!(letters["events"][0]["payload"]["err"], "cannot be printed");
}

fn replay(home: &Home, body: Value, scopes: &[&str]) -> impl Future<Output = crate::home::Answer> {
    Ask::new(Method::POST, "/dlq/replay").token(scopes).body(body.to_string()).send(home)
}

#[tokio::test]
async fn letters_are_listed_counted_and_shown_with_the_original() {
    let home = with_a_letter().await;
    let reader = ["subscribe:dlq.orders"];
    let page = get(&home, "/dlq?topic=orders", &reader).await;
    let letter = &page["letters"][0];
    assert_eq!(
        (&page["count"], &letter["err"], &letter["group"]),
        (&json!(1), &json!("cannot be printed"), &json!("billing"))
    );
    assert_eq!(
        (&letter["original"]["payload"], &letter["key"], &letter["deaths"]),
        (&json!(0), &json!("k0"), &json!(1))
    );
    let one = get(&home, &format!("/dlq?topic=orders&id={}", letter["id"].as_str().unwrap()), &reader).await;
    assert_eq!(one["letters"][0], *letter);
    assert_eq!(get(&home, "/dlq?topic=orders&group=other", &reader).await["count"], 0);
    let groups = get(&home, "/dlq/groups?topic=orders", &reader).await;
    let error = &groups["topics"][0]["errors"][0];
    assert_eq!(
        (&error["pattern"], &error["count"], &error["sample"]["id"]),
        (&json!("cannot be printed"), &json!(1), &letter["id"])
    );
    assert_eq!(get(&home, "/dlq/groups", &["ops"]).await["topics"][0]["count"], 1);
    Ask::new(Method::GET, "/dlq").token(&reader).send(&home).await.problem(400, "bad_request");
    let far = Ask::new(Method::GET, "/dlq?topic=orders&limit=1001").token(&reader).send(&home).await;
    far.problem(400, "bad_request");
}

#[tokio::test]
async fn a_narrow_token_sees_no_letter_and_changes_none() {
    let home = with_a_letter().await;
    let read = |scopes: &'static [&'static str]| Ask::new(Method::GET, "/dlq?topic=orders").token(scopes).send(&home);
    read(&["ops", "subscribe", "admin:other"]).await.problem(403, "forbidden");
    let counted = get(&home, "/dlq/groups?topic=orders", &["ops:orders"]).await;
    assert!(counted["topics"][0]["errors"][0].get("sample").is_none(), "{counted}");
    Ask::new(Method::GET, "/dlq/groups?topic=orders").token(&["ops:other"]).send(&home).await.problem(403, "forbidden");
    let all = get(&home, "/dlq/groups", &["ops:other"]).await;
    assert_eq!((&all["topics"], &all["hidden"]), (&json!([]), &json!(true)));
    replay(&home, json!({"topic": "orders"}), &["publish", "subscribe:dlq.orders"]).await.problem(403, "forbidden");
    let dry = json!({"topic": "orders", "dryRun": true});
    replay(&home, dry, &["admin:orders"]).await.problem(403, "forbidden");
    let edit = json!({"topic": "orders", "transform": "."});
    replay(&home, edit, &["admin:orders", "subscribe:dlq.orders"]).await.problem(403, "forbidden");
    let purge = Ask::new(Method::POST, "/dlq/purge").token(&["admin:other"]);
    purge.body(json!({"topic": "orders"}).to_string()).send(&home).await.problem(403, "forbidden");
    // How many letters have a text in their error tells what is in it.
    let spied = json!({"topic": "orders", "err": "a", "dryRun": true}).to_string();
    let spy = async |scopes: &[&str]| {
        Ask::new(Method::POST, "/dlq/purge").token(scopes).body(spied.clone()).send(&home).await
    };
    spy(&["admin:orders"]).await.problem(403, "forbidden");
    spy(&["admin:orders", "subscribe:dlq.orders"]).await.json();
    replay(&home, json!({"topic": "orders", "err": "no such"}), &["admin:orders"]).await.problem(403, "forbidden");
    let done = replay(&home, json!({"topic": "orders"}), &["admin:orders"]).await.json();
    let job = format!("/dlq/jobs/{}", done["job"].as_str().unwrap());
    Ask::new(Method::GET, &job).token(&["ops:other"]).send(&home).await.problem(404, "unknown_id");
    let cancel = Ask::new(Method::POST, &format!("{job}/cancel")).token(&["ops:orders", "admin:other"]);
    cancel.send(&home).await.problem(403, "forbidden");
    assert_eq!(get(&home, &job, &["ops:orders"]).await["replayed"], 1);
    let jobs = get(&home, "/dlq/jobs", &["ops:other"]).await;
    assert_eq!((&jobs["jobs"], &jobs["hidden"]), (&json!([]), &json!(true)));
}

#[tokio::test]
async fn a_replay_is_tried_done_once_and_followed() {
    let home = with_a_letter().await;
    let all = ["*"];
    let letter = get(&home, "/dlq?topic=orders", &all).await["letters"][0]["id"].clone();
    let edited = json!({"topic": "orders", "ids": [letter], "payload": {"n": 1.50}, "dryRun": true});
    let tried = replay(&home, edited, &all).await.json();
    assert_eq!((&tried["replayed"], &tried["job"]), (&json!(1), &Value::Null));
    assert_eq!((&tried["wouldSend"][0]["original"], &tried["wouldSend"][0]["edited"]), (&json!(0), &json!(true)));
    let edited = json!({"topic": "orders", "ids": [letter], "payload": {"n": 1}});
    let done = replay(&home, edited, &all).await.json();
    assert_eq!((&done["matched"], &done["replayed"], &done["state"]), (&json!(1), &json!(1), &json!("done")));
    assert_eq!(replay(&home, json!({"topic": "orders"}), &all).await.json()["matched"], 0);
    let mut orders = home.bus.subscribe("orders", "billing").start().await.unwrap();
    let order = orders.next().await.unwrap();
    assert_eq!(order.payload::<Value>().unwrap(), json!({"n": 1}));
    order.ack().await.unwrap();
    let job = format!("/dlq/jobs/{}", done["job"].as_str().unwrap());
    crate::home::until("the outcome is known", || async {
        get(&home, &job, &all).await["outcome"] == json!({"acked": 1, "waiting": 0, "deadAgain": 0})
    })
    .await;
    let shown = get(&home, "/dlq?topic=orders&standing=replayed", &all).await;
    assert_eq!(shown["letters"][0]["replay"]["outcome"], "acked");
    let gone = Ask::new(Method::POST, "/dlq/purge").token(&all).body(json!({"topic": "orders"}).to_string());
    assert_eq!(gone.send(&home).await.json()["replayed"], 1);
    assert_eq!(get(&home, "/dlq?topic=orders", &all).await["count"], 0);
}

#[tokio::test]
async fn a_replay_with_a_canary_is_answered_while_the_canary_waits() {
    let home = with_a_letter().await;
    let asked = replay(&home, json!({"topic": "orders", "canary": 1}), &["*"]);
    let answer = tokio::time::timeout(Duration::from_secs(10), asked).await.expect("an answer at once");
    assert_eq!(answer.status, 202, "nobody consumes, so the canary waits");
    let ordered: Value = serde_json::from_slice(&answer.body).unwrap();
    let job = format!("/dlq/jobs/{}", ordered["job"].as_str().unwrap());
    crate::home::until("the canary is sent", || async {
        get(&home, &job, &["*"]).await["outcome"] == json!({"acked": 0, "waiting": 1, "deadAgain": 0})
    })
    .await;
}

#[tokio::test]
async fn what_is_wrong_with_an_order_is_named_and_nothing_is_sent() {
    let home = with_a_letter().await;
    let cases = [
        (json!({"topic": "orders", "fingerprnt": "x"}), "fingerprnt"),
        (json!({"topic": "orders", "payload": 1}), "payload"),
        (json!({"topic": "orders", "transform": "}"}), "transform"),
        (json!({"topic": "orders", "ids": ["0190b6ef-8f5c-7cc3-98c4-dc0c0c07398f"]}), "ids"),
        (json!({"topic": "orders", "rate": 0}), "rate"),
        (json!({"topic": "orders", "canary": 0}), "canary"),
        (json!({"topic": "orders", "stopOnFailure": 101}), "stopOnFailure"),
        (json!({"topic": "orders", "limit": 0}), "limit"),
        (json!({"topic": "dlq.orders"}), "topic"),
    ];
    for (body, field) in cases {
        let problem = replay(&home, body.clone(), &["*"]).await.problem(400, "bad_request");
        assert!(problem["detail"].as_str().unwrap().contains(field) || problem["field"] == field, "{body}: {problem}");
    }
    replay(&home, json!({"topic": "orders", "transform": ".payload"}), &["*"]).await.problem(422, "schema_invalid");
    replay(&home, json!({"topic": "other"}), &["*"]).await.problem(404, "unknown_topic");
    assert_eq!(home.bus.bounds("orders").await.unwrap()[0].next, 2);
    let unknown = Ask::new(Method::GET, "/dlq/jobs/x").token(&["*"]).send(&home).await;
    unknown.problem(404, "unknown_id");
}

#[tokio::test]
async fn letters_are_given_back_to_their_group_by_those_who_administer_the_topic() {
    let home = with_a_letter().await;
    let ask = |body: Value, scopes: &[&str]| Ask::new(Method::POST, "/dlq/replay").body(body.to_string()).token(scopes);
    let order = json!({"topic": "orders", "to": "group", "group": "billing"});
    for scopes in [&["ops:orders", "subscribe:dlq.orders", "publish:orders"][..], &["admin:dlq.orders", "admin:other"]]
    {
        ask(order.clone(), scopes).send(&home).await.problem(403, "forbidden");
    }
    for (wrong, field) in [
        (json!({"topic": "orders", "to": "group"}), "group"),
        (json!({"topic": "orders", "to": "group", "group": "billing", "transform": "."}), "to"),
        (json!({"topic": "orders", "to": "everyone", "group": "billing"}), "to"),
    ] {
        let scopes = ["admin:orders", "publish:orders", "subscribe:dlq.orders"];
        let problem = ask(wrong.clone(), &scopes).send(&home).await.problem(400, "bad_request");
        assert_eq!(problem["field"], field, "{wrong}");
    }
    let done = ask(order.clone(), &["admin:orders"]).send(&home).await.json();
    assert_eq!((&done["state"], &done["replayed"]), (&json!("done"), &json!(1)), "{done}");
    let mut orders = home.bus.subscribe("orders", "billing").start().await.unwrap();
    let again = orders.next().await.unwrap();
    assert_eq!((again.offset(), again.attempt()), (0, 1), "the event itself");
    again.ack().await.unwrap();
    let path = format!("/dlq/jobs/{}", done["job"].as_str().unwrap());
    let job = get(&home, &path, &["ops:orders"]).await;
    assert_eq!((&job["kind"], &job["by"].is_string()), (&json!("give_back"), &true), "{job}");
    assert_eq!(ask(order, &["admin:orders"]).send(&home).await.json()["matched"], 0, "once");
}

/// A group gave up on 60 events, twelve of each of five customers.
async fn with_letters_of_customers() -> Home {
    let home = Home::protected().await;
    home.bus.create_topic(TopicSettings::new("orders").unwrap().index([".payload.customer"])).await.unwrap();
    for n in 0..60 {
        home.bus.publish("orders", json!({"n": n, "customer": n % 5})).key(format!("k{n}")).send().await.unwrap();
    }
    let orders = home.bus.subscribe("orders", "billing").from(Position::Earliest).max_attempts(1);
    let mut orders = orders.start().await.unwrap();
    for _ in 0..60 {
        orders.next().await.unwrap().nack("cannot be printed").await.unwrap();
    }
    orders.unsubscribe().await;
    home
}

#[tokio::test]
async fn letters_are_chosen_by_what_the_originals_hold_and_an_index_finds_the_same() {
    let home = with_letters_of_customers().await;
    let reader = ["subscribe:dlq.orders"];
    let page = async |program: &str| get(&home, &format!("/dlq?topic=orders&limit=1000&jq={program}"), &reader).await;
    let by_index = page(".payload.customer%20%3D%3D%203").await;
    let scanned = page("(.payload.customer%20%3D%3D%203)%20and%20true").await;
    assert_eq!((&by_index["index"], &by_index["count"]), (&json!(".payload.customer"), &json!(12)));
    assert_eq!((scanned.get("index"), &scanned["letters"]), (None, &by_index["letters"]));
    assert!(
        by_index["letters"].as_array().unwrap().iter().all(|letter| letter["original"]["payload"]["customer"] == 3)
    );
    assert_eq!(page(".payload.customer%20%3D%3D%2099").await["count"], 0);
    let bad = Ask::new(Method::GET, "/dlq?topic=orders&jq=.payload%20%7C").token(&reader).send(&home).await;
    assert_eq!(bad.problem(400, "bad_request")["field"], "jq");
}

#[tokio::test]
async fn replays_and_purges_take_only_the_letters_that_a_program_chooses() {
    let home = with_letters_of_customers().await;
    let all = ["*"];
    let left = async || get(&home, "/dlq?topic=orders&standing=open&limit=1000", &all).await["count"].clone();
    let chosen = json!({"topic": "orders", "jq": ".payload.customer == 3"});
    assert_eq!(replay(&home, chosen.clone(), &all).await.json()["replayed"], 12);
    assert_eq!((replay(&home, chosen, &all).await.json()["matched"].clone(), left().await), (json!(0), json!(48)));
    let scanned = json!({"topic": "orders", "jq": ".payload.customer > 3"});
    assert_eq!(replay(&home, scanned, &all).await.json()["replayed"], 12);
    let purge = async |program: &str, scopes: &[&str]| {
        let body = json!({"topic": "orders", "jq": program}).to_string();
        Ask::new(Method::POST, "/dlq/purge").token(scopes).body(body).send(&home).await
    };
    purge(".payload.customer == 0", &["admin:orders"]).await.problem(403, "forbidden");
    purge(".payload |", &all).await.problem(400, "bad_request");
    assert_eq!(purge(".payload.customer == 0", &all).await.json()["replayed"], 12);
    assert_eq!(left().await, 24);
}
