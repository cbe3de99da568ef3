//! `/trace`.

use axum::http::Method;
use prom_engine::{Position, TopicSettings};
use prom_types::{EventId, NewEvent, TopicName};
use serde_json::{Value, json};

use crate::home::{Ask, Home, until};

async fn publish(home: &Home, topic: &str, causes: &[EventId]) -> EventId {
    let event = NewEvent {
        caused_by: causes.to_vec(),
        ..NewEvent::new(TopicName::parse(topic).unwrap(), json!({"of": topic}))
    };
    home.bus.publish_event(event).await.unwrap().id
}

async fn trace(home: &Home, id: EventId) -> Value {
    let ask = Ask::new(Method::GET, &format!("/trace/{id}")).token(&["*:**", "subscribe:dlq.**", "ops:dlq.**"]);
    ask.send(home).await.json()
}

fn ids(nodes: &Value) -> Vec<&str> {
    nodes.as_array().map_or(Vec::new(), |nodes| nodes.iter().map(|node| node["id"].as_str().unwrap()).collect())
}

#[tokio::test]
async fn causes_stand_above_and_effects_below() {
    let home = Home::protected().await;
    let order = publish(&home, "orders", &[]).await;
    let paid = publish(&home, "payments", &[order]).await;
    let packed = publish(&home, "parcels", &[order, paid]).await;
    let sent = publish(&home, "parcels", &[packed]).await;

    let from_the_top = trace(&home, order).await;
    assert_eq!(from_the_top["behind"], 0);
    let root = &from_the_top["trace"];
    assert_eq!((&root["event"]["topic"], &root["event"]["offset"]), (&json!("orders"), &json!(0)));
    assert_eq!(ids(&root["effects"]), [paid.to_string(), packed.to_string()]);
    let again = &root["effects"][0]["effects"][0];
    assert_eq!((&again["id"], &again["repeated"]), (&json!(packed.to_string()), &json!(true)));
    assert_eq!(ids(&root["effects"][1]["effects"]), [sent.to_string()]);

    let from_below = trace(&home, sent).await["trace"].clone();
    assert_eq!(ids(&from_below["causes"]), [packed.to_string()]);
    assert_eq!(ids(&from_below["causes"][0]["causes"]), [order.to_string(), paid.to_string()]);
    assert!(from_below["effects"].is_null());
}

#[tokio::test]
async fn circles_end_and_a_tree_that_is_too_large_is_cut() {
    let home = Home::protected().await;
    let (one, other) = (EventId::derived("one"), EventId::derived("other"));
    for (id, cause) in [(one, other), (other, one)] {
        let topic = TopicName::parse("ring").unwrap();
        let event = NewEvent { id: Some(id), caused_by: vec![cause], ..NewEvent::new(topic, json!(1)) };
        home.bus.publish_event(event).await.unwrap();
    }
    let ring = trace(&home, one).await["trace"].clone();
    assert_eq!(ids(&ring["effects"]), [other.to_string()]);
    assert_eq!(ring["causes"][0]["repeated"].as_bool().or(ring["effects"][0]["repeated"].as_bool()), Some(true));
    let root = publish(&home, "fan", &[]).await;
    let events = (0..900)
        .map(|_| NewEvent { caused_by: vec![root], ..NewEvent::new(TopicName::parse("fan").unwrap(), json!(1)) });
    home.bus.publish_batch(events.collect()).await.unwrap();
    let fan = trace(&home, root).await;
    assert_eq!((fan["cut"].as_bool(), ids(&fan["trace"]["effects"]).len()), (Some(true), 499));
}

#[tokio::test]
async fn each_event_tells_how_its_groups_do_with_it() {
    let home = Home::protected().await;
    let id = publish(&home, "orders", &[]).await;
    let later = publish(&home, "orders", &[id]).await;
    let mut fine = home.bus.subscribe("orders", "fine").from(Position::Earliest).start().await.unwrap();
    fine.next().await.unwrap().ack().await.unwrap();
    let held = fine.next().await.unwrap();
    let bad = home.bus.subscribe("orders", "bad").from(Position::Earliest).max_attempts(1);
    let mut bad = bad.start().await.unwrap();
    bad.next().await.unwrap().nack("smtp is down").await.unwrap();
    let slow = home.bus.subscribe("orders", "slow").from(Position::Earliest).max_attempts(9);
    let mut slow =
        slow.backoff(std::time::Duration::from_secs(60), std::time::Duration::from_secs(60)).start().await.unwrap();
    slow.next().await.unwrap().nack("not now").await.unwrap();
    let state = |trace: &Value, group: &str| -> Value {
        let deliveries = trace["event"]["deliveries"].as_array().unwrap();
        deliveries.iter().find(|delivery| delivery["group"] == group).unwrap().clone()
    };
    until("the letter is written", || async { state(&trace(&home, id).await["trace"], "bad")["letter"].is_object() })
        .await;
    let first = trace(&home, id).await["trace"].clone();
    assert_eq!(state(&first, "fine")["state"], "settled");
    let dead = state(&first, "bad");
    assert_eq!(
        (&dead["state"], &dead["letter"]["err"], &dead["letter"]["attempts"]),
        (&json!("dead"), &json!("smtp is down"), &json!(1))
    );
    assert_eq!(dead["letter"]["topic"], "dlq.orders");
    let waits = state(&first, "slow");
    assert_eq!(
        (&waits["state"], &waits["attempts"], &waits["reason"]),
        (&json!("waiting"), &json!(1), &json!("not now"))
    );
    assert_eq!(state(&first["effects"][0], "fine")["state"], "in_flight");
    held.ack().await.unwrap();
    assert_eq!(state(&trace(&home, later).await["trace"], "fine")["state"], "settled");

    // What the letter led to stands below it.
    let letter = EventId::parse(dead["letter"]["id"].as_str().unwrap()).unwrap();
    let replayed = publish(&home, "orders", &[letter]).await;
    let first = trace(&home, id).await["trace"].clone();
    assert_eq!(ids(&state(&first, "bad")["letter"]["replayed"]), [replayed.to_string()]);
}

#[tokio::test]
async fn a_tree_ends_at_what_the_token_may_not_read() {
    let home = Home::protected().await;
    let secret = publish(&home, "secret", &[]).await;
    let open = publish(&home, "open", &[secret]).await;
    let hidden = publish(&home, "secret", &[open]).await;
    publish(&home, "open", &[hidden]).await;
    home.bus.subscribe("open", "ours").from(Position::Earliest).start().await.unwrap().unsubscribe().await;
    let ask = async |id: EventId, scope: &str| {
        Ask::new(Method::GET, &format!("/trace/{id}")).token(&[scope]).send(&home).await
    };
    let answer = ask(open, "subscribe:open").await;
    let told = answer.json();
    assert_eq!((told["hidden"].as_bool(), told["trace"]["effects"].is_null()), (Some(true), true));
    assert_eq!(told["trace"]["causes"], json!([{"id": secret.to_string()}]));
    assert!(told["trace"]["event"]["deliveries"].is_null());
    assert!(!answer.text().contains("\"secret\"") && !answer.text().contains(&hidden.to_string()), "{}", answer.text());
    // One that may not be read is answered as one that is not there.
    let (there, nowhere) =
        (ask(secret, "subscribe:open").await, ask(EventId::derived("nowhere"), "subscribe:open").await);
    there.problem(404, "unknown_id");
    assert_eq!(
        there.text().replace(&secret.to_string(), ""),
        nowhere.text().replace(&EventId::derived("nowhere").to_string(), "")
    );
    ask(open, "ops").await.problem(403, "forbidden");
    Ask::new(Method::GET, "/trace/7").token(&["*"]).send(&home).await.problem(400, "bad_request");
}

#[tokio::test]
async fn what_retention_removed_leaves_the_index_and_deleted_topics_do_too() {
    let home = Home::protected().await;
    home.bus.create_topic(TopicSettings::new("short").unwrap()).await.unwrap();
    let root = publish(&home, "root", &[]).await;
    let mut effects = Vec::new();
    for _ in 0..5 {
        effects.push(publish(&home, "short", &[root]).await);
    }
    assert_eq!(ids(&trace(&home, root).await["trace"]["effects"]).len(), 5);
    home.bus.delete_topic("short", prom_engine::TopicLetters::Keep).await.unwrap();
    let after = trace(&home, root).await["trace"].clone();
    assert!(after["effects"].is_null(), "{after}");
    assert!(home.bus.documents("trace_effects", None, 10).await.unwrap().is_empty());
    assert!(home.bus.documents("trace_marks", None, 10).await.unwrap().iter().all(|mark| mark.key != "short"));
}
