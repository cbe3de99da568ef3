//! Documents: revisions, expectations, listings.

use super::Harness;
use super::scene::{CheckResult, EventDraft, StoreScene, WAKE_DEADLINE, log};
use crate::{Bounds, Commit, CommitError, Document, DocumentNews, DocumentWrite, Expect, StoreError};

async fn write(scene: &StoreScene<'_>, write: DocumentWrite) -> Result<(), CommitError> {
    scene.commit(Commit::document(write)).await.map(|_| ())
}

pub async fn each_write_raises_the_revision(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    assert_eq!(scene.store.document("groups", "a").await?, None);
    for (revision, value) in [(1, "one"), (2, "two"), (3, "")] {
        write(&scene, DocumentWrite::put("groups", "a", value)).await?;
        let document = scene.store.document("groups", "a").await?.ok_or("it was just written")?;
        assert_eq!((document.key.as_str(), document.revision), ("a", revision));
        assert_eq!(document.value, value);
    }
    let scene = scene.reopen().await?;
    let document = scene.store.document("groups", "a").await?.ok_or("lost in a restart")?;
    assert_eq!((document.revision, &*document.value), (3, &b""[..]));
    Ok(())
}

pub async fn a_write_whose_condition_fails_is_refused(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let put = |value: &str, expect| DocumentWrite::put("groups", "a", value.to_owned()).expecting(expect);
    let refused =
        |current| Err(CommitError::Conflict { collection: "groups".to_owned(), key: "a".to_owned(), current });
    assert_eq!(write(&scene, put("x", Expect::Revision(1))).await, refused(0));
    write(&scene, put("one", Expect::Absent)).await?;
    assert_eq!(write(&scene, put("x", Expect::Absent)).await, refused(1));
    write(&scene, put("two", Expect::Revision(1))).await?;
    assert_eq!(write(&scene, put("x", Expect::Revision(1))).await, refused(2));
    let delete = DocumentWrite::delete("groups", "a").expecting(Expect::Revision(1));
    assert_eq!(write(&scene, delete).await, refused(2));
    let document = scene.store.document("groups", "a").await?.ok_or("refused writes removed it")?;
    assert_eq!(document.value, "two");
    Ok(())
}

pub async fn a_write_that_expects_absent_or_same_keeps_an_equal_value(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let orders = log("orders")?;
    let propose = |value: &str| DocumentWrite::put("topics", "a", value.to_owned()).expecting(Expect::AbsentOrSame);
    let with_event = |value: &str| {
        let appends = [EventDraft::unnamed().for_log(&orders)?].into_iter().collect();
        Ok::<_, super::Unexpected>(Commit { appends, documents: vec![propose(value)], ..Commit::default() })
    };
    write(&scene, propose("{\"n\":1}")).await?;
    write(&scene, propose("{\"n\":1}")).await?;
    scene.commit(with_event("{\"n\":1}")?).await?;
    let scene = scene.reopen().await?;
    scene.commit(with_event("{\"n\":1}")?).await?;
    let document = scene.store.document("topics", "a").await?.ok_or("it was just written")?;
    assert_eq!((document.revision, &*document.value), (1, &b"{\"n\":1}"[..]), "the same value is no change");
    assert_eq!(scene.offsets(&orders).await?, [0, 1]);

    write(&scene, DocumentWrite::delete("topics", "a")).await?;
    write(&scene, DocumentWrite::delete("topics", "a").expecting(Expect::AbsentOrSame)).await?;
    scene.commit(with_event("not JSON")?).await?;
    scene.commit(with_event("not JSON")?).await?;
    let documents = vec![propose("not JSON"), DocumentWrite::delete("topics", "a"), propose("new"), propose("new")];
    scene.commit(Commit { documents, ..Commit::default() }).await?;
    let scene = scene.reopen().await?;
    let document = scene.store.document("topics", "a").await?.ok_or("it was just written")?;
    assert_eq!((document.revision, &*document.value), (1, &b"new"[..]), "writes of one commit see each other");
    assert_eq!(scene.offsets(&orders).await?, [0, 1, 2, 3]);
    Ok(())
}

pub async fn a_write_that_expects_absent_or_same_refuses_the_whole_commit(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let orders = log("orders")?;
    let propose = |value: &str| DocumentWrite::put("topics", "a", value.to_owned()).expecting(Expect::AbsentOrSame);
    let refused =
        |current| Err(CommitError::Conflict { collection: "topics".to_owned(), key: "a".to_owned(), current });
    write(&scene, DocumentWrite::put("topics", "a", "one")).await?;
    write(&scene, DocumentWrite::put("topics", "a", "two")).await?;
    assert_eq!(write(&scene, propose("one")).await, refused(2), "an earlier value does not count as the same");
    let delete = DocumentWrite::delete("topics", "a").expecting(Expect::AbsentOrSame);
    assert_eq!(write(&scene, delete).await, refused(2));
    let with_event = Commit {
        appends: [EventDraft::unnamed().for_log(&orders)?].into_iter().collect(),
        documents: vec![DocumentWrite::put("topics", "b", "b"), propose("one")],
        ..Commit::default()
    };
    assert_eq!(scene.commit(with_event).await.map(drop), refused(2));
    let contradicting = Commit { documents: vec![propose("two"), propose("three")], ..Commit::default() };
    assert_eq!(scene.commit(contradicting).await.map(drop), refused(2));
    let scene = scene.reopen().await?;
    let document = scene.store.document("topics", "a").await?.ok_or("refused writes removed it")?;
    assert_eq!((document.revision, &*document.value), (2, &b"two"[..]));
    assert_eq!(scene.store.document("topics", "b").await?, None);
    assert_eq!(scene.store.bounds(&orders).await?, Bounds::default());
    Ok(())
}

pub async fn a_deleted_document_starts_over_at_revision_1(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    write(&scene, DocumentWrite::put("groups", "a", "one")).await?;
    write(&scene, DocumentWrite::put("groups", "a", "two")).await?;
    write(&scene, DocumentWrite::delete("groups", "a")).await?;
    assert_eq!(scene.store.document("groups", "a").await?, None);
    write(&scene, DocumentWrite::delete("groups", "a")).await?;
    let scene = scene.reopen().await?;
    assert!(scene.store.documents("groups", None, 10).await?.is_empty());
    write(&scene, DocumentWrite::put("groups", "a", "three").expecting(Expect::Absent)).await?;
    let document = scene.store.document("groups", "a").await?.ok_or("it was just written")?;
    assert_eq!((document.revision, &*document.value), (1, &b"three"[..]));
    Ok(())
}

pub async fn writes_of_one_commit_see_each_other(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let documents = vec![
        DocumentWrite::put("groups", "a", "one").expecting(Expect::Absent),
        DocumentWrite::put("groups", "a", "two").expecting(Expect::Revision(1)),
    ];
    scene.commit(Commit { documents, ..Commit::default() }).await?;
    let document = scene.store.document("groups", "a").await?.ok_or("it was just written")?;
    assert_eq!((document.revision, &*document.value), (2, &b"two"[..]));
    Ok(())
}

pub async fn documents_are_listed_in_key_order_page_by_page(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    for key in ["b", "a/2", "ä", "a", "c", "a.1", ""] {
        write(&scene, DocumentWrite::put("groups", key, key.to_owned())).await?;
    }
    let scene = scene.reopen().await?;
    let (mut pages, mut after) = (Vec::new(), None);
    loop {
        let page = scene.store.documents("groups", after.as_deref(), 3).await?;
        let Some(last) = page.last() else { break };
        after = Some(last.key.clone());
        pages.push(page.into_iter().map(|document| document.key).collect::<Vec<_>>());
    }
    assert_eq!(pages.concat(), ["", "a", "a.1", "a/2", "b", "c", "ä"], "by the bytes of the key");
    assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [3, 3, 1]);
    let from_between = scene.store.documents("groups", Some("a.5"), 1).await?;
    assert_eq!(from_between[0].key, "a/2", "`after` need not exist");
    Ok(())
}

pub async fn collections_are_apart(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    for (collection, key) in [("groups", "a"), ("group", "sa"), ("groupsa", "")] {
        write(&scene, DocumentWrite::put(collection, key, collection.to_owned())).await?;
    }
    for (collection, key) in [("groups", "a"), ("group", "sa"), ("groupsa", "")] {
        let listed = scene.store.documents(collection, None, 10).await?;
        assert_eq!(listed.len(), 1, "{collection} shows documents of another");
        assert_eq!((listed[0].key.as_str(), &*listed[0].value), (key, collection.as_bytes()));
    }
    write(&scene, DocumentWrite::delete("groups", "a")).await?;
    assert_eq!(scene.store.documents("group", None, 10).await?.len(), 1);
    assert!(scene.store.documents("never", None, 10).await?.is_empty());
    Ok(())
}

/// Only if the store announces writes to the collection; a store with one writer announces none.
pub async fn a_listener_hears_of_every_write_to_a_shared_collection(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let Some(mut watch) = scene.store.watch_documents("topics") else {
        return Ok(());
    };
    write(&scene, DocumentWrite::put("groups", "not asked for", "1")).await?;
    write(&scene, DocumentWrite::put("topics", "alone", "1")).await?;
    write(&scene, DocumentWrite::put("topics", "alone", "1")).await?;
    let with_event = Commit {
        appends: [EventDraft::unnamed().for_log(&log("orders")?)?].into_iter().collect(),
        documents: vec![DocumentWrite::put("topics", "with an event", "1").expecting(Expect::AbsentOrSame)],
        ..Commit::default()
    };
    scene.commit(with_event).await?;
    let written =
        |key: &str, revision| DocumentNews::Written(Document { key: key.to_owned(), value: "1".into(), revision });
    for expected in [written("alone", 1), written("alone", 2), written("with an event", 1)] {
        assert_eq!(tokio::time::timeout(WAKE_DEADLINE, watch.next()).await??, expected);
    }
    write(&scene, DocumentWrite::delete("topics", "alone")).await?;
    let news = tokio::time::timeout(WAKE_DEADLINE, watch.next()).await??;
    assert_eq!(news, DocumentNews::Deleted("alone".to_owned()));
    scene.store.close().await?;
    let ended = tokio::time::timeout(WAKE_DEADLINE, watch.next()).await?;
    assert!(matches!(ended, Err(StoreError::Closed)), "{ended:?}");
    Ok(())
}
