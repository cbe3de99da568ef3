//! Moving a feed, from any hub.

use mongodb::bson::doc;
use prom_flows::feed::{FeedOptions, FeedSource, StreamPlace};
use prom_jobs::{FlowAction, FlowError, FlowSeek, FlowState};

use crate::scene::{Scene, header, told, until};

#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_hubs_reads_and_either_can_move_the_feed() {
    let scene = Scene::new().await;
    let reads = scene.feed(scene.options()).await;
    reads.state(FlowState::Running).await;
    let other = scene.feed(scene.options()).await;
    other.state(FlowState::Elsewhere).await;
    scene.orders.insert_one(doc! { "_id": "1" }).await.unwrap();
    scene.events(1).await;
    let behind_one = match scene.position().await.at {
        StreamPlace::After(token) => token,
        StreamPlace::From(time) => panic!("{time:?}"),
    };
    other.flow.act(FlowAction::Seek(FlowSeek::Token(behind_one))).await.unwrap();
    let events = scene.events(2).await;
    assert_eq!(header(&events[1], "x-gap"), Some("moved"), "{:?}", told(&events));
    reads.end().await;
    scene.orders.insert_one(doc! { "_id": "2" }).await.unwrap();
    let events = scene.events(3).await;
    assert_eq!(events[2].key.as_deref(), Some("2"), "the other hub took over");
    assert_eq!(events.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_makes_no_sense_is_refused_and_changes_nothing() {
    let scene = Scene::new().await;
    let feed = scene.feed(scene.options()).await;
    let before = scene.position().await;
    let tomorrow = scene.bus.clock().now_ms() + 86_400_000;
    for seek in [FlowSeek::Token("yesterday".to_owned()), FlowSeek::Time(tomorrow), FlowSeek::Time(-1)] {
        let refused = feed.flow.act(FlowAction::Seek(seek)).await;
        assert!(matches!(refused, Err(FlowError::Unfit { .. })), "{refused:?}");
    }
    assert!(matches!(feed.flow.act(FlowAction::Rebuild).await, Err(FlowError::Unfit { .. })));
    assert_eq!(scene.position().await.source, before.source);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_feed_that_reads_another_collection_than_before_stops_instead_of_using_the_position() {
    let scene = Scene::new().await;
    scene.feed(scene.options()).await.end().await;
    let source = FeedSource::collection(scene.database.name(), "invoices");
    let feed = scene.feed(FeedOptions { source, ..scene.options() }).await;
    feed.state(FlowState::Stopped).await;
    let reason = feed.flow.status().error.unwrap().reason;
    assert!(reason.contains("orders") && reason.contains("invoices"), "{reason}");
    let now = scene.bus.clock().now_ms();
    feed.flow.act(FlowAction::Seek(FlowSeek::Time(now))).await.unwrap();
    feed.state(FlowState::Running).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_of_a_feed_that_runs_loses_nothing() {
    let scene = Scene::new().await;
    let feed = scene.feed(scene.options()).await;
    for n in 0..20 {
        scene.orders.insert_one(doc! { "_id": n.to_string() }).await.unwrap();
        feed.flow.act(FlowAction::Restart).await.unwrap();
    }
    let keys: Vec<_> = scene.events(20).await.into_iter().filter_map(|event| event.key).collect();
    assert_eq!(keys, (0..20).map(|n| n.to_string()).collect::<Vec<_>>());
    until("the state", async || (feed.flow.status().state == FlowState::Running).then_some(())).await;
}
