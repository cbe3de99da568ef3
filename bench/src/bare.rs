//! The disk without anything on top: what every other figure is compared with.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use prom_load::Latencies;

/// Whether the file's blocks are there before they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allocation {
    /// Every write makes the file longer, so that each sync also writes metadata.
    Growing,
    /// Written full of zeros and synced before; a sync writes the data alone.
    PreZeroed { bytes: u64 },
}

/// One file that is written from its start to its end, and then again.
pub struct BareFile {
    file: File,
    allocation: Allocation,
    position: u64,
}

impl BareFile {
    pub fn make(path: &Path, allocation: Allocation) -> io::Result<Self> {
        let file = OpenOptions::new().create_new(true).read(true).write(true).open(path)?;
        if let Allocation::PreZeroed { bytes } = allocation {
            let zeros = vec![0; 1 << 20];
            let mut position = 0;
            while position < bytes {
                let length = zeros.len().min(usize::try_from(bytes - position).unwrap_or(zeros.len()));
                file.write_all_at(&zeros[..length], position)?;
                position += length as u64;
            }
        }
        file.sync_all()?;
        Ok(Self { file, allocation, position: 0 })
    }

    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Allocation::PreZeroed { bytes: size } = self.allocation
            && self.position + bytes.len() as u64 > size
        {
            self.position = 0;
        }
        self.file.write_all_at(bytes, self.position)?;
        self.position += bytes.len() as u64;
        Ok(())
    }

    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

/// The time of write + fdatasync, one after the other.
pub fn write_and_sync(file: &mut BareFile, bytes: &[u8], samples: usize) -> io::Result<Latencies> {
    let mut latencies = Latencies::default();
    for _ in 0..samples {
        let started = Instant::now();
        file.write(bytes)?;
        file.sync()?;
        latencies.record(started.elapsed());
    }
    Ok(latencies)
}

/// Events per second when batches of `events` are gathered, written at once and synced once.
pub fn gathered(file: &mut BareFile, event_bytes: usize, events: usize, span: Duration) -> io::Result<f64> {
    let batch = vec![7; event_bytes * events];
    rate(events, span, || {
        file.write(&batch)?;
        file.sync()
    })
}

/// Events per second when each turn writes this many.
pub fn rate(events: usize, span: Duration, mut turn: impl FnMut() -> io::Result<()>) -> io::Result<f64> {
    let started = Instant::now();
    let mut written = 0;
    while started.elapsed() < span {
        turn()?;
        written += events;
    }
    Ok(written as f64 / started.elapsed().as_secs_f64())
}
