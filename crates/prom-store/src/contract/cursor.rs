//! Cursors: the floor, what is settled above it, failures, epochs.

#![allow(clippy::single_range_in_vec_init, reason = "a list of one range is intended")]

use std::collections::BTreeMap;
use std::ops::Range;

use super::Harness;
use super::scene::{CheckResult, StoreScene, cursor, log, partition};
use crate::{Commit, CommitError, CursorChange, CursorName, CursorState, DocumentWrite, Failures};

fn settle(epoch: u64, settled: &[Range<u64>]) -> CursorChange {
    CursorChange::Settle { epoch, settled: settled.to_vec(), failures: Vec::new() }
}

fn fail(epoch: u64, offset: u64, attempts: u32, reason: &str) -> CursorChange {
    CursorChange::Settle { epoch, settled: Vec::new(), failures: vec![(offset, failures(attempts, reason))] }
}

fn failures(attempts: u32, reason: &str) -> Failures {
    Failures { attempts, returns: 2, reason: Some(reason.to_owned()) }
}

async fn change(scene: &StoreScene<'_>, name: &CursorName, change: CursorChange) -> Result<(), CommitError> {
    scene.commit(Commit::cursor(name.clone(), change)).await.map(|_| ())
}

async fn state(scene: &StoreScene<'_>, name: &CursorName) -> Result<CursorState, super::Unexpected> {
    let state = scene.store.cursor(name).await?;
    state.ok_or_else(|| format!("{name} is gone").into())
}

pub async fn creating_a_cursor_keeps_one_that_exists(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let billing = cursor(&log("orders")?, "billing")?;
    assert_eq!(scene.store.cursor(&billing).await?, None);
    change(&scene, &billing, CursorChange::Create { floor: 7 }).await?;
    change(&scene, &billing, CursorChange::Create { floor: 0 }).await?;
    assert_eq!(state(&scene, &billing).await?, CursorState::at(7));
    let scene = scene.reopen().await?;
    change(&scene, &billing, CursorChange::Create { floor: 0 }).await?;
    assert_eq!(state(&scene, &billing).await?, CursorState::at(7));
    Ok(())
}

pub async fn the_floor_moves_only_over_what_is_contiguous(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let billing = cursor(&log("orders")?, "billing")?;
    let epoch = scene.store.take_cursor(&billing, 0).await?.epoch;
    let mut expected = CursorState { epoch, ..CursorState::at(0) };
    type Settled = &'static [Range<u64>];
    type Floor = u64;
    type Above = &'static [Range<u64>];
    let steps: [(Settled, Floor, Above); 5] = [
        (&[3..5], 0, &[3..5]),
        (&[7..8, 1..2], 0, &[1..2, 3..5, 7..8]),
        (&[0..1], 2, &[3..5, 7..8]),
        (&[2..3], 5, &[7..8]),
        (&[5..7], 8, &[]),
    ];
    for (settled, floor, above) in steps {
        change(&scene, &billing, settle(epoch, settled)).await?;
        expected.floor = floor;
        expected.above = above.iter().cloned().collect();
        assert_eq!(state(&scene, &billing).await?, expected);
    }
    Ok(())
}

pub async fn settling_nothing_fences_the_documents_beside_it(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let billing = cursor(&log("orders")?, "billing")?;
    let epoch = scene.store.take_cursor(&billing, 3).await?.epoch;
    let write = |epoch, value: &'static str| Commit {
        documents: vec![DocumentWrite::put("beside", "it", value)],
        ..Commit::cursor(billing.clone(), settle(epoch, &[]))
    };
    scene.commit(write(epoch, "1")).await?;
    let before = state(&scene, &billing).await?;
    let newer = scene.store.take_cursor(&billing, 0).await?.epoch;
    match scene.commit(write(epoch, "2")).await {
        Err(CommitError::Fenced { given, current, .. }) => assert_eq!((given, current), (epoch, newer)),
        other => return Err(format!("an old epoch was answered with {other:?}").into()),
    }
    let there = scene.store.document("beside", "it").await?.map(|document| document.value);
    assert_eq!(there.as_deref(), Some(b"1".as_slice()));
    assert_eq!(state(&scene, &billing).await?, CursorState { epoch: newer, ..before });
    Ok(())
}

pub async fn what_is_settled_survives_a_restart(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let billing = cursor(&log("orders")?, "billing")?;
    let epoch = scene.store.take_cursor(&billing, 0).await?.epoch;
    change(&scene, &billing, settle(epoch, &[0..2, 5..9])).await?;
    change(&scene, &billing, fail(epoch, 3, 2, "timeout")).await?;
    let before = state(&scene, &billing).await?;
    let scene = scene.reopen().await?;
    assert_eq!(state(&scene, &billing).await?, before);
    assert_eq!((before.floor, before.above.iter().collect::<Vec<_>>()), (2, vec![5..9]));
    change(&scene, &billing, settle(epoch, &[2..5])).await?;
    let scene = scene.reopen().await?;
    assert_eq!(state(&scene, &billing).await?, CursorState { epoch, ..CursorState::at(9) });
    Ok(())
}

pub async fn settling_twice_changes_nothing(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let billing = cursor(&log("orders")?, "billing")?;
    let epoch = scene.store.take_cursor(&billing, 0).await?.epoch;
    change(&scene, &billing, settle(epoch, &[0..3, 5..6])).await?;
    let once = state(&scene, &billing).await?;
    change(&scene, &billing, settle(epoch, &[5..6, 1..3])).await?;
    assert_eq!(state(&scene, &billing).await?, once);
    Ok(())
}

pub async fn failures_are_kept_overwritten_and_forgotten_when_settled(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let billing = cursor(&log("orders")?, "billing")?;
    let epoch = scene.store.take_cursor(&billing, 0).await?.epoch;
    change(&scene, &billing, fail(epoch, 4, 1, "timeout")).await?;
    change(&scene, &billing, fail(epoch, 6, 1, "broken")).await?;
    change(&scene, &billing, fail(epoch, 4, 2, "refused")).await?;
    let scene = scene.reopen().await?;
    let both = BTreeMap::from([(4, failures(2, "refused")), (6, failures(1, "broken"))]);
    assert_eq!(state(&scene, &billing).await?.failures, both);

    change(&scene, &billing, settle(epoch, &[4..5])).await?;
    change(&scene, &billing, fail(epoch, 4, 3, "too late")).await?;
    let left = BTreeMap::from([(6, failures(1, "broken"))]);
    assert_eq!(state(&scene, &billing).await?.failures, left, "a settled event has no failures");
    let scene = scene.reopen().await?;
    assert_eq!(state(&scene, &billing).await?.failures, left);
    Ok(())
}

pub async fn taking_a_cursor_fences_its_earlier_holder(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let billing = cursor(&log("orders")?, "billing")?;
    let first = scene.store.take_cursor(&billing, 5).await?;
    assert_eq!(first.floor, 5);
    change(&scene, &billing, settle(first.epoch, &[5..6])).await?;
    let scene = scene.reopen().await?;
    let second = scene.store.take_cursor(&billing, 0).await?;
    assert!(second.epoch > first.epoch);
    assert_eq!(second.floor, 6, "an existing cursor keeps its floor");

    let refusal = change(&scene, &billing, settle(first.epoch, &[6..7])).await;
    let fenced = CommitError::Fenced { cursor: billing.clone(), given: first.epoch, current: second.epoch };
    assert_eq!(refusal, Err(fenced));
    change(&scene, &billing, settle(second.epoch, &[6..8])).await?;
    assert_eq!(state(&scene, &billing).await?.floor, 8);
    Ok(())
}

pub async fn an_epoch_survives_a_restart(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let billing = cursor(&log("orders")?, "billing")?;
    scene.store.take_cursor(&billing, 0).await?;
    let taken = scene.store.take_cursor(&billing, 0).await?;
    let scene = scene.reopen().await?;
    assert_eq!(state(&scene, &billing).await?.epoch, taken.epoch);
    Ok(())
}

pub async fn a_reset_forgets_what_was_settled_and_raises_the_epoch(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let billing = cursor(&log("orders")?, "billing")?;
    let before = scene.store.take_cursor(&billing, 0).await?;
    change(&scene, &billing, settle(before.epoch, &[0..4, 6..8])).await?;
    change(&scene, &billing, fail(before.epoch, 5, 1, "timeout")).await?;
    change(&scene, &billing, CursorChange::Reset { floor: 2 }).await?;
    let scene = scene.reopen().await?;
    let after = state(&scene, &billing).await?;
    assert!(after.epoch > before.epoch);
    assert_eq!(after, CursorState { epoch: after.epoch, ..CursorState::at(2) });
    let refusal = change(&scene, &billing, settle(before.epoch, &[2..3])).await;
    assert!(matches!(refusal, Err(CommitError::Fenced { .. })), "{refusal:?}");
    Ok(())
}

pub async fn a_deleted_cursor_is_gone(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let billing = cursor(&log("orders")?, "billing")?;
    let taken = scene.store.take_cursor(&billing, 3).await?;
    change(&scene, &billing, CursorChange::Delete).await?;
    assert_eq!(scene.store.cursor(&billing).await?, None);
    let refusal = change(&scene, &billing, settle(taken.epoch, &[3..4])).await;
    assert!(matches!(refusal, Err(CommitError::Fenced { .. })), "{refusal:?}");
    let scene = scene.reopen().await?;
    assert_eq!(scene.store.cursor(&billing).await?, None);
    assert!(scene.store.cursors(None).await?.is_empty());
    change(&scene, &billing, CursorChange::Delete).await?;
    Ok(())
}

pub async fn an_earlier_holder_cannot_settle_in_a_recreated_cursor(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let billing = cursor(&log("orders")?, "billing")?;
    let old = scene.store.take_cursor(&billing, 0).await?;
    change(&scene, &billing, CursorChange::Delete).await?;
    let scene = scene.reopen().await?;
    let new = scene.store.take_cursor(&billing, 0).await?;
    assert!(new.epoch > old.epoch, "epoch {} came back", new.epoch);
    let refusal = change(&scene, &billing, settle(old.epoch, &[0..9])).await;
    assert!(matches!(refusal, Err(CommitError::Fenced { .. })), "{refusal:?}");
    assert_eq!(state(&scene, &billing).await?.floor, 0);
    Ok(())
}

pub async fn cursors_are_listed_by_topic(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let (orders, orders_1, longer) = (log("orders")?, partition("orders", 1)?, log("orders.v2")?);
    let names = [
        cursor(&orders, "audit")?,
        cursor(&orders, "change::1::log")?,
        cursor(&orders_1, "audit")?,
        cursor(&longer, "audit")?,
    ];
    for (floor, name) in (0..).zip(&names) {
        change(&scene, name, CursorChange::Create { floor }).await?;
    }
    let scene = scene.reopen().await?;
    let mut of_topic = scene.store.cursors(Some(&orders.topic)).await?;
    of_topic.sort_by(|a, b| a.0.cmp(&b.0));
    let expected: Vec<_> = (0..3).map(|n| (names[n].clone(), CursorState::at(n as u64))).collect();
    assert_eq!(of_topic, expected);
    assert_eq!(scene.store.cursors(None).await?.len(), 4);
    assert!(scene.store.cursors(Some(&log("bills")?.topic)).await?.is_empty());
    Ok(())
}
