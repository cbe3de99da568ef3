//! The same id twice: stored once within the window, or as long as the first event is retained if asked.

use std::time::Duration;

use prom_types::limits::DEDUPE_WINDOW_MS;

use super::Harness;
use super::scene::{CheckResult, EventDraft, StoreScene, Unexpected, log, partition};
use crate::{Bounds, Commit, CompactPlan, Dedupe, LogName, Record, Stored};

const WINDOW: Duration = Duration::from_millis(DEDUPE_WINDOW_MS.unsigned_abs());
const MOMENT: Duration = Duration::from_secs(1);

pub async fn an_id_repeated_within_the_window_gets_the_first_receipt(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let orders = log("orders")?;
    scene.append(&orders, EventDraft::unnamed()).await?;
    let first = scene.append(&orders, EventDraft::named("a")).await?;
    scene.clock().advance(WINDOW - MOMENT);
    let again = scene.append(&orders, EventDraft::named("a")).await?;
    assert!(again.duplicate);
    assert_eq!((again.offset, again.stored_ts), (first.offset, first.stored_ts));
    let next = scene.append(&orders, EventDraft::unnamed()).await?;
    assert_eq!(next.offset, 2, "a duplicate uses up no offset");
    Ok(())
}

pub async fn an_id_is_known_across_a_restart(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let orders = log("orders")?;
    let first = scene.append(&orders, EventDraft::named("a")).await?;
    let scene = scene.reopen().await?;
    scene.clock().advance(WINDOW - MOMENT);
    let again = scene.append(&orders, EventDraft::named("a")).await?;
    assert!(again.duplicate);
    assert_eq!((again.offset, again.stored_ts), (first.offset, first.stored_ts));
    assert_eq!(scene.offsets(&orders).await?, [0]);
    Ok(())
}

pub async fn an_id_repeated_inside_one_batch_is_stored_once(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let orders = log("orders")?;
    let batch = [EventDraft::named("a"), EventDraft::named("b"), EventDraft::named("a"), EventDraft::named("c")];
    let stored = scene.append_all(&orders, batch).await?;
    let offsets: Vec<_> = stored.iter().map(|stored| (stored.offset, stored.duplicate)).collect();
    assert_eq!(offsets, [(0, false), (1, false), (0, true), (2, false)]);
    assert_eq!(stored[2].stored_ts, stored[0].stored_ts);
    assert_eq!(scene.offsets(&orders).await?, [0, 1, 2]);
    Ok(())
}

pub async fn an_id_that_the_hub_made_is_known_when_it_is_repeated(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let orders = log("orders")?;
    scene.append(&orders, EventDraft::named("a").dedupe(Dedupe::Fresh)).await?;
    assert!(scene.append(&orders, EventDraft::named("a")).await?.duplicate);
    Ok(())
}

pub async fn the_same_id_in_another_log_is_another_event(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    for name in [log("orders")?, partition("orders", 1)?, log("bills")?] {
        let stored = scene.append(&name, EventDraft::named("a")).await?;
        assert_eq!((stored.offset, stored.duplicate), (0, false));
    }
    for name in [log("orders")?, log("bills")?] {
        let stored = scene.append(&name, EventDraft::named("b").dedupe(Dedupe::Exact)).await?;
        assert_eq!((stored.offset, stored.duplicate), (1, false));
    }
    Ok(())
}

pub async fn an_exact_id_is_known_in_every_partition_of_its_topic(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let partitions = [partition("orders", 0)?, partition("orders", 1)?, partition("orders", 2)?];
    let exact = |name: &str| EventDraft::named(name).dedupe(Dedupe::Exact);
    scene.append(&partitions[1], EventDraft::unnamed()).await?;
    let first = scene.append(&partitions[1], exact("a")).await?;
    let repeated = Stored { duplicate: true, elsewhere: Some(1), ..first };
    for other in [&partitions[0], &partitions[2]] {
        assert_eq!(scene.append(other, exact("a")).await?, repeated);
    }
    let mut commit = Commit::default();
    commit.appends.push(exact("b").for_log(&partitions[0])?);
    commit.appends.push(exact("b").for_log(&partitions[2])?);
    let stored = scene.commit(commit).await?.stored;
    let places: Vec<_> = stored.iter().map(|stored| (stored.offset, stored.elsewhere)).collect();
    assert_eq!(places, [(0, None), (0, Some(0))], "stored once within one commit");

    scene.clock().advance(100 * WINDOW);
    let scene = scene.reopen().await?;
    assert_eq!(scene.append(&partitions[0], exact("a")).await?, repeated);
    assert!(scene.offsets(&partitions[2]).await?.is_empty());
    scene.append(&partitions[1], EventDraft::unnamed()).await?;
    scene.store.trim(&partitions[1], 2).await?;
    let again = scene.append(&partitions[2], exact("a")).await?;
    assert_eq!((again.offset, again.duplicate), (0, false), "forgotten with its event");
    Ok(())
}

pub async fn after_the_window_an_id_is_stored_again(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let orders = log("orders")?;
    scene.append(&orders, EventDraft::named("a")).await?;
    scene.clock().advance(WINDOW + MOMENT);
    let again = scene.append(&orders, EventDraft::named("a")).await?;
    assert_eq!((again.offset, again.duplicate), (1, false));
    let third = scene.append(&orders, EventDraft::named("a")).await?;
    assert_eq!((third.offset, third.duplicate), (1, true), "the window is that of the newer one");
    Ok(())
}

pub async fn after_the_window_an_id_is_stored_again_across_a_restart(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let orders = log("orders")?;
    scene.append(&orders, EventDraft::named("a")).await?;
    let scene = scene.reopen().await?;
    scene.clock().advance(WINDOW + MOMENT);
    let again = scene.append(&orders, EventDraft::named("a")).await?;
    assert_eq!((again.offset, again.duplicate), (1, false));
    Ok(())
}

pub async fn an_id_is_known_within_the_window_although_retention_removed_its_event(
    harness: &dyn Harness,
) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let orders = log("orders")?;
    let a = EventDraft::named("a").key("k");
    let first = scene.append(&orders, a.clone()).await?;
    scene.store.trim(&orders, 1).await?;
    assert_eq!(repeated(&scene, &orders, &a).await?, first, "trimmed at once");
    let b = EventDraft::named("b").key("k");
    let second = scene.append(&orders, b.clone()).await?;
    scene.seal(&orders).await?;
    let end = scene.store.bounds(&orders).await?.next;
    scene.store.trim(&orders, end).await?;
    assert_eq!(repeated(&scene, &orders, &b).await?, second, "trimmed when much had come after it");
    let scene = scene.reopen().await?;
    scene.clock().advance(WINDOW - MOMENT);
    assert_eq!(repeated(&scene, &orders, &a).await?, first);
    assert_eq!(repeated(&scene, &orders, &b).await?, second);
    assert_eq!(scene.store.bounds(&orders).await?, Bounds { start: end, next: end });
    scene.clock().advance(2 * MOMENT);
    assert!(!scene.append(&orders, b).await?.duplicate, "its window is over");
    Ok(())
}

pub async fn an_id_is_known_within_the_window_although_compaction_removed_its_event(
    harness: &dyn Harness,
) -> CheckResult {
    let scene = StoreScene::open_usual(harness).await?;
    let states = log("states")?;
    scene.turn_compaction_on(&states).await?;
    let (old, new) = (EventDraft::named("old").key("a"), EventDraft::named("new").key("a"));
    let first = scene.append(&states, old.clone()).await?;
    let second = scene.append(&states, new).await?;
    scene.seal(&states).await?;
    // A store may keep what is younger than the window. Then there is nothing to forget.
    scene.store.compact(&states, CompactPlan::everything(WINDOW)).await?;
    assert_eq!(repeated(&scene, &states, &old).await?, first);
    let scene = scene.reopen().await?;
    scene.clock().advance(WINDOW - MOMENT);
    assert_eq!(repeated(&scene, &states, &old).await?, first);
    let latest = scene.store.latest_by_key(&states, &["a"]).await?;
    let latest: Vec<_> = latest.iter().map(|record| record.as_ref().map(Record::offset)).collect();
    assert_eq!(latest, [Some(second.offset)], "a retry of an old value does not bring it back");
    Ok(())
}

/// The receipt of an event that is a duplicate.
async fn repeated(scene: &StoreScene<'_>, log: &LogName, draft: &EventDraft) -> Result<Stored, Unexpected> {
    let again = scene.append(log, draft.clone()).await?;
    assert!(again.duplicate, "stored a second time at offset {}", again.offset);
    Ok(Stored { duplicate: false, ..again })
}

pub async fn an_exact_id_is_known_for_as_long_as_its_event_is_retained(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let orders = log("orders")?;
    let exact = EventDraft::named("a").dedupe(Dedupe::Exact);
    let first = scene.append(&orders, exact.clone()).await?;
    scene.clock().advance(100 * WINDOW);
    scene.append(&orders, EventDraft::unnamed()).await?;
    let scene = scene.reopen().await?;
    let again = scene.append(&orders, exact).await?;
    assert!(again.duplicate);
    assert_eq!((again.offset, again.stored_ts), (first.offset, first.stored_ts));
    Ok(())
}

pub async fn an_exact_id_is_forgotten_with_its_event(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let orders = log("orders")?;
    let exact = |name: &str| EventDraft::named(name).dedupe(Dedupe::Exact);
    scene.append(&orders, exact("a")).await?;
    scene.append(&orders, exact("b")).await?;
    scene.append(&orders, exact("kept")).await?;
    scene.clock().advance(WINDOW + MOMENT);
    scene.store.trim(&orders, 2).await?;
    for (name, offset) in [("a", 3), ("b", 4)] {
        let again = scene.append(&orders, exact(name)).await?;
        assert_eq!((again.offset, again.duplicate), (offset, false));
    }
    assert!(scene.append(&orders, exact("kept")).await?.duplicate);
    Ok(())
}
