//! The model loses what it may lose and nothing else.

use std::fs;
use std::path::{Path, PathBuf};

use prom_store_embedded::{Create, Disk};

use super::contents::PAGE_BYTES;
use super::{PowerLossDisk, Survival};

fn write(disk: &PowerLossDisk, name: &str, bytes: &[u8], position: u64) {
    let path = disk.root().join(name);
    let file = disk.open(&path, Create::IfMissing).unwrap();
    file.write_at(bytes, position).unwrap();
}

fn sync(disk: &PowerLossDisk, name: &str) {
    let path = disk.root().join(name);
    disk.open(&path, Create::Never).unwrap().sync_data().unwrap();
}

fn sync_names(disk: &PowerLossDisk, directory: &str) {
    disk.sync_dir(&at(disk, directory)).unwrap();
}

fn at(disk: &PowerLossDisk, name: &str) -> PathBuf {
    match name {
        "" => disk.root().to_path_buf(),
        name => disk.root().join(name),
    }
}

/// The file's bytes; `None` if there is no such file.
fn read(disk: &PowerLossDisk, name: &str) -> Option<Vec<u8>> {
    let file = disk.open(&at(disk, name), Create::Never).ok()?;
    let mut bytes = vec![0; usize::try_from(file.len().unwrap()).unwrap()];
    assert_eq!(file.read_at(&mut bytes, 0).unwrap(), bytes.len());
    Some(bytes)
}

fn outcomes<T: Ord>(disk: &PowerLossDisk, look: impl Fn(&PowerLossDisk) -> T) -> std::collections::BTreeSet<T> {
    (0..300).map(|seed| look(&disk.power_loss(Survival::Random(seed)).unwrap())).collect()
}

#[test]
fn synced_data_survives_in_every_mode() {
    let disk = PowerLossDisk::new().unwrap();
    write(&disk, "a", b"kept", 0);
    sync(&disk, "a");
    sync_names(&disk, "");
    for survival in [Survival::Strict, Survival::Everything, Survival::Random(3)] {
        let found = disk.power_loss(survival).unwrap();
        assert_eq!(read(&found, "a").unwrap(), b"kept");
    }
}

#[test]
fn unsynced_contents_are_gone_when_strict_and_there_when_everything_survived() {
    let disk = PowerLossDisk::new().unwrap();
    write(&disk, "a", b"old", 0);
    sync(&disk, "a");
    sync_names(&disk, "");
    write(&disk, "a", b"newer", 0);
    assert_eq!(read(&disk.power_loss(Survival::Strict).unwrap(), "a").unwrap(), b"old");
    let found = disk.power_loss(Survival::Everything);
    assert_eq!(read(&found.unwrap(), "a").unwrap(), b"newer");
}

#[test]
fn a_synced_file_whose_name_was_not_synced_may_be_missing() {
    let disk = PowerLossDisk::new().unwrap();
    write(&disk, "a", b"x", 0);
    sync(&disk, "a");
    assert_eq!(read(&disk.power_loss(Survival::Strict).unwrap(), "a"), None);
    let seen = outcomes(&disk, |found| read(found, "a").is_some());
    assert_eq!(seen.len(), 2, "both outcomes happen");
}

#[test]
fn a_removed_name_may_be_back_until_the_directory_is_synced() {
    let disk = PowerLossDisk::new().unwrap();
    write(&disk, "a", b"x", 0);
    sync(&disk, "a");
    sync_names(&disk, "");
    disk.remove(&disk.root().join("a")).unwrap();
    assert_eq!(read(&disk, "a"), None);
    let unsynced = outcomes(&disk, |found| read(found, "a"));
    assert_eq!(unsynced, [None, Some(b"x".to_vec())].into());

    let disk = PowerLossDisk::new().unwrap();
    write(&disk, "a", b"x", 0);
    sync_names(&disk, "");
    disk.remove(&disk.root().join("a")).unwrap();
    sync_names(&disk, "");
    assert_eq!(outcomes(&disk, |found| read(found, "a")), [None].into());
}

#[test]
fn a_new_directory_needs_its_parent_synced() {
    let disk = PowerLossDisk::new().unwrap();
    disk.create_dir(&disk.root().join("x/y")).unwrap();
    write(&disk, "x/y/a", b"deep", 0);
    sync(&disk, "x/y/a");
    sync_names(&disk, "x/y");
    sync_names(&disk, "x");
    assert_eq!(read(&disk.power_loss(Survival::Strict).unwrap(), "x/y/a"), None);

    let disk = PowerLossDisk::new().unwrap();
    disk.create_dir(&disk.root().join("x/y")).unwrap();
    write(&disk, "x/y/a", b"deep", 0);
    sync(&disk, "x/y/a");
    for directory in ["x/y", "x", ""] {
        sync_names(&disk, directory);
    }
    let found = disk.power_loss(Survival::Strict).unwrap();
    assert_eq!(read(&found, "x/y/a").unwrap(), b"deep");
    assert_eq!(found.list(&found.root().join("x")).unwrap(), ["y"]);
}

#[test]
fn unsynced_pages_survive_one_by_one_and_tear_at_sectors() {
    let disk = PowerLossDisk::new().unwrap();
    let (old, new) = (vec![1; 2 * PAGE_BYTES], vec![2; 2 * PAGE_BYTES]);
    write(&disk, "a", &old, 0);
    sync(&disk, "a");
    sync_names(&disk, "");
    write(&disk, "a", &new, 0);
    let seen = outcomes(&disk, |found| read(found, "a").unwrap());
    for bytes in &seen {
        assert_eq!(bytes.len(), 2 * PAGE_BYTES);
        let whole_sectors = bytes.chunks(512).all(|it| it.iter().all(|byte| *byte == it[0]));
        assert!(whole_sectors, "a sector is written whole");
    }
    let pages = |first: u8, second: u8| [vec![first; PAGE_BYTES], vec![second; PAGE_BYTES]].concat();
    for (first, second) in [(1, 1), (1, 2), (2, 1), (2, 2)] {
        assert!(seen.contains(&pages(first, second)), "{first} {second} never happened");
    }
    assert!(seen.iter().any(|bytes| bytes[..512] != bytes[512..1024]), "no torn page");
}

#[test]
fn an_unsynced_length_may_be_any_from_the_old_to_the_new() {
    let disk = PowerLossDisk::new().unwrap();
    write(&disk, "a", &[1; 100], 0);
    sync(&disk, "a");
    sync_names(&disk, "");
    write(&disk, "a", &[2; 100], 100);
    let seen = outcomes(&disk, |found| read(found, "a").unwrap());
    assert!(seen.iter().all(|bytes| (100..=200).contains(&bytes.len())));
    assert!(seen.iter().all(|bytes| bytes[..100] == [1; 100]), "synced bytes change");
    let lengths: Vec<_> = seen.iter().map(Vec::len).collect();
    assert!(lengths.contains(&100) && lengths.contains(&200) && lengths.iter().any(|it| *it > 100 && *it < 200));
    assert!(seen.contains(&[vec![1; 100], vec![0; 100]].concat()), "length without contents");
}

#[test]
fn truncated_data_may_be_back_until_the_truncation_is_synced() {
    let disk = PowerLossDisk::new().unwrap();
    let whole: Vec<u8> = (0..3 * PAGE_BYTES).map(|at| u8::try_from(at % 251).unwrap()).collect();
    write(&disk, "a", &whole, 0);
    sync(&disk, "a");
    sync_names(&disk, "");
    let path = disk.root().join("a");
    disk.open(&path, Create::Never).unwrap().set_len(10).unwrap();
    assert_eq!(read(&disk.power_loss(Survival::Strict).unwrap(), "a").unwrap(), whole);
    let cut = disk.power_loss(Survival::Everything).unwrap();
    assert_eq!(read(&cut, "a").unwrap(), whole[..10]);
}

#[test]
fn after_the_cut_nothing_works_and_nothing_changes() {
    let disk = PowerLossDisk::new().unwrap();
    write(&disk, "a", b"one", 0);
    sync(&disk, "a");
    sync_names(&disk, "");
    disk.cut_power_after(disk.operations() + 1);
    let file = disk.open(&disk.root().join("a"), Create::Never).unwrap();
    file.write_at(b"two", 0).unwrap();
    assert!(disk.is_off());
    assert!(file.sync_data().is_err());
    assert!(file.write_at(b"three", 0).is_err());
    assert!(file.read_at(&mut [0; 3], 0).is_err());
    let found = disk.power_loss(Survival::Everything).unwrap();
    assert_eq!(read(&found, "a").unwrap(), b"two");
    assert!(!found.is_off());
}

#[test]
fn the_same_seed_finds_the_same_disk() {
    let disk = PowerLossDisk::new().unwrap();
    for page in 0..20 {
        write(&disk, "a", &[7; PAGE_BYTES], page * PAGE_BYTES as u64);
    }
    sync_names(&disk, "");
    let found = |seed| read(&disk.power_loss(Survival::Random(seed)).unwrap(), "a");
    assert_eq!(found(5), found(5));
    assert!((0..20).any(|seed| found(seed) != found(5)));
}

#[test]
fn the_document_database_goes_back_to_its_last_durable_state() {
    let disk = PowerLossDisk::new().unwrap();
    let documents = disk.root().join("documents");
    let put = |root: &Path, text: &str| fs::write(root.join("documents/parts/one"), text).unwrap();
    fs::create_dir_all(documents.join("parts")).unwrap();
    put(disk.root(), "durable");
    disk.sync_documents(&documents, &mut || Ok(())).unwrap();
    put(disk.root(), "later");
    let now = disk.power_loss(Survival::Strict).unwrap();
    let held = |disk: &PowerLossDisk| fs::read_to_string(disk.root().join("documents/parts/one")).unwrap();
    assert_eq!(held(&now), "durable");

    put(now.root(), "second life");
    let again = now.power_loss(Survival::Strict).unwrap();
    assert_eq!(held(&again), "durable", "a second loss goes back to the same copy");
}

#[test]
fn pages_of_the_database_whose_sync_failed_stay_lost_until_they_are_written_again() {
    let disk = PowerLossDisk::new().unwrap();
    let documents = disk.root().join("documents");
    fs::create_dir_all(&documents).unwrap();
    let put = |byte: u8, pages: usize| fs::write(documents.join("0.jnl"), vec![byte; pages * PAGE_BYTES]).unwrap();
    let held = |disk: &PowerLossDisk| fs::read(disk.root().join("documents/0.jnl")).unwrap();
    put(1, 1);
    disk.sync_documents(&documents, &mut || Ok(())).unwrap();
    put(1, 2);
    disk.sync_documents(&documents, &mut || Err(std::io::ErrorKind::Other.into())).unwrap_err();
    put(1, 3);
    disk.sync_documents(&documents, &mut || Ok(())).unwrap();
    let pages: Vec<u8> =
        held(&disk.power_loss(Survival::Strict).unwrap()).chunks(PAGE_BYTES).map(|page| page[9]).collect();
    assert_eq!(pages, [1, 0, 1]);
}

#[test]
fn pages_of_the_database_that_are_written_again_are_there() {
    let disk = PowerLossDisk::new().unwrap();
    let documents = disk.root().join("documents");
    fs::create_dir_all(&documents).unwrap();
    fs::write(documents.join("0.jnl"), [1; PAGE_BYTES]).unwrap();
    disk.sync_documents(&documents, &mut || Err(std::io::ErrorKind::Other.into())).unwrap_err();
    disk.renew_documents(&documents).unwrap();
    disk.sync_documents(&documents, &mut || Ok(())).unwrap();
    let found = disk.power_loss(Survival::Strict).unwrap();
    assert_eq!(fs::read(found.root().join("documents/0.jnl")).unwrap(), [1; PAGE_BYTES]);
}
