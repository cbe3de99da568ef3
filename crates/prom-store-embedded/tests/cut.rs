//! A last frame that is not whole is cut, and that is told: damage to an acknowledged frame looks like a crash.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::fs;
use std::path::{Path, PathBuf};

use prom_store::{Commit, Dedupe, EncodedEvent, LogName, Logs, Store};
use prom_store_embedded::{Drive, EmbeddedOptions, EmbeddedStore, Sizes, fsck};
use prom_types::{EventId, Json, NewEvent, TopicName};
use tempfile::TempDir;

const FRAME_MAGIC: [u8; 4] = 0x4d52_464a_u32.to_le_bytes();
const FRAMES_AT: usize = 4096;
const EVENTS: u64 = 5;

#[tokio::test]
async fn a_flipped_bit_in_the_last_frame_is_told_with_its_position() {
    let killed = killed().await;
    let (path, frame) = last_frame(killed.path());
    let whole = EmbeddedStore::open_with(copy(killed.path()).path(), options()).await.unwrap();
    assert_eq!((whole.meters().cut_frames, whole.bounds(&log()).await.unwrap().next), (0, EVENTS));
    // Magic, checksum, number, length of the body, length of the entries, an event.
    for byte in [0, 4, 8, 16, 20, 80] {
        let dir = copy(killed.path());
        let damaged = dir.path().join(&path);
        let mut bytes = fs::read(&damaged).unwrap();
        bytes[frame + byte] ^= 0x10;
        fs::write(&damaged, bytes).unwrap();
        let report = fsck::fsck(dir.path(), &options(), |_| {}).unwrap();
        let cut = report.cut.as_ref().unwrap_or_else(|| panic!("byte {byte}: {report}"));
        assert_eq!((&cut.file, cut.position), (&damaged, frame as u64));
        assert!(report.to_string().contains(&format!("at byte {frame}")), "{report}");

        let store = EmbeddedStore::open_with(dir.path(), options()).await.unwrap();
        assert_eq!(store.meters().cut_frames, 1, "byte {byte}");
        assert_eq!(store.bounds(&log()).await.unwrap().next, EVENTS - 1);
        publish(&store, 99).await;
        drop(store);
        let store = EmbeddedStore::open_with(dir.path(), options()).await.unwrap();
        assert_eq!((store.meters().cut_frames, store.damage()), (0, vec![]), "it is over");
    }
}

/// A directory as a killed process leaves it: with its journal and without a checkpoint.
async fn killed() -> TempDir {
    let dir = TempDir::new().unwrap();
    let store = EmbeddedStore::open_with(dir.path(), options()).await.unwrap();
    for number in 0..EVENTS {
        publish(&store, number).await;
    }
    copy(dir.path())
}

/// The journal file with the last frame, below the root, and where the frame begins.
fn last_frame(root: &Path) -> (PathBuf, usize) {
    let path = PathBuf::from("journal/0.journal");
    let bytes = fs::read(root.join(&path)).unwrap();
    let mut places = (FRAMES_AT..bytes.len()).step_by(8);
    (path, places.rfind(|at| bytes[*at..].starts_with(&FRAME_MAGIC)).unwrap())
}

fn copy(from: &Path) -> TempDir {
    let to = TempDir::new().unwrap();
    copy_all(from, to.path());
    to
}

fn copy_all(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let (path, target) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        if path.is_dir() {
            fs::create_dir(&target).unwrap();
            copy_all(&path, &target);
        } else {
            fs::copy(path, target).unwrap();
        }
    }
}

async fn publish(store: &EmbeddedStore, number: u64) {
    let event = NewEvent::new(log().topic, Json::from_value(&"x".repeat(100)).unwrap());
    let event = EncodedEvent::encode(&event, EventId::derived(&number.to_string()), 0).unwrap();
    store.commit(Commit::append(log(), event, Dedupe::Window)).await.unwrap();
}

fn log() -> LogName {
    LogName::new(TopicName::parse("orders").unwrap(), 0)
}

fn options() -> EmbeddedOptions {
    EmbeddedOptions { sizes: Sizes::tiny(), drive: Drive::Inline, ..EmbeddedOptions::default() }
}
