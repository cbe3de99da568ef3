//! `prom fsck`: sound directories, damaged ones, and what is no data directory at all.

use std::path::Path;

use prom_engine::{Bus, BusOptions};
use prom_store_embedded::EmbeddedStore;

use crate::prom::prom;

/// A directory with a few events, closed.
fn fill(folder: &Path) {
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let bus = Bus::start(EmbeddedStore::open(folder).await.unwrap(), BusOptions::default()).await.unwrap();
        for n in 0..100 {
            bus.publish("orders.placed", serde_json::json!({"n": n})).await.unwrap();
        }
        bus.shutdown().await.unwrap();
    });
}

#[test]
fn a_sound_directory_is_said_to_be_sound() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    let data = folder.path().to_str().unwrap();
    let ran = prom(&["fsck", "--data", data]).exits(0);
    assert!(ran.stdout.contains("100 events") && ran.stdout.ends_with("sound\n"), "{}", ran.stdout);
    let ran = prom(&["fsck", "--data", data, "--json"]).exits(0);
    let answer: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((answer["sound"].as_bool(), answer["events"].as_u64()), (Some(true), Some(100)));
}

#[test]
fn damage_is_listed_with_file_and_position_and_the_exit_code_is_1() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    let segment = find_segment(&folder.path().join("segments"));
    let mut bytes = std::fs::read(&segment).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    std::fs::write(&segment, bytes).unwrap();
    let ran = prom(&["fsck", "--data", folder.path().to_str().unwrap()]).exits(1);
    let name = segment.file_name().unwrap().to_str().unwrap();
    assert!(ran.stdout.contains(name) && ran.stdout.contains("at byte"), "{}", ran.stdout);
    assert!(ran.stderr.contains("is damaged"), "{}", ran.stderr);
}

/// Without its documents a directory is rebuilt from the segments, whatever the journal still has.
#[test]
fn a_directory_without_its_documents_is_refused_and_rebuilt() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    std::fs::remove_dir_all(folder.path().join("documents")).unwrap();
    std::fs::remove_dir_all(folder.path().join("journal")).unwrap();
    let data = folder.path().to_str().unwrap();
    let ran = prom(&["serve", "--data", data, "--listen", "127.0.0.1:0"]).exits(1);
    assert!(ran.stderr.contains("documents is missing") && ran.stderr.contains("--rebuild"), "{}", ran.stderr);
    let ran = prom(&["fsck", "--data", data]).exits(1);
    assert!(ran.stdout.contains("documents"), "{}", ran.stdout);
    let ran = prom(&["fsck", "--data", data, "--rebuild"]).exits(0);
    assert!(ran.stdout.contains("orders.placed/0: 1 segments, offsets 0 to 99"), "{}", ran.stdout);
    assert!(ran.stdout.contains("100 events"), "{}", ran.stdout);
}

fn find_segment(folder: &Path) -> std::path::PathBuf {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            return find_segment(&path);
        }
        if path.extension().is_some_and(|extension| extension == "seg") {
            return path;
        }
    }
    panic!("no segment in {}", folder.display());
}

#[test]
fn what_is_no_data_directory_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let ran = prom(&["fsck", "--data", folder.path().to_str().unwrap()]).exits(2);
    assert!(ran.stderr.contains("is not a data directory"), "{}", ran.stderr);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_directory_that_is_in_use_is_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let store = runtime.block_on(EmbeddedStore::open(folder.path())).unwrap();
    let ran = prom(&["fsck", "--data", folder.path().to_str().unwrap()]).exits(1);
    assert!(ran.stderr.contains("in use by process"), "{}", ran.stderr);
    drop(store);
}
