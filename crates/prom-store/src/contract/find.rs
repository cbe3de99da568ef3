//! Finding offsets by time, id and remaining bytes.

use super::Harness;
use super::scene::{CheckResult, EventDraft, MINUTE, StoreScene, log, unnamed};
use crate::{Find, Record};

pub async fn an_offset_is_found_by_time(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let orders = log("orders")?;
    let mut times = Vec::new();
    for _ in 0..4 {
        times.push(scene.append_all(&orders, unnamed(2)).await?[0].stored_ts);
        scene.clock().advance(MINUTE);
    }
    let scene = scene.reopen().await?;
    let at = async |stored_ts| scene.store.find(&orders, Find::StoredAt(stored_ts)).await;
    assert_eq!(at(0).await?, Some(0));
    assert_eq!(at(times[0]).await?, Some(0));
    assert_eq!(at(times[0] + 1).await?, Some(2), "the first at or after");
    assert_eq!(at(times[2]).await?, Some(4), "the first of several of the same time");
    assert_eq!(at(times[3] + 1).await?, None);
    Ok(())
}

pub async fn an_offset_is_found_by_id(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let orders = log("orders")?;
    for name in ["a", "b", "c"] {
        scene.append(&orders, EventDraft::named(name)).await?;
        scene.clock().advance(20 * MINUTE);
    }
    let scene = scene.reopen().await?;
    let with = async |name| scene.store.find(&orders, Find::Id(EventDraft::named(name).id())).await;
    assert_eq!(with("a").await?, Some(0));
    assert_eq!(with("c").await?, Some(2));
    assert_eq!(with("never").await?, None);
    assert_eq!(scene.store.find(&log("bills")?, Find::Id(EventDraft::named("a").id())).await?, None);
    Ok(())
}

pub async fn an_offset_is_found_by_the_bytes_that_remain_after_it(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let orders = log("orders")?;
    scene.append_all(&orders, unnamed(50)).await?;
    let records = scene.read_all(&orders).await?;
    let total: u64 = records.iter().map(|record| record.len() as u64).sum();

    assert_eq!(scene.store.find(&orders, Find::RemainingBytes(u64::MAX)).await?, Some(0));
    let mut last_found = u64::MAX;
    for most in (0..=total).step_by(100) {
        // A store may answer coarsely, but never leaves more than was asked for.
        if let Some(from) = scene.store.find(&orders, Find::RemainingBytes(most)).await? {
            let kept = records.iter().filter(|record| record.offset() >= from);
            assert!(kept.map(|record| record.len() as u64).sum::<u64>() <= most);
            assert!(from <= last_found, "more bytes allowed, yet fewer events found");
            last_found = from;
        }
    }
    Ok(())
}

pub async fn trimmed_events_are_not_found(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let orders = log("orders")?;
    scene.append_all(&orders, [EventDraft::named("a"), EventDraft::named("b"), EventDraft::named("c")]).await?;
    scene.store.trim(&orders, 2).await?;
    assert_eq!(scene.store.find(&orders, Find::Id(EventDraft::named("b").id())).await?, None);
    assert_eq!(scene.store.find(&orders, Find::Id(EventDraft::named("c").id())).await?, Some(2));
    assert_eq!(scene.store.find(&orders, Find::StoredAt(0)).await?, Some(2));
    assert_eq!(scene.store.find(&orders, Find::RemainingBytes(u64::MAX)).await?, Some(2));
    assert_eq!(scene.read_all(&orders).await?.iter().map(Record::offset).next(), Some(2));
    Ok(())
}
