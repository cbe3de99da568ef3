//! A failing fsync.

use prom_store::{CommitError, Cursors, Outcome, Store};
use prom_testkit::{FailsOn, FaultScope};

use super::scene::{FaultScene, assert_holds, cursor, id, publish, publish_all, publish_until_taken, read_all, settle};

#[tokio::test]
async fn one_failed_sync_fails_its_publish_alone_and_is_never_retried_blindly() {
    let scene = FaultScene::new();
    let store = scene.open().await;
    store.take_cursor(&cursor(), 0).await.unwrap();
    publish_all(&store, 0..10).await;
    scene.faults.fail_syncs(FaultScope::Journal, FailsOn::Nth(1));
    let refused = publish(&store, 10).await.unwrap_err();
    let CommitError::Failed { reason, outcome } = &refused else {
        panic!("{refused}");
    };
    assert!(reason.contains("os error 5"), "the reason is given: {reason}");
    assert_eq!(read_all(&store).await.ids.len(), 10, "reads still work");
    settle(&store, 0).await.expect("settlements still work");
    let next = publish_until_taken(&store, 11).await;
    assert_eq!(next, 10, "the failed one left no hole");
    store.close().await.unwrap();
    drop(store);

    let store = scene.open().await;
    let found = read_all(&store).await;
    let kept: Vec<u64> = (0..10).chain([11]).collect();
    assert_holds(&found, &kept);
    if *outcome == Outcome::NotStored {
        assert!(!found.ids.contains(&id(10)), "reported as not stored, yet it is there");
    }
    assert!(store.cursor(&cursor()).await.unwrap().unwrap().is_settled(0));
}

#[tokio::test]
async fn while_every_sync_fails_publishes_fail_with_the_reason_and_reads_work() {
    let scene = FaultScene::new();
    let store = scene.open().await;
    publish_all(&store, 0..200).await;
    scene.faults.fail_syncs(FaultScope::Everywhere, FailsOn::Every);
    for number in 200..205 {
        let refused = publish(&store, number).await.unwrap_err();
        assert!(refused.to_string().contains("os error 5"), "{refused}");
        assert_eq!(read_all(&store).await.ids.len(), 200);
    }
    drop(store);
    scene.faults.heal();

    let store = scene.open().await;
    let numbers: Vec<u64> = (0..200).collect();
    assert_holds(&read_all(&store).await, &numbers);
    publish(&store, 300).await.expect("it works after reopening");
}

#[tokio::test]
async fn a_failed_sync_of_a_segment_loses_nothing() {
    let scene = FaultScene::new();
    let store = scene.open().await;
    store.take_cursor(&cursor(), 0).await.unwrap();
    publish_all(&store, 0..20).await;
    scene.faults.fail_syncs(FaultScope::Segments, FailsOn::Every);
    let (taken, refused) = super::scene::publish_until_refused(&store, 20).await;
    assert!(refused.to_string().contains("os error 5"), "{refused}");
    let numbers: Vec<u64> = (0..20).chain(taken).collect();
    assert_holds(&read_all(&store).await, &numbers);
    settle(&store, 3).await.expect("settlements still work");
    drop(store);
    scene.faults.heal();

    let store = scene.open().await;
    assert_holds(&read_all(&store).await, &numbers);
    assert!(store.cursor(&cursor()).await.unwrap().unwrap().is_settled(3));
    publish(&store, 100_000).await.expect("it works after reopening");
}
