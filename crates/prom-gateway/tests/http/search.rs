//! `/search`.

use axum::http::Method;
use prom_engine::TopicSettings;
use prom_gateway::GatewayOptions;
use prom_protocol::http::search::SavedSearch;
use prom_types::{Headers, NewEvent, TopicName};
use serde_json::{Value, json};

use crate::home::{Ask, Home, auth};

fn payloads(page: &Value) -> Vec<u64> {
    page["items"].as_array().unwrap().iter().map(|event| event["payload"]["n"].as_u64().unwrap()).collect()
}

/// `n`, a word, a key of ten and a header of two.
async fn filled(home: &Home, topic: &str, count: u64) {
    for n in 0..count {
        let mut headers = Headers::default();
        headers.insert("x-tenant", if n % 2 == 0 { "acme" } else { "other" }).unwrap();
        let word = if n % 7 == 0 { "Timeout of the upstream" } else { "fine" };
        let event = NewEvent {
            key: Some(format!("k{}", n % 10)),
            headers,
            ..NewEvent::new(TopicName::parse(topic).unwrap(), json!({"n": n, "word": word}))
        };
        home.bus.publish_event(event).await.unwrap();
    }
}

#[tokio::test]
async fn what_matches_comes_newest_first() {
    let home = Home::ticking_by(1).await;
    filled(&home, "a", 40).await;
    let page = home.get("/search?topic=a&limit=3").await.json();
    assert_eq!(payloads(&page), [39, 38, 37]);
    let ts = page["items"][2]["stored_ts"].as_i64().unwrap();
    let id = page["items"][1]["id"].as_str().unwrap().to_owned();
    for (query, expected) in [
        ("text=timeout".to_owned(), &[35, 28, 21, 14, 7, 0][..]),
        ("key=k3".to_owned(), &[33, 23, 13, 3]),
        ("jq=.payload.n%20%3C%203".to_owned(), &[2, 1, 0]),
        ("header=x-tenant:acme&text=TIMEOUT".to_owned(), &[28, 14, 0]),
        ("header=x-nothing".to_owned(), &[]),
        (format!("fromTs={ts}"), &[39, 38, 37]),
        (format!("toTs={ts}&limit=2"), &[37, 36]),
        (format!("text={id}"), &[38]),
        ("text=nowhere".to_owned(), &[]),
    ] {
        let page = home.get(&format!("/search?topic=a&{query}")).await.json();
        assert_eq!(payloads(&page), expected, "{query}");
        assert_eq!(page["matched"], expected.len());
    }
    let all = home.get("/search?topic=a&text=nowhere").await.json();
    assert_eq!((&all["scanned"], &all["next"]), (&json!(40), &Value::Null));
}

#[tokio::test]
async fn pages_over_partitions_together_have_every_event_once_in_the_order_of_time() {
    let home = Home::ticking_by(1).await;
    home.bus.create_topic(TopicSettings::new("a").unwrap().partitions(3)).await.unwrap();
    filled(&home, "a", 100).await;
    let (mut seen, mut next) = (Vec::new(), String::new());
    loop {
        let page =
            home.get(&format!("/search?topic=a&limit=7&jq=.payload.n%20%25%203%20%3D%3D%200{next}")).await.json();
        seen.extend(payloads(&page));
        match page["next"].as_str() {
            Some(more) => next = format!("&next={more}"),
            None => break,
        }
    }
    assert_eq!(seen, (0..100).rev().filter(|n| n % 3 == 0).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_page_looks_at_so_many_events_and_the_next_one_goes_on() {
    let home = Home::open().await;
    let topic = TopicName::parse("a").unwrap();
    for _ in 0..12 {
        let events: Vec<NewEvent> = (0..5000).map(|n| NewEvent::new(topic.clone(), json!({"n": n}))).collect();
        home.bus.publish_batch(events).await.unwrap();
    }
    let page = home.get("/search?topic=a&text=nowhere").await.json();
    let scanned = page["scanned"].as_u64().unwrap();
    assert!((1..=51_000).contains(&scanned), "{scanned}");
    let mut next = page["next"].as_str().unwrap().to_owned();
    let mut all = scanned;
    loop {
        let page = home.get(&format!("/search?topic=a&text=nowhere&next={next}")).await.json();
        all += page["scanned"].as_u64().unwrap();
        match page["next"].as_str() {
            Some(more) => next = more.to_owned(),
            None => break,
        }
    }
    assert_eq!(all, 60_000);
}

#[tokio::test]
async fn numbers_leave_as_they_came_and_a_failing_program_is_told() {
    let home = Home::open().await;
    let payload = prom_types::Json::parse("{\"n\":123456789012345678901234567890.10}").unwrap();
    home.bus.publish_event(NewEvent::new(TopicName::parse("a").unwrap(), payload)).await.unwrap();
    let answer = home.get("/search?topic=a").await;
    assert!(answer.text().contains("123456789012345678901234567890.10"), "{}", answer.text());
    let page = home.get("/search?topic=a&jq=.payload.n.x").await.json();
    assert_eq!((&page["matched"], &page["failed"]), (&json!(0), &json!(1)));
    assert!(page["failure"].is_string());
    let burns = home.get("/search?topic=a&jq=%5Brange(100000000)%5D").await.json();
    assert_eq!(burns["failed"], 1);
}

#[tokio::test]
async fn what_is_wrong_is_named_and_rights_come_first() {
    let home = Home::protected().await;
    home.publish_numbers("a", 1).await;
    let ask = async |query: &str, scope: &str| {
        Ask::new(Method::GET, &format!("/search?{query}")).token(&[scope]).send(&home).await
    };
    for (query, named) in [
        ("", "topic"),
        ("topic=a&limit=0", "limit"),
        ("topic=a&limit=1001", "limit"),
        ("topic=a&jq=.%7C", "jq"),
        ("topic=a&next=x", "next"),
        ("topic=a&next=1.2", "next"),
    ] {
        let problem = ask(query, "subscribe").await.problem(400, "bad_request");
        assert!(problem["detail"].as_str().unwrap().contains(named), "{query}: {problem}");
    }
    ask("topic=a&jq=.%7C", "ops").await.problem(403, "forbidden");
    ask("topic=a", "subscribe:b").await.problem(403, "forbidden");
    ask("topic=b", "subscribe").await.problem(404, "unknown_topic");
}

async fn indexed(home: &Home, expressions: &[&str]) {
    let settings = TopicSettings::new("a").unwrap().partitions(2).index(expressions.iter().copied());
    home.bus.create_topic(settings).await.unwrap();
}

/// With an index, and with a program that says the same and is scanned.
async fn both_ways(home: &Home, literal: &str, more: &str) -> (Value, Value) {
    let by_index = home.get(&format!("/search?topic=a&jq=.payload.n%20%3D%3D%20{literal}{more}")).await.json();
    let scanned =
        home.get(&format!("/search?topic=a&jq=(.payload.n%20%3D%3D%20{literal})%20and%20true{more}")).await.json();
    (by_index, scanned)
}

#[tokio::test]
async fn an_index_finds_what_a_scan_finds_and_looks_at_nothing_else() {
    let home = Home::ticking_by(1).await;
    indexed(&home, &[".payload.n"]).await;
    let topic = TopicName::parse("a").unwrap();
    for n in 0..300 {
        let payload = match n % 5 {
            0 => "{\"n\":7}".to_owned(),
            1 => "{\"n\":7.0}".to_owned(),
            2 => "{\"n\":\"7\"}".to_owned(),
            3 => "{\"n\":123456789012345678901234567890}".to_owned(),
            _ => format!("{{\"n\":{n},\"other\":7}}"),
        };
        let payload = prom_types::Json::parse(payload).unwrap();
        home.bus
            .publish_event(NewEvent { key: Some(format!("k{n}")), ..NewEvent::new(topic.clone(), payload) })
            .await
            .unwrap();
    }
    for (literal, count) in
        [("7", 50), ("%227%22", 50), ("123456789012345678901234567890", 50), ("14", 1), ("99999", 0)]
    {
        let (by_index, scanned) = both_ways(&home, literal, "").await;
        assert_eq!(by_index["index"], ".payload.n", "{literal}: {by_index}");
        assert!(scanned["index"].is_null());
        assert_eq!(by_index["items"], scanned["items"], "{literal}");
        assert_eq!(by_index["matched"], count, "{literal}");
        assert!(scanned["scanned"].as_u64().unwrap() >= by_index["scanned"].as_u64().unwrap());
    }
    // Page by page, and with more that must hold.
    let (mut seen, mut next) = (Vec::new(), String::new());
    loop {
        let page = home.get(&format!("/search?topic=a&limit=11&jq=.payload.n%20%3D%3D%207{next}")).await.json();
        seen.extend(page["items"].as_array().unwrap().iter().map(|event| event["id"].clone()));
        match page["next"].as_str() {
            Some(more) => next = format!("&next={more}"),
            None => break,
        }
    }
    let all = home.get("/search?topic=a&limit=1000&jq=(.payload.n%20%3D%3D%207)").await.json();
    let all: Vec<Value> = all["items"].as_array().unwrap().iter().map(|event| event["id"].clone()).collect();
    assert_eq!((seen.len(), &seen), (120, &all));
    let (one, other) = both_ways(&home, "7", "&key=k5").await;
    assert_eq!((&one["items"], one["matched"].as_u64()), (&other["items"], Some(1)));
}

#[tokio::test]
async fn an_index_is_built_over_what_is_there_says_how_far_it_is_and_goes_when_it_is_not_declared() {
    let home = Home::open().await;
    filled(&home, "a", 30).await;
    let state = async || home.get("/topics/a").await.json()["indexes"].clone();
    assert!(state().await.is_null());
    home.bus.create_topic(TopicSettings::new("a").unwrap().index([".payload.word"])).await.unwrap();
    assert_eq!(state().await, json!([{"expression": ".payload.word", "behind": 30}]));
    let found = home.get("/search?topic=a&jq=.payload.word%20%3D%3D%20%22fine%22&limit=1000").await.json();
    assert_eq!((&found["index"], &found["matched"]), (&json!(".payload.word"), &json!(25)));
    assert_eq!(state().await[0]["behind"], 0);
    assert_eq!(home.bus.documents("index_entries", None, 100).await.unwrap().len(), 30);

    home.bus.create_topic(TopicSettings::new("a").unwrap()).await.unwrap();
    let mut building = prom_jobs::Indexes::new().building();
    prom_jobs::KeptWork::pass(&mut building, &home.bus).await.unwrap();
    let scanned = home.get("/search?topic=a&jq=.payload.word%20%3D%3D%20%22fine%22&limit=1000").await.json();
    assert_eq!((&scanned["index"], &scanned["matched"]), (&Value::Null, &json!(25)));
}

#[tokio::test]
async fn entries_go_when_their_index_is_no_longer_declared_and_when_retention_takes_their_events() {
    let home = Home::open().await;
    indexed(&home, &[".payload.n"]).await;
    let mut building = prom_jobs::Indexes::new().building();
    filled(&home, "a", 20).await;
    prom_jobs::KeptWork::pass(&mut building, &home.bus).await.unwrap();
    let entries = async || home.bus.documents("index_entries", None, 100).await.unwrap().len();
    assert_eq!(entries().await, 20);
    home.bus.create_topic(TopicSettings::new("a").unwrap().partitions(2)).await.unwrap();
    prom_jobs::KeptWork::pass(&mut building, &home.bus).await.unwrap();
    assert_eq!(entries().await, 0);
    assert!(home.bus.documents("index_blocks", None, 100).await.unwrap().is_empty());

    indexed(&home, &[".payload.n"]).await;
    prom_jobs::KeptWork::pass(&mut building, &home.bus).await.unwrap();
    assert_eq!(entries().await, 20);
    home.bus.delete_topic("a", prom_engine::TopicLetters::Keep).await.unwrap();
    prom_jobs::KeptWork::pass(&mut building, &home.bus).await.unwrap();
    assert_eq!(entries().await, 0);
}

#[tokio::test]
async fn an_index_answers_no_one_from_whom_something_is_hidden_and_a_bad_one_is_refused() {
    let home = Home::protected().await;
    let put = async |body: Value| {
        Ask::new(Method::PUT, "/topics/a").token(&["admin"]).body(body.to_string()).send(&home).await
    };
    for (index, named) in [(json!([".payload |"]), "jq"), (json!([".a", ".a"]), "twice"), (json!(vec![".a"; 9]), "8")] {
        let problem = put(json!({"index": index})).await.problem(400, "bad_request");
        assert!(problem["detail"].as_str().unwrap().contains(named), "{problem}");
    }
    put(json!({"index": [".payload.n"], "mask": ["/n"]})).await.json();
    filled(&home, "a", 5).await;
    let ask = async |scopes: &[&str]| {
        let path = "/search?topic=a&jq=.payload.n%20%3D%3D%203";
        Ask::new(Method::GET, path).token(scopes).send(&home).await.json()
    };
    let hidden = ask(&["subscribe"]).await;
    assert_eq!((&hidden["index"], &hidden["matched"], &hidden["scanned"]), (&Value::Null, &json!(0), &json!(5)));
    let seen = ask(&["subscribe", "admin"]).await;
    assert_eq!((&seen["index"], &seen["matched"]), (&json!(".payload.n"), &json!(1)));
}

#[tokio::test]
async fn saved_searches_are_listed_to_those_who_may_read_their_topics() {
    let saved = |name: &str, topic: &str| SavedSearch {
        name: name.to_owned(),
        topic: TopicName::parse(topic).unwrap(),
        text: Some("timeout".to_owned()),
        jq: None,
        key: None,
        header: None,
    };
    let searches = vec![saved("slow", "shop.orders"), saved("paid late", "salaries")];
    let options = GatewayOptions { searches, ..GatewayOptions::default() };
    let home = Home::with(options, auth()).await;
    let list = |scopes: &'static [&'static str]| Ask::new(Method::GET, "/searches").token(scopes).send(&home);
    let some = list(&["subscribe:shop.**"]).await.json();
    assert_eq!(some, json!({"searches": [{"name": "slow", "topic": "shop.orders", "text": "timeout"}]}));
    assert_eq!(list(&["subscribe"]).await.json()["searches"].as_array().unwrap().len(), 2);
    list(&["ops"]).await.problem(403, "forbidden");
    Ask::new(Method::GET, "/searches").send(&home).await.problem(401, "no_token");
}
