//! A data directory is its owner's alone, and its lock names nobody who does not hold it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use prom_store::{Commit, Dedupe, EncodedEvent, LogName, Store, StoreError};
use prom_store_embedded::{Drive, EmbeddedOptions, EmbeddedStore, Sizes};
use prom_types::{EventId, Json, NewEvent, TopicName};
use tempfile::TempDir;

fn options() -> EmbeddedOptions {
    EmbeddedOptions { sizes: Sizes::tiny(), drive: Drive::Inline, ..EmbeddedOptions::default() }
}

#[tokio::test]
async fn only_the_owner_reads_a_data_directory() {
    let home = TempDir::new().unwrap();
    let root = home.path().join("a/data");
    let store = EmbeddedStore::open_with(&root, options()).await.unwrap();
    let topic = TopicName::parse("orders").unwrap();
    for number in 0..200 {
        let event = NewEvent::new(topic.clone(), Json::from_value(&"x".repeat(100)).unwrap());
        let event = EncodedEvent::encode(&event, EventId::derived(&number.to_string()), 0).unwrap();
        store.commit(Commit::append(LogName::new(topic.clone(), 0), event, Dedupe::Window)).await.unwrap();
    }
    store.close().await.unwrap();
    let mut seen = 0;
    check_private(&root, &mut seen);
    assert!(seen > 10, "segments, indexes, journal files, documents: {seen}");
}

/// What is below `documents` is made by the database; nobody gets past the directory.
fn check_private(path: &Path, seen: &mut usize) {
    let mode = fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode & 0o077, 0, "{} has mode {mode:o}", path.display());
    *seen += 1;
    if path.is_dir() && !path.ends_with("documents") {
        fs::read_dir(path).unwrap().for_each(|entry| check_private(&entry.unwrap().path(), seen));
    }
}

#[tokio::test]
async fn a_lock_that_another_process_holds_is_not_blamed_on_one_that_has_ended() {
    let dir = TempDir::new().unwrap();
    let mut ended = Command::new("true").spawn().unwrap();
    ended.wait().unwrap();
    for (noted, named) in
        [(ended.id().to_string(), false), (std::process::id().to_string(), true), (String::new(), false)]
    {
        fs::write(dir.path().join("LOCK"), &noted).unwrap();
        let held = fs::File::open(dir.path().join("LOCK")).unwrap();
        held.lock().unwrap();
        let refused = EmbeddedStore::open_with(dir.path(), options()).await.err();
        let Some(StoreError::InUse { holder, .. }) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(holder == format!("process {noted}"), named, "{holder}");
    }
}
