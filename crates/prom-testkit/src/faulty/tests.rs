//! Faults happen when and where they were asked for, and end when healed.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::{Duration, Instant};

use prom_store_embedded::{Create, Disk, DiskFile};

use super::{DiskCounts, FailsOn, FaultScope, Faults, FaultyDisk, Slow, flip_bit};
use crate::PowerLossDisk;

struct Bench {
    disk: FaultyDisk,
    below: PowerLossDisk,
    faults: Arc<Faults>,
}

impl Bench {
    fn new() -> Self {
        let below = PowerLossDisk::new().unwrap();
        let (disk, faults) = FaultyDisk::over(Arc::new(below.clone()));
        disk.create_dir(&below.root().join("journal")).unwrap();
        disk.create_dir(&below.root().join("segments")).unwrap();
        Self { disk, below, faults }
    }

    fn file(&self, name: &str) -> Arc<dyn DiskFile> {
        let path = self.below.root().join(name);
        self.disk.open(&path, Create::IfMissing).unwrap()
    }
}

#[test]
fn every_sync_fails_until_healed() {
    let bench = Bench::new();
    let file = bench.file("journal/1");
    bench.faults.fail_syncs(FaultScope::Everywhere, FailsOn::Every);
    assert!(file.sync_data().is_err());
    assert!(bench.disk.sync_dir(&bench.below.root().join("journal")).is_err());
    bench.faults.heal();
    assert!(file.sync_data().is_ok());
}

#[test]
fn only_the_nth_sync_in_that_scope_fails() {
    let bench = Bench::new();
    let (journal, segment) = (bench.file("journal/1"), bench.file("segments/1"));
    bench.faults.fail_syncs(FaultScope::Journal, FailsOn::Nth(2));
    let answers: Vec<_> = (0..3).map(|_| (journal.sync_data().is_ok(), segment.sync_data().is_ok())).collect();
    assert_eq!(answers, [(true, true), (false, true), (true, true)]);
}

#[test]
fn a_full_disk_takes_what_fits_and_says_that_it_is_full() {
    let bench = Bench::new();
    let (journal, segment) = (bench.file("journal/1"), bench.file("segments/1"));
    bench.faults.fill_up(FaultScope::Segments, 5);
    segment.write_at(b"123", 0).unwrap();
    let refused = segment.write_at(b"456", 3).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::StorageFull);
    assert_eq!(segment.len().unwrap(), 5);
    segment.write_at(b"54321", 0).expect("what is there can be overwritten");
    journal.write_at(b"there is room here", 0).unwrap();
}

#[test]
fn reads_fail_where_asked_for() {
    let bench = Bench::new();
    bench.faults.fail_reads(FaultScope::Segments);
    assert!(bench.file("segments/1").read_at(&mut [0], 0).is_err());
    assert!(bench.file("journal/1").read_at(&mut [0], 0).is_ok());
}

#[test]
fn a_flipped_bit_is_one_bit() {
    let bench = Bench::new();
    let file = bench.file("segments/1");
    file.write_at(&[0b1010; 3], 0).unwrap();
    let path = bench.below.root().join("segments/1");
    flip_bit(&bench.disk, &path, 1, 0).unwrap();
    let mut bytes = [0; 3];
    file.read_at(&mut bytes, 0).unwrap();
    assert_eq!(bytes, [0b1010, 0b1011, 0b1010]);
    assert!(flip_bit(&bench.disk, &path, 3, 0).is_err());
}

#[test]
fn delays_slow_what_they_name() {
    let bench = Bench::new();
    let file = bench.file("journal/1");
    let by = Duration::from_millis(20);
    bench.faults.delay(FaultScope::Journal, Slow::Syncs, by);
    let started = Instant::now();
    file.sync_data().unwrap();
    assert!(started.elapsed() >= by);
}

#[test]
fn operations_are_counted_by_scope() {
    let bench = Bench::new();
    let (journal, segment) = (bench.file("journal/1"), bench.file("segments/1"));
    journal.write_at(b"four", 0).unwrap();
    journal.sync_data().unwrap();
    segment.write_at(b"six666", 0).unwrap();
    segment.read_at(&mut [0], 0).unwrap();
    let journal = DiskCounts { writes: 1, bytes_written: 4, syncs: 1, reads: 0 };
    assert_eq!(bench.faults.counts(FaultScope::Journal), journal);
    assert_eq!(bench.faults.counts(FaultScope::Everywhere).bytes_written, 10);
    assert_eq!(bench.faults.counts(FaultScope::Segments).reads, 1);
}
