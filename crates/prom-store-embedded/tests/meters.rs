//! The embedded store tells how long its syncs take.

use std::sync::Arc;

use prom_store::{Commit, DocumentWrite, Store};
use prom_store_embedded::{EmbeddedOptions, EmbeddedStore, Sync};
use tempfile::TempDir;

/// The number of syncs after each of three commits that came one after the other.
async fn syncs(sync: Sync) -> Vec<u64> {
    let dir = TempDir::new().expect("a temporary directory");
    let options = EmbeddedOptions { sync, ..EmbeddedOptions::default() };
    let store: Arc<dyn Store> = EmbeddedStore::open_with(dir.path(), options).await.expect("it opens");
    let mut counts = Vec::new();
    for number in 0..3 {
        let write = DocumentWrite::put("notes", &number.to_string(), b"{}".to_vec());
        store.commit(Commit::document(write)).await.expect("it is durable");
        let meters = store.meters().sync_ms.expect("it syncs");
        assert_eq!(meters.sum > 0.0, meters.count > 0);
        counts.push(meters.count);
    }
    store.close().await.expect("it closes");
    counts
}

#[tokio::test]
async fn every_sync_of_a_commit_is_measured() {
    assert_eq!(syncs(Sync::Fsync).await, [1, 2, 3]);
}

#[tokio::test]
async fn a_commit_that_does_not_sync_measures_nothing() {
    assert_eq!(syncs(Sync::Os).await, [0, 0, 0]);
}
