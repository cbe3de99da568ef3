//! Bits that flip unnoticed, and reads that fail.

use std::sync::Arc;

use prom_store::{Logs, ReadLimit, Store, StoreError};
use prom_store_embedded::{EmbeddedOptions, EmbeddedStore, RealDisk, Sizes, fsck};
use prom_testkit::{FaultScope, PowerLossDisk, Survival, faulty};

use super::scene::{FaultScene, log, publish, publish_all, read_all};

#[tokio::test]
async fn a_flipped_bit_in_a_sealed_segment_is_named_and_the_rest_is_read() {
    let scene = FaultScene::new();
    let store = scene.open().await;
    publish_all(&store, 0..200).await;
    store.close().await.unwrap();
    drop(store);
    let segments = scene.files("segments", ".seg");
    assert!(segments.len() > 3, "the test needs sealed segments");
    let damaged = &segments[1];
    let position = 2_000;
    faulty::flip_bit(&RealDisk, damaged, position, 3).unwrap();

    let store = scene.open().await;
    let found = read_all(&store).await;
    assert!(!found.damage.is_empty(), "the damage is reported");
    for damage in &found.damage {
        assert_eq!(&damage.file, damaged);
        assert!(damage.position.abs_diff(position) < 600, "position {}", damage.position);
        assert!(damage.to_string().contains(&*damaged.to_string_lossy()));
    }
    assert!((198..200).contains(&found.ids.len()), "{} of 200 are readable", found.ids.len());
    assert!(found.offsets.is_sorted());
    let offset = publish(&store, 500).await.expect("publishing still works");
    assert_eq!(offset, 200);
    drop(store);

    let options = EmbeddedOptions { sizes: Sizes::tiny(), ..EmbeddedOptions::default() };
    let report = fsck::fsck(scene.dir.path(), &options, |_| {}).unwrap();
    assert!(!report.is_sound());
    assert!(report.damage.iter().all(|damage| &damage.file == damaged));
}

#[tokio::test]
async fn a_bad_index_is_rebuilt_and_harms_nothing() {
    a_bad_index_harms_nothing(0).await;
}

#[tokio::test]
async fn an_index_with_bad_entries_after_a_sound_header_harms_nothing() {
    a_bad_index_harms_nothing(60).await;
}

async fn a_bad_index_harms_nothing(first_byte: u64) {
    let scene = FaultScene::new();
    let store = scene.open().await;
    publish_all(&store, 0..200).await;
    store.close().await.unwrap();
    drop(store);
    let indexes = [".idx", ".ids"].map(|ending| scene.files("segments", ending)).concat();
    assert!(indexes.len() > 6, "the test needs sealed segments");
    for path in &indexes {
        let length = std::fs::metadata(path).unwrap().len();
        for position in (first_byte..length).step_by(7) {
            faulty::flip_bit(&RealDisk, path, position, 1).unwrap();
        }
    }
    let store = scene.open().await;
    let found = read_all(&store).await;
    assert_eq!((found.ids.len(), found.damage.len()), (200, 0));
    for number in [0, 57, 199] {
        assert_eq!(publish(&store, number).await.unwrap(), number, "the same id again is not stored again");
    }
}

#[tokio::test]
async fn a_flipped_bit_in_the_journal_is_named_and_what_follows_is_kept() {
    let disk = PowerLossDisk::new().unwrap();
    let open = async |disk: &PowerLossDisk| {
        let options = EmbeddedOptions { disk: Arc::new(disk.clone()), ..EmbeddedOptions::default() };
        EmbeddedStore::open_with(disk.root(), options).await.unwrap()
    };
    let store = open(&disk).await;
    publish_all(&store, 0..10).await;
    let killed = disk.power_loss(Survival::Everything).unwrap();
    drop(store);
    let path = killed.root().join("journal/0.journal");
    // One frame per publish, each about 400 bytes: this is in the middle of the fourth or fifth.
    let position = 4096 + 1_800;
    faulty::flip_bit(&killed, &path, position, 5).unwrap();

    let store = open(&killed).await;
    let damage = store.damage();
    assert!(!damage.is_empty(), "the damage is reported");
    assert_eq!(damage[0].file, path);
    assert!(damage[0].position.abs_diff(position) < 600, "position {}", damage[0].position);
    let found = read_all(&store).await;
    assert_eq!(found.ids.len(), 9, "all but one are there");
    assert!(!found.damage.is_empty(), "a read over the gap reports it");
    assert_eq!(publish(&store, 50).await.unwrap(), 10, "the lost offset is not reused");
}

#[tokio::test]
async fn a_failing_read_is_a_passing_error_that_names_the_file() {
    let scene = FaultScene::new();
    let store = scene.open().await;
    publish_all(&store, 0..200).await;
    store.close().await.unwrap();
    drop(store);
    let store = scene.open().await;
    scene.faults.fail_reads(FaultScope::Segments);
    let refused = store.read(&log(), 0, ReadLimit::default()).await;
    let Err(StoreError::Io { path, .. }) = &refused else {
        panic!("{refused:?}");
    };
    assert!(path.starts_with(scene.dir.path().join("segments")));
    scene.faults.heal();
    assert_eq!(read_all(&store).await.ids.len(), 200);
}
