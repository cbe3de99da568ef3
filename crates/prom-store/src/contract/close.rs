//! A closed store says so.

use std::time::Duration;

use super::Harness;
use super::scene::{CheckResult, EventDraft, StoreScene, cursor, log};
use crate::{Commit, CommitError, CompactPlan, DocumentWrite, Find, ReadLimit, StoreError};

pub async fn every_call_after_closing_answers_closed(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let (store, orders) = (&scene.store, log("orders")?);
    let billing = cursor(&orders, "billing")?;
    scene.append(&orders, EventDraft::unnamed()).await?;
    store.close().await?;

    let refusal = scene.commit(Commit::document(DocumentWrite::put("groups", "a", "1"))).await;
    assert_eq!(refusal, Err(CommitError::Closed));
    let answers = [
        ("read", store.read(&orders, 0, ReadLimit::default()).await.err()),
        ("bounds", store.bounds(&orders).await.err()),
        ("find", store.find(&orders, Find::StoredAt(0)).await.err()),
        ("latest_by_key", store.latest_by_key(&orders, &["a"]).await.err()),
        ("trim", store.trim(&orders, 1).await.err()),
        ("compact", store.compact(&orders, CompactPlan::everything(Duration::ZERO)).await.err()),
        ("logs", store.logs().await.err()),
        ("take_cursor", store.take_cursor(&billing, 0).await.err()),
        ("cursor", store.cursor(&billing).await.err()),
        ("cursors", store.cursors(None).await.err()),
        ("document", store.document("groups", "a").await.err()),
        ("documents", store.documents("groups", None, 1).await.err()),
        ("acquire_lease", store.acquire_lease("a", "b", Duration::from_secs(1)).await.err()),
    ];
    for (call, error) in answers {
        let closed = matches!(error, Some(StoreError::Closed | StoreError::Commit(CommitError::Closed)));
        assert!(closed, "{call} answered {error:?}");
    }
    Ok(())
}

pub async fn closing_twice_is_no_error(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    scene.store.close().await?;
    scene.store.close().await?;
    Ok(())
}
