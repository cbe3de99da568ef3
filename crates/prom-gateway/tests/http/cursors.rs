//! `/cursors`.

use prom_engine::{Position, TopicSettings};
use serde_json::{Value, json};

use crate::home::Home;

/// `count` events in one partition, the first two acked.
async fn with_cursor(count: usize) -> Home {
    let home = Home::open().await;
    home.publish_numbers("a", count).await;
    let mut events = home.bus.subscribe("a", "g").from(Position::Earliest).start().await.unwrap();
    for _ in 0..2 {
        events.next().await.unwrap().ack().await.unwrap();
    }
    events.unsubscribe().await;
    home
}

async fn floors(home: &Home) -> Vec<Value> {
    let list = home.get("/cursors?topic=a&group=g").await.json();
    list["cursors"].as_array().unwrap().iter().map(|cursor| cursor["offset"].clone()).collect()
}

#[tokio::test]
async fn cursors_say_where_groups_stand() {
    let home = with_cursor(5).await;
    let list = home.get("/cursors?topic=a").await.json();
    assert_eq!(list["topic"], "a");
    let cursor = &list["cursors"][0];
    assert_eq!((&cursor["group"], &cursor["partition"], &cursor["offset"]), (&json!("g"), &json!(0), &json!(2)));
    let second = home.get("/replay?topic=a&offset=1&limit=1").await.json()["events"][0].clone();
    assert_eq!((&cursor["lastId"], &cursor["lastTs"]), (&second["id"], &second["stored_ts"]));
    assert_eq!(cursor["ackedAbove"], 0);
    home.get("/cursors").await.problem(400, "bad_request");
    home.get("/cursors?topic=nope").await.problem(404, "unknown_topic");
    home.get("/cursors?topic=a&group=nope").await.problem(404, "unknown_topic");
}

#[tokio::test]
async fn a_cursor_is_moved_to_every_kind_of_place() {
    let home = with_cursor(5).await;
    let events = home.get("/replay?topic=a").await.json()["events"].clone();
    for (place, floor) in [
        (json!({"from": "earliest"}), 0),
        (json!({"from": "latest"}), 5),
        (json!({"from": "offset", "offset": 3}), 3),
        (json!({"offset": 4}), 4),
        (json!({"from": "afterId", "afterId": events[1]["id"]}), 2),
        (json!({"from": "ts", "ts": 0}), 0),
        (json!({"from": "ts", "ts": 99_999_999_999_999_i64}), 5),
        (json!({"from": "earliest", "partition": 0}), 0),
    ] {
        let mut body = place.clone();
        body["topic"] = json!("a");
        body["group"] = json!("g");
        let moved = home.post("/cursors", body.to_string()).await.json();
        assert_eq!((&moved["topic"], &moved["group"], &moved["dryRun"]), (&json!("a"), &json!("g"), &json!(false)));
        let cursor = &moved["cursors"][0];
        assert_eq!((&cursor["partition"], &cursor["offset"]), (&json!(0), &json!(floor)), "{place}");
        assert_eq!(floors(&home).await, [floor], "{place}");
    }
    let audited = home.get("/replay?topic=system.audit&limit=1").await.json();
    assert_eq!(audited["events"][0]["payload"]["action"], "set_cursor");
}

#[tokio::test]
async fn a_move_is_refused_where_the_group_has_moved_since_the_preview() {
    let home = with_cursor(5).await;
    let body = |expect: Value| json!({"topic": "a", "group": "g", "from": "latest", "expect": expect}).to_string();
    let stale = home.post("/cursors", body(json!([{"partition": 0, "before": 1}]))).await.problem(409, "conflict");
    assert_eq!(stale["detail"], "group g stands at 2 in a/0, not at 1; look again, and move it from there");
    let unknown = home.post("/cursors", body(json!([{"partition": 3, "before": 0}]))).await.problem(400, "bad_request");
    assert_eq!(unknown["field"], "expect");
    assert_eq!(floors(&home).await, [2]);
    home.get("/replay?topic=system.audit").await.problem(404, "unknown_topic");
    let moved = home.post("/cursors", body(json!([{"partition": 0, "before": 2}]))).await.json();
    assert_eq!(moved["cursors"][0], json!({"partition": 0, "before": 2, "offset": 5, "comeAgain": 0, "skipped": 3}));
    assert_eq!(floors(&home).await, [5]);
}

#[tokio::test]
async fn a_stale_preview_of_one_partition_moves_none() {
    let home = Home::open().await;
    home.bus.create_topic(TopicSettings::new("a").unwrap().partitions(2)).await.unwrap();
    home.publish_numbers("a", 20).await;
    home.bus.subscribe("a", "g").from(Position::Earliest).start().await.unwrap().unsubscribe().await;
    let expect = json!([{"partition": 0, "before": 0}, {"partition": 1, "before": 1}]);
    let body = json!({"topic": "a", "group": "g", "from": "latest", "expect": expect});
    home.post("/cursors", body.to_string()).await.problem(409, "conflict");
    assert_eq!(floors(&home).await, [0, 0]);
}

#[tokio::test]
async fn a_dry_run_tells_what_would_come_again_and_moves_nothing() {
    let home = with_cursor(5).await;
    let body = |dry_run: bool| json!({"topic": "a", "group": "g", "from": "earliest", "dryRun": dry_run}).to_string();
    let cursors = json!([{"partition": 0, "before": 2, "offset": 0, "comeAgain": 2, "skipped": 0}]);
    let preview = home.post("/cursors", body(true)).await.json();
    assert_eq!(preview, json!({"topic": "a", "group": "g", "dryRun": true, "cursors": cursors}));
    assert_eq!(floors(&home).await, [2]);
    home.get("/replay?topic=system.audit").await.problem(404, "unknown_topic");
    assert_eq!(home.post("/cursors", body(false)).await.json()["cursors"], cursors);
    assert_eq!(floors(&home).await, [0]);
}

#[tokio::test]
async fn one_event_is_skipped_by_its_offset_or_its_id() {
    let home = with_cursor(5).await;
    let events = home.get("/replay?topic=a").await.json()["events"].clone();
    let skip = |event: Value| {
        let mut body = event;
        body["topic"] = json!("a");
        body["group"] = json!("g");
        home.post("/skip", body.to_string())
    };
    let skipped = skip(json!({"offset": 2})).await.json();
    let id = &events[2]["id"];
    let expected = json!({"topic": "a", "group": "g", "partition": 0, "offset": 2, "id": id, "already_settled": false});
    assert_eq!(skipped, expected);
    assert_eq!(floors(&home).await, [3]);
    assert_eq!(skip(json!({"id": events[4]["id"]})).await.json()["offset"], 4);
    assert_eq!(skip(json!({"id": events[4]["id"]})).await.json()["already_settled"], true);
    assert_eq!(floors(&home).await, [3]);
    for (wrong, status, field) in [
        (json!({}), 400, Some("offset")),
        (json!({"offset": 3, "id": id}), 400, Some("id")),
        (json!({"id": id, "partition": 0}), 400, Some("partition")),
        (json!({"offset": 5}), 400, None),
        (json!({"id": "0190b6ef-8f5c-7cc3-98c4-dc0c0c07398f"}), 404, None),
    ] {
        let answer = skip(wrong.clone()).await;
        assert_eq!(answer.status.as_u16(), status, "{wrong} → {}", answer.text());
        if let Some(field) = field {
            assert_eq!(answer.problem(status, "bad_request")["field"], field, "{wrong}");
        }
    }
    let audited = home.get("/replay?topic=system.audit").await.json();
    assert_eq!(audited["count"], 2);
}

#[tokio::test]
async fn all_partitions_are_moved_unless_one_is_named() {
    let home = Home::ticking_by(1).await;
    home.bus.create_topic(TopicSettings::new("a").unwrap().partitions(3)).await.unwrap();
    let mut ids = Vec::new();
    for n in 0..9 {
        let receipt = home.bus.publish("a", json!(n)).partition(n % 3).await.unwrap();
        ids.push(receipt.id);
    }
    home.bus.subscribe("a", "g").from(Position::Earliest).start().await.unwrap().unsubscribe().await;
    let set = |place: Value| {
        let mut body = place;
        body["topic"] = json!("a");
        body["group"] = json!("g");
        home.post("/cursors", body.to_string())
    };
    set(json!({"from": "latest"})).await.json();
    assert_eq!(floors(&home).await, [3, 3, 3]);
    set(json!({"from": "earliest", "partition": 1})).await.json();
    assert_eq!(floors(&home).await, [3, 0, 3]);
    // The fourth event is the second of partition 0; those stored later come again elsewhere.
    set(json!({"afterId": ids[3].to_string()})).await.json();
    assert_eq!(floors(&home).await, [2, 1, 1]);
    let problem = set(json!({"offset": 1})).await.problem(400, "bad_request");
    assert_eq!(problem["field"], "partition");
    set(json!({"offset": 1, "partition": 3})).await.problem(400, "bad_request");
}

#[tokio::test]
async fn what_is_wrong_moves_nothing() {
    let home = with_cursor(5).await;
    for (body, status) in [
        (json!({"topic": "a", "group": "g"}), 400),
        (json!({"topic": "a", "group": "g", "from": "yesterday"}), 400),
        (json!({"topic": "a", "group": "g", "from": "ts"}), 400),
        (json!({"topic": "a", "group": "g", "offset": -1}), 400),
        (json!({"topic": "a", "group": "g", "offset": 6}), 400),
        (json!({"topic": "a", "group": "g", "offset": 1, "ts": 1}), 400),
        (json!({"topic": "a", "group": "g", "afterId": "x"}), 400),
        (json!({"topic": "a", "group": "g", "afterId": "0190b6ef-8f5c-7cc3-98c4-dc0c0c07398f"}), 404),
        (json!({"topic": "a", "group": "other", "from": "earliest"}), 404),
        (json!({"topic": "b", "group": "g", "from": "earliest"}), 404),
        (json!({"topic": "a", "group": "g", "position": "earliest"}), 400),
        (json!({"group": "g", "from": "earliest"}), 400),
        (json!("earliest"), 400),
        (json!(["a", "g", 0, "earliest"]), 400),
    ] {
        let answer = home.post("/cursors", body.to_string()).await;
        assert_eq!(answer.status.as_u16(), status, "{body} → {}", answer.text());
    }
    assert_eq!(floors(&home).await, [2]);
}
