//! One commit with everything in it, and the fence that refuses all of it.

use super::Harness;
use super::scene::{CheckResult, EventDraft, StoreScene, cursor, log};
use crate::{Bounds, Commit, CommitError, CursorChange, DocumentWrite};

pub async fn events_cursors_and_documents_become_durable_together(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let (orders, letters) = (log("orders")?, log("dlq.orders")?);
    let billing = cursor(&orders, "billing")?;
    scene.append(&orders, EventDraft::unnamed()).await?;
    let epoch = scene.store.take_cursor(&billing, 0).await?.epoch;

    let commit = Commit {
        appends: [EventDraft::unnamed().for_log(&letters)?, EventDraft::unnamed().for_log(&orders)?]
            .into_iter()
            .collect(),
        cursors: vec![(billing.clone(), settled_first(epoch))],
        documents: vec![DocumentWrite::put("marks", "a", "1"), DocumentWrite::put("marks", "b", "2")],
        logs: Vec::new(),
        ends: vec![],
        places: Vec::new(),
    };
    let offsets: Vec<_> = scene.commit(commit).await?.stored.iter().map(|stored| stored.offset).collect();
    assert_eq!(offsets, [0, 1]);

    let scene = scene.reopen().await?;
    assert_eq!(scene.offsets(&letters).await?, [0]);
    assert_eq!(scene.offsets(&orders).await?, [0, 1]);
    assert_eq!(scene.store.cursor(&billing).await?.map(|state| state.floor), Some(1));
    assert_eq!(scene.store.documents("marks", None, 10).await?.len(), 2);
    Ok(())
}

pub async fn an_old_epoch_refuses_the_whole_commit(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let (orders, letters) = (log("orders")?, log("dlq.orders")?);
    let (billing, audit) = (cursor(&orders, "billing")?, cursor(&orders, "audit")?);
    scene.append(&orders, EventDraft::unnamed()).await?;
    let old = scene.store.take_cursor(&billing, 0).await?.epoch;
    let current = scene.store.take_cursor(&billing, 0).await?.epoch;
    let audit_epoch = scene.store.take_cursor(&audit, 0).await?.epoch;

    let commit = Commit {
        appends: [EventDraft::unnamed().for_log(&letters)?].into_iter().collect(),
        cursors: vec![(audit.clone(), settled_first(audit_epoch)), (billing.clone(), settled_first(old))],
        documents: vec![DocumentWrite::put("marks", "a", "1")],
        logs: Vec::new(),
        ends: vec![],
        places: Vec::new(),
    };
    let refusal = scene.commit(commit).await;
    let fenced = CommitError::Fenced { cursor: billing.clone(), given: old, current };
    assert_eq!(refusal, Err(fenced));

    let scene = scene.reopen().await?;
    assert_eq!(scene.store.bounds(&letters).await?, Bounds::default());
    for name in [&billing, &audit] {
        assert_eq!(scene.store.cursor(name).await?.map(|state| state.floor), Some(0), "{name}");
    }
    assert_eq!(scene.store.document("marks", "a").await?, None);
    Ok(())
}

pub async fn a_cursor_is_created_and_settled_in_one_commit(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let billing = cursor(&log("orders")?, "billing")?;
    let cursors = vec![(billing.clone(), CursorChange::Create { floor: 0 }), (billing.clone(), settled_first(0))];
    scene.commit(Commit { cursors, ..Commit::default() }).await?;
    let scene = scene.reopen().await?;
    assert_eq!(scene.store.cursor(&billing).await?.map(|state| state.floor), Some(1));
    Ok(())
}

fn settled_first(epoch: u64) -> CursorChange {
    CursorChange::Settle { epoch, settled: std::iter::once(0..1).collect(), failures: Vec::new() }
}
