//! Trimming: the start moves at once and for good, the next offset stays.

use super::Harness;
use super::scene::{CheckResult, EventDraft, StoreScene, log, unnamed};
use crate::{Bounds, ReadLimit};

pub async fn a_trim_moves_the_start_at_once_and_for_good(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let orders = log("orders")?;
    scene.append_all(&orders, unnamed(10)).await?;
    let trimmed = Bounds { start: 4, next: 10 };
    assert_eq!(scene.store.trim(&orders, 4).await?, trimmed);
    assert_eq!(scene.store.bounds(&orders).await?, trimmed);
    let scene = scene.reopen().await?;
    assert_eq!(scene.store.bounds(&orders).await?, trimmed);
    assert_eq!(scene.offsets(&orders).await?, [4, 5, 6, 7, 8, 9]);
    Ok(())
}

pub async fn a_read_below_the_start_begins_at_the_start(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let orders = log("orders")?;
    scene.append_all(&orders, unnamed(10)).await?;
    scene.store.trim(&orders, 7).await?;
    let batch = scene.store.read(&orders, 2, ReadLimit { events: 2, bytes: usize::MAX }).await?;
    assert_eq!(batch.records.iter().map(|record| record.offset()).collect::<Vec<_>>(), [7, 8]);
    assert_eq!((batch.next, batch.bounds), (9, Bounds { start: 7, next: 10 }));
    Ok(())
}

pub async fn trimming_everything_keeps_the_next_offset(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let orders = log("orders")?;
    scene.append_all(&orders, unnamed(5)).await?;
    let emptied = Bounds { start: 5, next: 5 };
    assert_eq!(scene.store.trim(&orders, 5).await?, emptied);
    let scene = scene.reopen().await?;
    assert_eq!(scene.store.bounds(&orders).await?, emptied);
    assert!(scene.offsets(&orders).await?.is_empty());
    assert_eq!(scene.append(&orders, EventDraft::unnamed()).await?.offset, 5);
    assert_eq!(scene.offsets(&orders).await?, [5]);
    Ok(())
}

pub async fn a_trim_stops_at_the_end_and_never_goes_back(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let orders = log("orders")?;
    scene.append_all(&orders, unnamed(5)).await?;
    scene.store.trim(&orders, 3).await?;
    assert_eq!(scene.store.trim(&orders, 1).await?, Bounds { start: 3, next: 5 });
    assert_eq!(scene.store.trim(&orders, 99).await?, Bounds { start: 5, next: 5 });
    assert_eq!(scene.append(&orders, EventDraft::unnamed()).await?.offset, 5);
    Ok(())
}
