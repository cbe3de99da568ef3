//! Ending a log: everything in it goes at once, and what comes later can never be taken for it.

use super::Harness;
use super::scene::{CheckResult, EventDraft, StoreScene, cursor, log, partition, unnamed, woken};
use crate::{
    Bounds, Commit, CommitError, CursorChange, Dedupe, DocumentWrite, Expect, Find, LogName, LogOptions, StoreError,
};

fn end(log: &LogName) -> Commit {
    Commit { ends: vec![log.clone()], ..Commit::default() }
}

fn begin(log: &LogName) -> Commit {
    Commit { logs: vec![(log.clone(), LogOptions::default())], ..Commit::default() }
}

pub async fn an_ended_log_is_empty_and_is_not_listed(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let (orders, other) = (log("orders")?, log("orders.other")?);
    let first = EventDraft::named("first");
    scene.append(&orders, first.clone()).await?;
    scene.append_all(&orders, unnamed(9)).await?;
    scene.append_all(&other, unnamed(3)).await?;
    scene.commit(end(&orders)).await?;
    let mut scene = scene;
    for _ in 0..2 {
        let bounds = scene.store.bounds(&orders).await?;
        assert!(bounds.start == bounds.next && bounds.next >= 10, "{bounds:?}");
        assert!(scene.offsets(&orders).await?.is_empty());
        assert_eq!(scene.store.find(&orders, Find::Id(first.id())).await?, None);
        let listed = scene.store.logs().await?;
        assert_eq!(listed.iter().map(|info| &info.log).collect::<Vec<_>>(), [&other]);
        assert_eq!(scene.offsets(&other).await?, [0, 1, 2], "others are left alone");
        scene = scene.reopen().await?;
    }
    Ok(())
}

pub async fn an_ended_log_takes_no_event_until_it_begins_anew(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let (orders, other) = (log("orders")?, log("orders.other")?);
    scene.append_all(&orders, unnamed(2)).await?;
    scene.commit(end(&orders)).await?;
    let scene = scene.reopen().await?;
    let mut late = Commit::default();
    late.appends.push(EventDraft::unnamed().for_log(&other)?);
    late.appends.push(EventDraft::unnamed().for_log(&orders)?);
    assert_eq!(scene.commit(late).await, Err(CommitError::Ended { log: orders.clone() }));
    assert!(scene.offsets(&other).await?.is_empty(), "refused as a whole");
    let mut anew = begin(&orders);
    anew.appends.push(EventDraft::unnamed().for_log(&orders)?);
    let offset = scene.commit(anew).await?.stored[0].offset;
    scene.append(&orders, EventDraft::unnamed()).await?;
    assert_eq!(scene.offsets(&orders).await?, [offset, offset + 1]);
    Ok(())
}

pub async fn a_log_that_begins_anew_uses_no_offset_twice(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let orders = log("orders")?;
    scene.append_all(&orders, unnamed(5)).await?;
    scene.commit(end(&orders)).await?;
    let scene = scene.reopen().await?;
    scene.commit(begin(&orders)).await?;
    let scene = scene.reopen().await?;
    let Bounds { start, next } = scene.store.bounds(&orders).await?;
    assert!(start == next && next >= 5, "{start} to {next}");
    assert_eq!(scene.append(&orders, EventDraft::unnamed()).await?.offset, next);
    let scene = scene.reopen().await?;
    assert_eq!(scene.offsets(&orders).await?, [next]);
    assert_eq!(scene.store.logs().await?.len(), 1);
    Ok(())
}

pub async fn ids_of_an_ended_log_are_new_again(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let (orders, beside) = (log("orders")?, partition("orders", 1)?);
    let exact = EventDraft::named("exact").dedupe(Dedupe::Exact);
    let window = EventDraft::named("window");
    scene.append_all(&orders, [exact.clone(), window.clone()]).await?;
    scene.append_all(&beside, unnamed(1)).await?;
    scene.commit(Commit { ends: vec![orders.clone(), beside.clone()], ..Commit::default() }).await?;
    let begun = Commit {
        logs: vec![(orders.clone(), LogOptions::default()), (beside.clone(), LogOptions::default())],
        ..Commit::default()
    };
    scene.commit(begun).await?;
    let stored = scene.append(&beside, exact.clone()).await?;
    assert!(!stored.duplicate, "its event is gone with the topic");
    let stored = scene.append(&orders, window.clone()).await?;
    assert!(!stored.duplicate);
    let scene = scene.reopen().await?;
    let again = scene.append(&orders, window).await?;
    assert!(again.duplicate && again.offset == stored.offset, "known anew: {again:?}");
    assert!(scene.append(&orders, exact).await?.duplicate);
    Ok(())
}

pub async fn the_latest_events_of_an_ended_log_are_gone(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let state = log("state")?;
    scene.turn_compaction_on(&state).await?;
    scene.append_all(&state, ["a", "b"].map(|key| EventDraft::unnamed().key(key))).await?;
    scene.commit(end(&state)).await?;
    scene.turn_compaction_on(&state).await?;
    let offset = scene.append(&state, EventDraft::unnamed().key("b")).await?.offset;
    let mut scene = scene;
    for _ in 0..2 {
        let latest = scene.store.latest_by_key(&state, &["a", "b"]).await?;
        assert!(latest[0].is_none(), "{:?}", latest[0]);
        assert_eq!(latest[1].as_ref().map(|record| record.offset()), Some(offset));
        scene = scene.reopen().await?;
    }
    Ok(())
}

pub async fn a_log_ends_together_with_its_cursors_and_documents_or_not_at_all(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let orders = log("orders")?;
    let billing = cursor(&orders, "billing")?;
    scene.append_all(&orders, unnamed(4)).await?;
    scene.commit(Commit::document(DocumentWrite::put("topics", "orders", "{}"))).await?;
    let taken = scene.store.take_cursor(&billing, 0).await?;
    let whole = |revision| Commit {
        ends: vec![orders.clone()],
        cursors: vec![(billing.clone(), CursorChange::Delete)],
        documents: vec![DocumentWrite::delete("topics", "orders").expecting(Expect::Revision(revision))],
        ..Commit::default()
    };
    assert!(matches!(scene.commit(whole(7)).await, Err(CommitError::Conflict { .. })));
    assert_eq!(scene.offsets(&orders).await?, [0, 1, 2, 3]);
    scene.append(&orders, EventDraft::unnamed()).await?;
    scene.commit(whole(1)).await?;
    let scene = scene.reopen().await?;
    assert!(scene.offsets(&orders).await?.is_empty());
    assert_eq!(scene.store.cursor(&billing).await?, None);
    assert_eq!(scene.store.document("topics", "orders").await?, None);
    let late = CursorChange::Settle { epoch: taken.epoch, settled: vec![0..1, 2..3], failures: Vec::new() };
    let late = scene.commit(Commit::cursor(billing, late)).await;
    assert!(matches!(late, Err(CommitError::Fenced { .. })), "{late:?}");
    Ok(())
}

pub async fn a_new_cursor_begins_where_the_log_began_anew(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let orders = log("orders")?;
    scene.append_all(&orders, unnamed(4)).await?;
    scene.commit(end(&orders)).await?;
    scene.commit(begin(&orders)).await?;
    let begun = scene.append(&orders, EventDraft::unnamed()).await?.offset;
    let scene = scene.reopen().await?;
    assert_eq!(scene.store.take_cursor(&cursor(&orders, "later")?, 0).await?.floor, begun);
    assert_eq!(scene.store.take_cursor(&cursor(&orders, "at-the-end")?, begun + 1).await?.floor, begun + 1);
    Ok(())
}

pub async fn a_watch_wakes_on_the_end_of_its_log_and_goes_on_after_it(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let orders = log("orders")?;
    scene.append_all(&orders, unnamed(3)).await?;
    scene.store.bounds(&orders).await?;
    let mut watch = scene.store.watch(&orders);
    watch.bounds();
    scene.commit(end(&orders)).await?;
    while watch.bounds().start < 3 {
        woken(&mut watch).await?;
    }
    scene.commit(begin(&orders)).await?;
    let offset = scene.append(&orders, EventDraft::unnamed()).await?.offset;
    while watch.bounds().next <= offset {
        woken(&mut watch).await?;
    }
    Ok(())
}

pub async fn a_log_ends_and_begins_anew_again_and_again(harness: &dyn Harness) -> CheckResult {
    let mut scene = StoreScene::open(harness).await?;
    let orders = log("orders")?;
    let mut last = None;
    for round in 0..4 {
        scene.commit(begin(&orders)).await?;
        for stored in scene.append_all(&orders, unnamed(3)).await? {
            assert!(last.is_none_or(|last| stored.offset > last), "{stored:?} after {last:?}");
            last = Some(stored.offset);
        }
        assert_eq!(scene.offsets(&orders).await?.len(), 3);
        scene.commit(end(&orders)).await?;
        // Ending what has ended changes nothing.
        scene.commit(end(&orders)).await?;
        if round % 2 == 0 {
            scene = scene.reopen().await?;
        }
        let refused = scene.store.latest_by_key(&orders, &["a"]).await;
        assert!(matches!(refused, Err(StoreError::NotCompacted { .. })), "{refused:?}");
    }
    Ok(())
}
