//! A full disk.

use prom_store::{Cursors, Store};
use prom_testkit::FaultScope;

use super::scene::{
    FaultScene, assert_holds, cursor, publish_all, publish_until_refused, publish_until_taken, read_all, settle,
};

#[tokio::test]
async fn without_room_for_segments_publishes_are_refused_and_the_rest_works() {
    keeps_working_when_full(FaultScope::Segments).await;
}

#[tokio::test]
async fn without_room_for_the_journal_nothing_acknowledged_is_lost() {
    keeps_working_when_full(FaultScope::Journal).await;
}

#[tokio::test]
async fn without_any_room_nothing_acknowledged_is_lost() {
    keeps_working_when_full(FaultScope::Everywhere).await;
}

async fn keeps_working_when_full(place: FaultScope) {
    let scene = FaultScene::new();
    let store = scene.open().await;
    store.take_cursor(&cursor(), 0).await.unwrap();
    publish_all(&store, 0..50).await;
    scene.faults.fill_up(place, 5_000);
    let mut numbers: Vec<u64> = (0..50).collect();
    // The journal alone reuses its files as long as segments take the events.
    if place != FaultScope::Journal {
        let (taken, refused) = publish_until_refused(&store, 50).await;
        assert!(refused.to_string().contains("os error 28"), "the reason is given: {refused}");
        numbers.extend(taken);
    } else {
        publish_some(&store, &mut numbers).await;
    }
    assert_holds(&read_all(&store).await, &numbers);
    for offset in 0..20 {
        settle(&store, offset).await.expect("settlements still work");
    }

    scene.faults.heal();
    publish_until_taken(&store, 1_000_000).await;
    numbers.push(1_000_000);
    assert_holds(&read_all(&store).await, &numbers);
    store.close().await.unwrap();
    drop(store);
    let store = scene.open().await;
    let found = read_all(&store).await;
    assert_holds(&found, &numbers);
    assert_eq!(found.offsets, (0..found.offsets.len() as u64).collect::<Vec<_>>(), "no holes");
    assert_eq!(store.cursor(&cursor()).await.unwrap().unwrap().floor, 20);
}

/// Many more than the journal's files hold; refused ones are not counted.
async fn publish_some(store: &prom_store_embedded::EmbeddedStore, numbers: &mut Vec<u64>) {
    for number in 50..1_050 {
        if super::scene::publish(store, number).await.is_ok() {
            numbers.push(number);
        }
    }
}
