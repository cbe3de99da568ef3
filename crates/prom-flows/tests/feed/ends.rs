//! Where a stream ends: dropped, renamed, lost.

use mongodb::bson::doc;
use prom_flows::feed::{FeedOptions, OnLostToken, StreamPlace};
use prom_jobs::{FlowAction, FlowSeek, FlowState};

use crate::scene::{Scene, header, payload, told, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_collection_is_told_and_the_next_one_of_its_name_is_followed() {
    let scene = Scene::new().await;
    let _feed = scene.feed(scene.options()).await;
    scene.orders.insert_one(doc! { "_id": "1" }).await.unwrap();
    scene.orders.drop().await.unwrap();
    let events = scene.events(2).await;
    assert_eq!(header(&events[1], "x-gap"), Some("dropped"));
    assert_eq!((events[1].key.as_deref(), header(&events[1], "x-mongo-op")), (None, Some("gap")));
    assert_eq!(payload(&events[1])["gap"]["details"]["collection"], "orders");
    scene.orders.insert_one(doc! { "_id": "2" }).await.unwrap();
    assert_eq!(scene.events(3).await[2].key.as_deref(), Some("2"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renamed_collection_is_told_and_the_next_one_of_its_name_is_followed() {
    let scene = Scene::new().await;
    let feed = scene.feed(scene.options()).await;
    scene.orders.insert_one(doc! { "_id": "1" }).await.unwrap();
    scene.events(1).await;
    feed.end().await;
    let of = |name: &str| format!("{}.{name}", scene.database.name());
    let rename = doc! { "renameCollection": of("orders"), "to": of("archive") };
    scene.database.client().database("admin").run_command(rename).await.unwrap();
    scene.orders.insert_one(doc! { "_id": "2" }).await.unwrap();
    let _feed = scene.feed(scene.options()).await;
    let events = scene.events(3).await;
    assert_eq!(header(&events[1], "x-gap"), Some("renamed"));
    assert_eq!(payload(&events[1])["gap"]["details"]["to"], "archive");
    assert_eq!(events[2].key.as_deref(), Some("2"));
}

/// A token of a real change, but of 2020: the oplog does not reach back so far.
async fn forge_old_token(scene: &Scene) -> String {
    let at = until("a token", async || match scene.position().await.at {
        StreamPlace::After(token) => Some(token),
        StreamPlace::From(_) => None,
    })
    .await;
    format!("825E0BE100{}", &at[10..])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_token_stops_the_feed_until_an_operator_moves_it() {
    let scene = Scene::new().await;
    let feed = scene.feed(scene.options()).await;
    scene.orders.insert_one(doc! { "_id": "1" }).await.unwrap();
    scene.events(1).await;
    let token = forge_old_token(&scene).await;
    feed.flow.act(FlowAction::Seek(FlowSeek::Token(token))).await.unwrap();
    feed.state(FlowState::Stopped).await;
    let error = feed.flow.status().error.unwrap();
    assert!(error.reason.contains("no longer has the feed's position"), "{}", error.reason);
    assert!(error.reason.contains("prom feeds seek orders"), "{}", error.reason);
    assert_eq!(error.retry_at, None);
    feed.end().await;

    // It stays stopped in another hub, and begins nowhere by itself.
    scene.orders.insert_one(doc! { "_id": "2" }).await.unwrap();
    let feed = scene.feed(scene.options()).await;
    feed.state(FlowState::Stopped).await;
    let now = scene.bus.clock().now_ms();
    feed.flow.act(FlowAction::Seek(FlowSeek::Time(now - 60_000))).await.unwrap();
    feed.state(FlowState::Running).await;
    let all = until("the change that was left out", async || {
        let events = scene.events_of(crate::scene::TOPIC).await;
        events.iter().any(|event| event.key.as_deref() == Some("2")).then_some(events)
    })
    .await;
    let first = all.iter().filter(|event| event.key.as_deref() == Some("1")).count();
    assert_eq!(first, 1, "what was published does not come twice: {:?}", told(&all));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_token_has_everything_copied_behind_a_gap_if_so_configured() {
    let scene = Scene::new().await;
    let options = FeedOptions { on_lost_token: OnLostToken::Resnapshot, ..scene.options() };
    let feed = scene.feed(options).await;
    scene.orders.insert_many((0..3).map(|n| doc! { "_id": n.to_string() })).await.unwrap();
    scene.events(3).await;
    let token = forge_old_token(&scene).await;
    feed.flow.act(FlowAction::Seek(FlowSeek::Token(token))).await.unwrap();
    let events = until("the end of the copy", async || {
        let events = scene.events_of(crate::scene::TOPIC).await;
        events.iter().any(|event| header(event, "x-gap") == Some("copied")).then_some(events)
    })
    .await;
    let behind: Vec<_> = events.iter().skip_while(|event| header(event, "x-gap") != Some("lost")).collect();
    assert_eq!(behind.len(), 5, "{:?}", told(&events));
    assert!(behind[1..4].iter().all(|event| header(event, "x-mongo-op") == Some("snapshot")));
    assert_eq!(payload(behind[4])["gap"]["details"]["documents"], "3");
    scene.orders.insert_one(doc! { "_id": "next" }).await.unwrap();
    assert_eq!(scene.events(events.len() + 1).await.last().unwrap().key.as_deref(), Some("next"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_feed_whose_server_is_away_says_so_and_goes_on_when_it_is_back() {
    let mut set = prom_testkit::mongo::ReplicaSet::start(1).await.unwrap();
    let scene = Scene::at(set.url("shop")).await;
    let feed = scene.feed(scene.options()).await;
    scene.orders.insert_one(doc! { "_id": "1" }).await.unwrap();
    scene.events(1).await;
    set.members[0].kill();
    feed.state(FlowState::Retrying).await;
    let error = feed.flow.status().error.unwrap();
    assert!(error.retry_at.is_some() && error.reason.contains("MongoDB"), "{error:?}");
    set.members[0].restart().unwrap();
    until("the server", async || scene.orders.insert_one(doc! { "_id": "2" }).await.ok()).await;
    let keys: Vec<_> = scene.events(2).await.into_iter().map(|event| event.key.unwrap()).collect();
    assert_eq!(keys, ["1", "2"]);
    feed.state(FlowState::Running).await;
}
