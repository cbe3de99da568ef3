//! Changes of a collection, in the oplog's order, each once.

use mongodb::bson::{Decimal128, Document, doc};
use prom_flows::feed::{BeforeImage, FeedOptions, FeedRoute, FeedSource, FullDocument, NumberForm};
use prom_jobs::{FlowAction, FlowSeek, FlowState};
use serde_json::json;

use crate::scene::{Scene, TOPIC, header, payload, told, until};

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(op, key)| ((*op).to_owned(), (*key).to_owned())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_change_becomes_an_event_under_its_documents_id() {
    let scene = Scene::new().await;
    let feed = scene.feed(scene.options()).await;
    scene.orders.insert_one(doc! { "_id": "a", "total": 1 }).await.unwrap();
    scene.orders.update_one(doc! { "_id": "a" }, doc! { "$set": { "total": 2 } }).await.unwrap();
    scene.events(2).await;
    scene.orders.replace_one(doc! { "_id": "a" }, doc! { "total": 3 }).await.unwrap();
    scene.orders.delete_one(doc! { "_id": "a" }).await.unwrap();
    scene.orders.insert_one(doc! { "_id": 7, "total": 4 }).await.unwrap();

    let events = scene.events(5).await;
    let ops =
        [("insert", "a"), ("update", "a"), ("replace", "a"), ("delete", "a"), ("insert", r#"{"$numberInt":"7"}"#)];
    assert_eq!(told(&events), pairs(&ops));
    assert_eq!(payload(&events[1]), json!({ "_id": "a", "total": 2 }));
    assert!(events[3].payload.is_null(), "a delete is a tombstone");
    assert!(header(&events[0], "x-change-cluster-time").unwrap().contains('.'));
    let status = feed.flow.status();
    assert_eq!((status.state, status.counts.read, status.counts.written), (FlowState::Running, 5, 5));
    assert_eq!(status.stages[0].name, "commit_to_publish");
    assert!(status.position.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_feed_that_was_away_goes_on_where_it_was_and_doubles_nothing() {
    let scene = Scene::new().await;
    let feed = scene.feed(scene.options()).await;
    scene.orders.insert_one(doc! { "_id": "1" }).await.unwrap();
    scene.events(1).await;
    feed.end().await;
    for id in ["2", "3"] {
        scene.orders.insert_one(doc! { "_id": id }).await.unwrap();
    }
    let _feed = scene.feed(scene.options()).await;
    scene.orders.insert_one(doc! { "_id": "4" }).await.unwrap();
    let keys: Vec<_> = scene.events(4).await.into_iter().map(|event| event.key.unwrap()).collect();
    assert_eq!(keys, ["1", "2", "3", "4"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_whose_document_is_gone_is_no_tombstone() {
    let scene = Scene::new().await;
    scene.orders.insert_one(doc! { "_id": "a", "total": 1 }).await.unwrap();
    scene.feed(scene.options()).await.end().await;
    scene.orders.update_one(doc! { "_id": "a" }, doc! { "$set": { "total": 2 } }).await.unwrap();
    scene.orders.delete_one(doc! { "_id": "a" }).await.unwrap();

    let _feed = scene.feed(FeedOptions { map: Some(".document.total".to_owned()), ..scene.options() }).await;
    let events = scene.events(2).await;
    assert_eq!(told(&events), pairs(&[("update", "a"), ("delete", "a")]));
    assert_eq!(header(&events[0], "x-document"), Some("gone"));
    assert_eq!(payload(&events[0])["updatedFields"], json!({ "total": 2 }));
    assert!(events[1].payload.is_null());
}

#[tokio::test(flavor = "multi_thread")]
async fn without_full_documents_updates_bring_what_was_updated() {
    let scene = Scene::new().await;
    let _feed = scene.feed(FeedOptions { full_document: FullDocument::None, ..scene.options() }).await;
    scene.orders.insert_one(doc! { "_id": "a", "total": 1 }).await.unwrap();
    scene.orders.update_one(doc! { "_id": "a" }, doc! { "$set": { "total": 2 } }).await.unwrap();
    let events = scene.events(2).await;
    assert_eq!(header(&events[1], "x-document"), Some("none"));
    assert_eq!(payload(&events[1])["updatedFields"], json!({ "total": 2 }));
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_come_as_they_were_at_each_change_where_the_collection_keeps_images() {
    let scene = Scene::new().await;
    let create = doc! { "create": "orders", "changeStreamPreAndPostImages": { "enabled": true } };
    scene.database.run_command(create).await.unwrap();
    let options = FeedOptions {
        full_document: FullDocument::Required,
        before: BeforeImage::Required,
        map: Some("{ was: .before.total, is: .document.total }".to_owned()),
        ..scene.options()
    };
    scene.feed(options.clone()).await.end().await;
    scene.orders.insert_one(doc! { "_id": "a", "total": 1 }).await.unwrap();
    for total in [2, 3] {
        scene.orders.update_one(doc! { "_id": "a" }, doc! { "$set": { "total": total } }).await.unwrap();
    }
    let _feed = scene.feed(options).await;
    let told: Vec<_> = scene.events(3).await.iter().map(payload).collect();
    assert_eq!(told, [json!({ "was": null, "is": 1 }), json!({ "was": 1, "is": 2 }), json!({ "was": 2, "is": 3 })]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_required_image_that_is_missing_stops_the_feed_and_says_what_to_switch_on() {
    let scene = Scene::new().await;
    let feed = scene.feed(FeedOptions { full_document: FullDocument::Required, ..scene.options() }).await;
    scene.orders.insert_one(doc! { "_id": "a", "total": 1 }).await.unwrap();
    scene.orders.update_one(doc! { "_id": "a" }, doc! { "$set": { "total": 2 } }).await.unwrap();
    feed.state(FlowState::Stopped).await;
    let reason = feed.flow.status().error.unwrap().reason;
    assert!(reason.contains("changeStreamPreAndPostImages"), "{reason}");
    assert_eq!(scene.events(1).await.len(), 1, "what came before is published");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_came_in_one_answer_with_a_missing_image_is_published_and_the_change_can_be_left_out() {
    let scene = Scene::new().await;
    let options = FeedOptions { full_document: FullDocument::Required, ..scene.options() };
    scene.feed(options.clone()).await.end().await;
    scene.orders.insert_one(doc! { "_id": "before", "total": 1 }).await.unwrap();
    scene.orders.update_one(doc! { "_id": "before" }, doc! { "$set": { "total": 2 } }).await.unwrap();
    scene.orders.insert_one(doc! { "_id": "behind", "total": 3 }).await.unwrap();
    let feed = scene.feed(options).await;
    feed.state(FlowState::Stopped).await;
    assert_eq!(told(&scene.events(1).await), [("insert".to_owned(), "before".to_owned())]);
    let reason = feed.flow.status().error.unwrap().reason;
    let (_, advice) = reason.split_once("prom feeds seek orders --at ").unwrap();
    let place = advice.split('`').next().unwrap().to_owned();
    feed.flow.act(FlowAction::Seek(FlowSeek::Token(place))).await.unwrap();
    until("what is behind it", async || {
        let events = told(&scene.events_of(TOPIC).await);
        events.contains(&("insert".to_owned(), "behind".to_owned())).then_some(())
    })
    .await;
    feed.state(FlowState::Running).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn filter_and_map_see_the_change_and_the_position_moves_over_what_is_left_out() {
    let scene = Scene::new().await;
    let programs = FeedOptions {
        filter: Some(".op == \"delete\" or .document.total >= 10".to_owned()),
        map: Some(".document | { total }, { twice: (.total * 2) }".to_owned()),
        ..scene.options()
    };
    let feed = scene.feed(programs.clone()).await;
    let before = scene.position().await;
    scene.orders.insert_one(doc! { "_id": "small", "total": 1 }).await.unwrap();
    until("the position behind what was left out", async || (scene.position().await.at != before.at).then_some(()))
        .await;
    assert!(scene.events_of(TOPIC).await.is_empty());
    assert_eq!(feed.flow.status().counts.skipped, 1);
    scene.orders.insert_one(doc! { "_id": "large", "total": 10 }).await.unwrap();
    scene.orders.delete_one(doc! { "_id": "large" }).await.unwrap();
    let events = scene.events(3).await;
    assert_eq!(payload(&events[0]), json!({ "total": 10 }));
    assert_eq!(payload(&events[1]), json!({ "twice": 20 }));
    assert!(events[2].payload.is_null());
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_arrive_digit_by_digit_also_through_a_map() {
    let scene = Scene::new().await;
    let plain = FeedOptions { map: Some(".document".to_owned()), ..scene.options() };
    let typed = FeedOptions {
        name: "typed".to_owned(),
        numbers: NumberForm::Typed,
        route: FeedRoute::parse("shop.typed").unwrap(),
        ..scene.options()
    };
    let _feeds = (scene.feed(plain).await, scene.feed(typed).await);
    let exact: Decimal128 = "1234567890123456789.0123456789".parse().unwrap();
    scene.orders.insert_one(doc! { "_id": "n", "l": 9_007_199_254_740_993_i64, "m": exact, "d": 1.0 }).await.unwrap();
    let text = scene.events(1).await[0].payload.as_str().to_owned();
    assert_eq!(
        text,
        r#"{"_id":"n","l":9007199254740993,"m":{"$numberDecimal":"1234567890123456789.0123456789"},"d":1.0}"#
    );
    let text = scene.events_on("shop.typed", 1).await[0].payload.as_str().to_owned();
    assert!(text.contains(r#""l":{"$numberLong":"9007199254740993"}"#), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_arrives_whole_and_in_its_order() {
    let scene = Scene::new().await;
    scene.orders.insert_one(doc! { "_id": "x", "n": 0 }).await.unwrap();
    let _feed = scene.feed(scene.options()).await;
    let mut session = scene.database.client().start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    scene.orders.insert_one(doc! { "_id": "b" }).session(&mut session).await.unwrap();
    scene.orders.insert_one(doc! { "_id": "a" }).session(&mut session).await.unwrap();
    scene.orders.delete_one(doc! { "_id": "x" }).session(&mut session).await.unwrap();
    session.commit_transaction().await.unwrap();
    let events = scene.events(3).await;
    assert_eq!(told(&events), pairs(&[("insert", "b"), ("insert", "a"), ("delete", "x")]));
    let times: Vec<_> = events.iter().map(|event| header(event, "x-change-cluster-time")).collect();
    assert!(times[0] == times[1] && times[1] == times[2], "{times:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_database_goes_to_topics_by_pattern() {
    let scene = Scene::new().await;
    let source = FeedSource::database(scene.database.name());
    let route = FeedRoute::parse("all.{collection}").unwrap();
    let _feed = scene.feed(FeedOptions { source, route, ..scene.options() }).await;
    scene.orders.insert_one(doc! { "_id": "1" }).await.unwrap();
    scene.database.collection::<Document>("orderItems_eu").insert_one(doc! { "_id": "2" }).await.unwrap();
    assert_eq!(told(&scene.events_on("all.orders", 1).await), pairs(&[("insert", "1")]));
    assert_eq!(told(&scene.events_on("all.orderitems.eu", 1).await), pairs(&[("insert", "2")]));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_collections_that_would_share_a_topic_stop_the_feed() {
    let scene = Scene::new().await;
    let source = FeedSource::database(scene.database.name());
    let route = FeedRoute::parse("all.{collection}").unwrap();
    let feed = scene.feed(FeedOptions { source, route, ..scene.options() }).await;
    for collection in ["order_items", "order-items"] {
        scene.database.collection::<Document>(collection).insert_one(doc! { "_id": "1" }).await.unwrap();
    }
    feed.state(FlowState::Stopped).await;
    let reason = feed.flow.status().error.unwrap().reason;
    assert!(reason.contains("order_items") && reason.contains("all.order.items"), "{reason}");
    assert_eq!(scene.events_on("all.order.items", 1).await.len(), 1, "what came before is published");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_position_moves_while_nothing_happens_in_the_collection() {
    let scene = Scene::new().await;
    let _feed = scene.feed(scene.options()).await;
    let other = scene.database.collection::<Document>("elsewhere");
    let before = scene.position().await.time_ms.unwrap();
    until("the position behind changes of others", async || {
        other.insert_one(doc! {}).await.unwrap();
        (scene.position().await.time_ms.unwrap() > before + 1000).then_some(())
    })
    .await;
    assert!(scene.events_of(TOPIC).await.is_empty());
}
