//! What it costs the journal that a second thread fills segments behind it.
//!
//! The segment writer takes all that has gathered, appends each partition's share with one write
//! and without syncing, and syncs all files at a checkpoint, as often as the journal has been
//! written full once. The journal waits only when the segments lag far behind.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use prom_load::figures::count;

use super::{EVENT_BYTES, JOURNAL_BYTES};
use crate::args::Measure;
use crate::bare::{Allocation, BareFile, gathered};
use crate::table::{Table, ratio};

const EVENTS: usize = 1000;
const PARTITIONS: [usize; 4] = [1, 10, 100, 1000];
/// Batches the segments may lag behind before the journal waits for them.
const LAG_BATCHES: usize = 1024;
/// What the segment writer takes at a time, at most.
const FILL_BYTES: usize = 16 << 20;

pub fn measure(args: &Measure, dir: &Path) -> anyhow::Result<Table> {
    let columns = ["partitions", "journal alone ev/s", "journal + segments ev/s", "ratio"];
    let title = "The journal with segments filled behind it by a second thread (batches of 1000)";
    let mut table = Table::new(title, &columns);
    let allocation = Allocation::PreZeroed { bytes: JOURNAL_BYTES };
    let mut journal = BareFile::make(&dir.join("journal-behind"), allocation)?;
    for partitions in PARTITIONS {
        eprintln!("  journal + segments of {partitions} partitions");
        let alone = gathered(&mut journal, EVENT_BYTES, EVENTS, args.span())?;
        let segments = dir.join(format!("segments-{partitions}"));
        let both = with_segments(&mut journal, &segments, partitions, args.span())?;
        std::fs::remove_dir_all(&segments)?;
        table.row(vec![partitions.to_string(), count(alone), count(both), ratio(both, alone)]);
    }
    Ok(table)
}

/// Events per second in gathered batches of 1000 that are written and synced to a journal and, behind it, to segments.
pub fn with_segments(journal: &mut BareFile, dir: &Path, partitions: usize, span: Duration) -> io::Result<f64> {
    std::fs::create_dir(dir)?;
    let make = |partition: usize| {
        let path = dir.join(partition.to_string());
        OpenOptions::new().create_new(true).append(true).open(path)
    };
    let segments: Vec<_> = (0..partitions).map(make).collect::<Result<_, _>>()?;
    let (sender, receiver) = sync_channel::<Vec<u8>>(LAG_BATCHES);
    thread::scope(|scope| {
        let filler = scope.spawn(move || fill(segments, &receiver));
        let started = Instant::now();
        let mut written = 0;
        while started.elapsed() < span {
            let batch = vec![7; EVENT_BYTES * EVENTS];
            journal.write(&batch)?;
            journal.sync()?;
            written += EVENTS;
            if sender.send(batch).is_err() {
                break;
            }
        }
        drop(sender);
        // What still lags is part of the work, so the clock runs until it is written.
        filler.join().unwrap_or_else(|_| Err(io::Error::other("the segment writer panicked")))?;
        Ok(written as f64 / started.elapsed().as_secs_f64())
    })
}

fn fill(mut segments: Vec<File>, batches: &Receiver<Vec<u8>>) -> io::Result<()> {
    let mut since_checkpoint = 0;
    let mut gathered = Vec::new();
    while let Ok(bytes) = gather(batches, &mut gathered) {
        since_checkpoint += bytes as u64;
        let share = gathered.len().div_ceil(segments.len());
        for (segment, bytes) in segments.iter_mut().zip(gathered.chunks(share)) {
            segment.write_all(bytes)?;
        }
        gathered.clear();
        if since_checkpoint >= JOURNAL_BYTES {
            since_checkpoint = 0;
            segments.iter().try_for_each(File::sync_data)?;
        }
    }
    Ok(())
}

/// Waits for a batch and adds those that wait behind it; how many bytes that made.
fn gather(batches: &Receiver<Vec<u8>>, into: &mut Vec<u8>) -> Result<usize, RecvError> {
    into.extend_from_slice(&batches.recv()?);
    while into.len() < FILL_BYTES
        && let Ok(batch) = batches.try_recv()
    {
        into.extend_from_slice(&batch);
    }
    Ok(into.len())
}
