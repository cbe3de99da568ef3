//! Watching: a reader learns of new bounds without polling.

use super::Harness;
use super::scene::{CheckResult, EventDraft, StoreScene, log, unnamed, woken};
use crate::{Bounds, StoreError};

pub async fn a_watch_wakes_on_an_append(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let orders = log("orders")?;
    scene.append(&orders, EventDraft::unnamed()).await?;
    let mut watch = scene.store.watch(&orders);
    assert_eq!(watch.bounds(), Bounds { start: 0, next: 1 });
    scene.append_all(&orders, unnamed(2)).await?;
    woken(&mut watch).await?;
    assert_eq!(watch.bounds(), Bounds { start: 0, next: 3 });
    Ok(())
}

pub async fn a_watch_wakes_on_a_trim(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let orders = log("orders")?;
    scene.append_all(&orders, unnamed(3)).await?;
    let mut watch = scene.store.watch(&orders);
    assert_eq!(watch.bounds(), Bounds { start: 0, next: 3 });
    scene.store.trim(&orders, 2).await?;
    woken(&mut watch).await?;
    assert_eq!(watch.bounds(), Bounds { start: 2, next: 3 });
    Ok(())
}

pub async fn a_log_can_be_watched_before_it_exists(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let orders = log("orders")?;
    let mut watch = scene.store.watch(&orders);
    assert_eq!(watch.bounds(), Bounds::default());
    assert!(scene.store.logs().await?.is_empty(), "watching creates no log");
    scene.append(&orders, EventDraft::unnamed()).await?;
    woken(&mut watch).await?;
    assert_eq!(watch.bounds(), Bounds { start: 0, next: 1 });
    Ok(())
}

pub async fn a_reader_that_sleeps_until_woken_misses_nothing(harness: &dyn Harness) -> CheckResult {
    const EVENTS: u64 = 300;
    let scene = StoreScene::open(harness).await?;
    let orders = log("orders")?;
    let mut watch = scene.store.watch(&orders);
    let (store, name) = (scene.store.clone(), orders.clone());
    let writer = tokio::spawn(async move {
        for _ in 0..EVENTS {
            let append = EventDraft::unnamed().for_log(&name)?;
            store.commit(crate::Commit::append(append.log, append.event, append.dedupe)).await?;
        }
        Ok::<_, super::Unexpected>(())
    });
    let mut seen = 0;
    while seen < EVENTS {
        let head = watch.bounds().next;
        let batch = scene.store.read(&orders, seen, crate::ReadLimit::default()).await?;
        assert!(batch.next >= head, "told of events that cannot be read yet");
        if batch.next > seen { seen = batch.next } else { woken(&mut watch).await? }
    }
    writer.await??;
    Ok(())
}

pub async fn a_watch_ends_when_the_store_closes(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let orders = log("orders")?;
    let mut watch = scene.store.watch(&orders);
    watch.bounds();
    scene.store.close().await?;
    let ended = tokio::time::timeout(std::time::Duration::from_secs(20), watch.changed()).await?;
    assert!(matches!(ended, Err(StoreError::Closed)), "{ended:?}");
    Ok(())
}
