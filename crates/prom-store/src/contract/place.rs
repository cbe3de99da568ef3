//! Events that keep the places they had elsewhere: offsets with holes, and the times at which they were stored.

use prom_types::Expectation;

use super::Harness;
use super::scene::{CheckResult, EventDraft, StoreScene, Unexpected, log};
use crate::{Clock, Commit, CommitError, LogName};

/// Events of consecutive offsets, beginning with this one.
fn placed(log: &LogName, place: u64, drafts: Vec<EventDraft>) -> Result<Commit, Unexpected> {
    let mut commit = Commit { places: vec![(log.clone(), place)], ..Commit::default() };
    for draft in drafts {
        commit.appends.push(draft.for_log(log)?);
    }
    Ok(commit)
}

pub async fn offsets_can_be_left_empty(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let orders = log("orders")?;
    let two = || vec![EventDraft::unnamed(), EventDraft::unnamed()];
    let mut waiting = Vec::new();
    for place in [5, 7, 100, 5_000_000_000] {
        waiting.push(scene.store.commit(placed(&orders, place, two())?));
    }
    for pending in waiting {
        pending.await?;
    }
    let offsets = [5, 6, 7, 8, 100, 101, 5_000_000_000, 5_000_000_001];
    assert_eq!(scene.offsets(&orders).await?, offsets);
    assert_eq!(scene.append(&orders, EventDraft::unnamed()).await?.offset, 5_000_000_002);
    let scene = scene.reopen().await?;
    assert_eq!(scene.offsets(&orders).await?[..8], offsets);
    let batch = scene.store.read(&orders, 9, 1.into()).await?;
    assert_eq!(batch.records.iter().map(crate::Record::offset).collect::<Vec<_>>(), [100]);
    assert_eq!(scene.append(&orders, EventDraft::unnamed()).await?.offset, 5_000_000_003);
    Ok(())
}

pub async fn a_place_that_is_taken_refuses_the_commit(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let orders = log("orders")?;
    scene.commit(placed(&orders, 3, vec![EventDraft::unnamed()])?).await?;
    for place in [0, 3] {
        let refused = scene.commit(placed(&orders, place, vec![EventDraft::unnamed()])?).await;
        let is_told = |error: &CommitError| matches!(error, CommitError::Unmet { actual: Expectation::Offset(4), .. });
        assert!(refused.as_ref().is_err_and(is_told), "{refused:?}");
    }
    assert_eq!(scene.offsets(&orders).await?, [3]);
    assert_eq!(scene.store.bounds(&orders).await?.next, 4);
    Ok(())
}

pub async fn the_time_of_an_event_is_kept_but_never_goes_back_or_ahead(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let orders = log("orders")?;
    let now = scene.clock().now_ms();
    let at = |stored_ts| EventDraft::unnamed().stored_ts(stored_ts);
    let drafts = vec![at(now - 5000), at(now - 3000), at(now - 4000), at(now + 1)];
    scene.commit(placed(&orders, 0, drafts)?).await?;
    scene.append(&orders, EventDraft::unnamed()).await?;
    let scene = scene.reopen().await?;
    let times: Vec<i64> = scene.read_all(&orders).await?.iter().map(|record| record.stored_ts() - now).collect();
    assert_eq!(times, [-5000, -3000, -3000, 0, 0]);
    Ok(())
}
