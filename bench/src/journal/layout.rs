//! One journal with a sync per gathered batch, against a file per partition with a sync each.
//!
//! Both kinds of file are pre-zeroed, so that only the layout differs. A batch is spread evenly over
//! the partitions. The files are synced by one thread in turn, and by eight at once (each with its
//! own share of the partitions), which is as good as a file per partition gets.

use std::path::Path;
use std::thread;
use std::time::Duration;

use prom_load::figures::count;

use super::{EVENT_BYTES, JOURNAL_BYTES};
use crate::args::Measure;
use crate::bare::{Allocation, BareFile, gathered, rate};
use crate::table::{Table, ratio};

const BATCHES: [usize; 3] = [1, 64, 1000];
const PARTITIONS: [usize; 4] = [1, 10, 100, 1000];
const SYNC_THREADS: usize = 8;
const SMALLEST_FILE_BYTES: u64 = 320 << 10;

pub fn measure(args: &Measure, dir: &Path) -> anyhow::Result<Table> {
    let columns =
        ["batch", "partitions", "journal ev/s", "files, 1 thread", "files, 8 threads", "journal / best files"];
    let title = "One journal against a file per partition (300-byte events, fdatasync before every answer)";
    let mut table = Table::new(title, &columns);
    for events in BATCHES {
        let allocation = Allocation::PreZeroed { bytes: JOURNAL_BYTES };
        let mut journal = BareFile::make(&dir.join(format!("journal-{events}")), allocation)?;
        for partitions in PARTITIONS {
            eprintln!("  batches of {events} over {partitions} partitions");
            // The journal does not care how many there are; measured again as the peer of each row.
            let one = gathered(&mut journal, EVENT_BYTES, events, args.span() / 2)?;
            let files = dir.join(format!("partitions-{events}-{partitions}"));
            let mut files = make_files(&files, partitions)?;
            let alone = per_partition(&mut files, events, args.span() / 2)?;
            let together = in_parallel(&mut files, events, args.span() / 2)?;
            table.row(vec![
                events.to_string(),
                partitions.to_string(),
                count(one),
                count(alone),
                count(together),
                ratio(one, alone.max(together)),
            ]);
        }
        std::fs::remove_dir_all(dir.join(format!("partitions-{events}-1000")))?;
    }
    Ok(table)
}

fn make_files(dir: &Path, partitions: usize) -> std::io::Result<Vec<BareFile>> {
    std::fs::create_dir(dir)?;
    let bytes = (JOURNAL_BYTES / partitions as u64).max(SMALLEST_FILE_BYTES);
    (0..partitions)
        .map(|partition| BareFile::make(&dir.join(partition.to_string()), Allocation::PreZeroed { bytes }))
        .collect()
}

/// Events per second of one writer: per batch it writes and syncs each file that got a share.
fn per_partition(files: &mut [BareFile], events: usize, span: Duration) -> std::io::Result<f64> {
    let touched = files.len().min(events);
    let share = vec![7; EVENT_BYTES * events / touched];
    let mut first = 0;
    rate(events, span, || {
        for step in 0..touched {
            let file = (first + step) % files.len();
            files[file].write(&share)?;
        }
        for step in 0..touched {
            files[(first + step) % files.len()].sync()?;
        }
        first = (first + touched) % files.len();
        Ok(())
    })
}

/// The same by several writers, each with its share of the partitions and of the batch.
fn in_parallel(files: &mut [BareFile], events: usize, span: Duration) -> std::io::Result<f64> {
    let writers = SYNC_THREADS.min(files.len());
    let share = events.div_ceil(writers);
    let files_each = files.len().div_ceil(writers);
    thread::scope(|scope| {
        let running: Vec<_> =
            files.chunks_mut(files_each).map(|files| scope.spawn(move || per_partition(files, share, span))).collect();
        running
            .into_iter()
            .map(|writer| writer.join().unwrap_or_else(|_| Err(std::io::Error::other("a writer panicked"))))
            .sum()
    })
}
