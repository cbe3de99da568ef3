//! A disk that checks the switches before every operation.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prom_store_embedded::{Create, Disk, DiskFile, WholeDisk};

use super::faults::{Faults, WriteAction, full};

/// A disk over another one, with faults.
pub struct FaultyDisk {
    below: Arc<dyn Disk>,
    faults: Arc<Faults>,
}

impl FaultyDisk {
    /// The disk and its switches, all of them off.
    pub fn over(below: Arc<dyn Disk>) -> (Self, Arc<Faults>) {
        let faults = Arc::new(Faults::default());
        let disk = Self { below, faults: faults.clone() };
        (disk, faults)
    }
}

impl Disk for FaultyDisk {
    fn open(&self, path: &Path, create: Create) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(FaultyFile {
            below: self.below.open(path, create)?,
            path: path.to_path_buf(),
            faults: self.faults.clone(),
        }))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.below.remove(path)
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.below.create_dir(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        self.below.list(dir)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.faults.before_sync(dir)?;
        self.below.sync_dir(dir)
    }

    fn whole(&self, dir: &Path) -> Option<Box<dyn WholeDisk>> {
        let below = self.below.whole(dir)?;
        Some(Box::new(FaultyWhole { below, segments: dir.join("segments"), faults: self.faults.clone() }))
    }

    /// The disk below learns of a sync that fails: what it should have made durable is lost.
    fn sync_documents(&self, dir: &Path, sync: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()> {
        match self.faults.before_sync(dir) {
            Ok(()) => self.below.sync_documents(dir, sync),
            Err(error) => {
                let mut error = Some(error);
                self.below.sync_documents(dir, &mut || Err(error.take().unwrap_or(io::ErrorKind::Other.into())))
            }
        }
    }

    fn renew_documents(&self, dir: &Path) -> io::Result<()> {
        self.below.renew_documents(dir)
    }
}

/// Only segments are synced this way, so it fails when they would.
struct FaultyWhole {
    below: Box<dyn WholeDisk>,
    segments: PathBuf,
    faults: Arc<Faults>,
}

impl WholeDisk for FaultyWhole {
    fn sync(&self) -> io::Result<()> {
        self.faults.before_sync(&self.segments)?;
        self.below.sync()
    }
}

struct FaultyFile {
    below: Arc<dyn DiskFile>,
    path: PathBuf,
    faults: Arc<Faults>,
}

impl DiskFile for FaultyFile {
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        self.faults.before_read(&self.path)?;
        self.below.read_at(buffer, position)
    }

    fn write_at(&self, bytes: &[u8], position: u64) -> io::Result<()> {
        let beyond = (position + bytes.len() as u64).saturating_sub(self.below.len()?);
        let growth = bytes.len().min(usize::try_from(beyond).unwrap_or(usize::MAX));
        match self.faults.before_write(&self.path, bytes.len(), growth) {
            WriteAction::Write => self.below.write_at(bytes, position),
            WriteAction::Cut(fits) => {
                self.below.write_at(&bytes[..fits], position)?;
                Err(full())
            }
        }
    }

    fn sync_data(&self) -> io::Result<()> {
        self.faults.before_sync(&self.path)?;
        self.below.sync_data()?;
        self.faults.after_sync(&self.path);
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.below.set_len(length)
    }

    fn len(&self) -> io::Result<u64> {
        self.below.len()
    }
}
