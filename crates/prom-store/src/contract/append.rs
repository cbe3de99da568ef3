//! Appending: offsets, order, atomicity, time.

use std::time::Duration;

use prom_types::{EventId, Json, NewEvent, limits};

use super::Harness;
use super::scene::{CheckResult, EventDraft, MINUTE, StoreScene, cursor, log, partition, unnamed};
use crate::{
    Append, Bounds, Clock, Commit, CommitError, CursorChange, CursorState, Dedupe, DocumentWrite, EncodedEvent, Expect,
};

pub async fn appended_events_get_offsets_0_1_2(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let orders = log("orders")?;
    for expected in 0..3 {
        let stored = scene.append(&orders, EventDraft::unnamed()).await?;
        assert_eq!((stored.offset, stored.duplicate), (expected, false));
        assert_eq!(stored.stored_ts, scene.clock().now_ms());
    }
    let scene = scene.reopen().await?;
    assert_eq!(scene.append(&orders, EventDraft::unnamed()).await?.offset, 3);
    assert_eq!(scene.offsets(&orders).await?, [0, 1, 2, 3]);
    Ok(())
}

pub async fn each_log_has_its_own_offsets(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    for name in [log("orders")?, partition("orders", 1)?, log("orders.v2")?] {
        assert_eq!(scene.append(&name, EventDraft::named("a")).await?.offset, 0);
        assert_eq!(scene.append(&name, EventDraft::named("b")).await?.offset, 1);
    }
    Ok(())
}

pub async fn events_come_back_as_they_were_published(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let orders = partition("orders", 3)?;
    let mut event = NewEvent::new(orders.topic.clone(), Json::parse(r#"{"total": 1.50, "text": "ü\n\"😀\""}"#)?);
    event.key = Some("kunde \"ä\" 😀".to_owned());
    event.headers.insert("x-origin", "shop")?;
    event.tags = vec!["first".to_owned(), "second".to_owned()];
    event.caused_by = vec![EventId::derived("cause")];
    event.sid = Some("boot-1".to_owned());
    let id = EventId::derived("whole");
    let encoded = EncodedEvent::encode(&event, id, -5)?;
    scene.commit(Commit::append(orders.clone(), encoded, Dedupe::Window)).await?;

    let scene = scene.reopen().await?;
    let records = scene.read_all(&orders).await?;
    let [record] = records.as_slice() else {
        return Err(format!("expected one event, got {records:?}").into());
    };
    let read = record.to_event(&orders)?;
    assert_eq!((read.id, read.ts, read.offset, read.partition), (id, -5, 0, 3));
    assert_eq!((read.key, read.sid), (event.key, event.sid));
    assert_eq!((read.headers, read.tags, read.caused_by), (event.headers, event.tags, event.caused_by));
    assert_eq!(read.payload, event.payload);
    Ok(())
}

pub async fn the_largest_event_is_stored_and_read_back(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let orders = log("orders")?;
    let payload = Json::from_value(&"x".repeat(limits::PAYLOAD_BYTES - 2))?;
    scene.append(&orders, EventDraft::named("small")).await?;
    scene.append(&orders, EventDraft::named("large").payload(payload.clone())).await?;
    scene.append(&orders, EventDraft::named("small again")).await?;
    let scene = scene.reopen().await?;
    let records = scene.read_all(&orders).await?;
    assert_eq!(records.len(), 3);
    assert!(records[1].payload() == payload, "the large payload came back changed");
    Ok(())
}

pub async fn the_largest_batch_is_stored_whole(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let orders = log("orders")?;
    let stored = scene.append_all(&orders, unnamed(limits::BATCH_EVENTS)).await?;
    assert!(stored.iter().map(|stored| stored.offset).eq(0..limits::BATCH_EVENTS as u64));
    let scene = scene.reopen().await?;
    assert!(scene.offsets(&orders).await?.into_iter().eq(0..limits::BATCH_EVENTS as u64));
    Ok(())
}

pub async fn a_batch_over_several_logs_is_stored_whole(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let (orders, bills) = (log("orders")?, log("bills")?);
    let mut commit = Commit::default();
    for name in [&orders, &bills, &orders] {
        commit.appends.push(EventDraft::unnamed().for_log(name)?);
    }
    let offsets: Vec<_> = scene.commit(commit).await?.stored.iter().map(|stored| stored.offset).collect();
    assert_eq!(offsets, [0, 0, 1]);
    let scene = scene.reopen().await?;
    assert_eq!(scene.offsets(&orders).await?, [0, 1]);
    assert_eq!(scene.offsets(&bills).await?, [0]);
    Ok(())
}

pub async fn an_empty_commit_changes_nothing(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    assert!(scene.commit(Commit::default()).await?.stored.is_empty());
    assert!(scene.store.logs().await?.is_empty());
    Ok(())
}

pub async fn a_refused_batch_leaves_nothing_behind(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let (orders, bills) = (log("orders")?, log("bills")?);
    let billing = cursor(&orders, "billing")?;
    scene.append(&orders, EventDraft::named("before")).await?;
    scene.commit(Commit::cursor(billing.clone(), CursorChange::Create { floor: 0 })).await?;

    let draft = EventDraft::named("refused");
    let commit = Commit {
        appends: [draft.clone().for_log(&orders)?, draft.clone().for_log(&bills)?].into_iter().collect(),
        cursors: vec![(billing.clone(), CursorChange::Reset { floor: 1 })],
        documents: vec![
            DocumentWrite::put("things", "made", "1"),
            DocumentWrite::put("things", "absent", "1").expecting(Expect::Revision(7)),
        ],
        logs: Vec::new(),
        ends: vec![],
        places: Vec::new(),
    };
    let refusal = scene.commit(commit).await;
    assert!(matches!(refusal, Err(CommitError::Conflict { current: 0, .. })), "{refusal:?}");

    let scene = scene.reopen().await?;
    assert_eq!(scene.offsets(&orders).await?, [0]);
    assert_eq!(scene.store.bounds(&bills).await?, Bounds::default());
    assert_eq!(scene.store.cursor(&billing).await?, Some(CursorState::at(0)));
    assert_eq!(scene.store.document("things", "made").await?, None);
    let again = scene.append(&orders, draft).await?;
    assert_eq!((again.offset, again.duplicate), (1, false), "neither offset nor id was used up");
    Ok(())
}

pub async fn stored_ts_never_goes_back_when_the_clock_does(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let orders = log("orders")?;
    let first = scene.append(&orders, EventDraft::unnamed()).await?;
    scene.clock().turn_back(5 * MINUTE);
    let second = scene.append(&orders, EventDraft::unnamed()).await?;
    assert_eq!(second.stored_ts, first.stored_ts);
    scene.clock().advance(6 * MINUTE);
    let third = scene.append(&orders, EventDraft::unnamed()).await?;
    assert_eq!(third.stored_ts, first.stored_ts + 60_000);
    Ok(())
}

pub async fn stored_ts_never_goes_back_even_when_nothing_is_left_to_compare(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let orders = log("orders")?;
    let first = scene.append(&orders, EventDraft::unnamed()).await?;
    scene.store.trim(&orders, 1).await?;
    let scene = scene.reopen().await?;
    scene.clock().turn_back(5 * MINUTE);
    let second = scene.append(&orders, EventDraft::unnamed()).await?;
    assert_eq!((second.offset, second.stored_ts), (1, first.stored_ts));
    Ok(())
}

pub async fn concurrent_appenders_get_a_gap_free_sequence_each_in_its_own_order(harness: &dyn Harness) -> CheckResult {
    const CALLERS: usize = 8;
    const EVENTS: usize = 200;
    let scene = StoreScene::open(harness).await?;
    let orders = log("orders")?;
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..CALLERS {
        let (store, appends) = (scene.store.clone(), drafts_for(&orders, EVENTS)?);
        callers.spawn(async move {
            let mut offsets = Vec::new();
            let mut appends = appends.into_iter().peekable();
            while appends.peek().is_some() {
                // Several commits at once: their order is that of the calls, not of the answers.
                let under_way: Vec<_> = appends.by_ref().take(10).map(|append| store.commit(only(append))).collect();
                for pending in under_way {
                    let stored = pending.await?.stored;
                    offsets.extend(stored.iter().map(|stored| stored.offset));
                }
            }
            Ok::<_, CommitError>(offsets)
        });
    }
    let mut all = Vec::new();
    while let Some(offsets) = callers.join_next().await {
        let offsets = offsets??;
        assert!(offsets.is_sorted(), "a caller's events are out of order: {offsets:?}");
        all.extend(offsets);
    }
    all.sort_unstable();
    assert!(all.into_iter().eq(0..(CALLERS * EVENTS) as u64), "offsets have gaps or repeat");
    let read: Vec<_> = scene.offsets(&orders).await?;
    assert!(read.into_iter().eq(0..(CALLERS * EVENTS) as u64));
    Ok(())
}

pub async fn a_commit_counts_although_its_caller_stopped_waiting(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let orders = log("orders")?;
    drop(scene.store.commit(only(EventDraft::named("left alone").for_log(&orders)?)));
    let after = tokio::time::timeout(Duration::from_secs(20), scene.append(&orders, EventDraft::unnamed())).await??;
    assert_eq!(after.offset, 1);
    assert_eq!(scene.offsets(&orders).await?, [0, 1]);
    Ok(())
}

fn drafts_for(log: &crate::LogName, count: usize) -> Result<Vec<Append>, prom_types::Invalid> {
    unnamed(count).map(|draft| draft.for_log(log)).collect()
}

fn only(append: Append) -> Commit {
    Commit::append(append.log, append.event, append.dedupe)
}
