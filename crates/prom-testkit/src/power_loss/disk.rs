//! The disk itself: files in memory, power that can be cut at any operation.

use std::io;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use prom_store_embedded::{Create, Disk, DiskFile, RealDisk, WholeDisk};
use tempfile::TempDir;

use super::Survival;
use super::documents::{Aside, LostPages};
use super::state::DiskState;
use crate::Random;

/// A disk that can lose power. Clones are the same disk.
#[derive(Clone)]
pub struct PowerLossDisk(Arc<Shared>);

struct Shared {
    root: TempDir,
    machine: Mutex<Machine>,
    documents: Mutex<Option<Arc<Aside>>>,
    /// Pages of the database whose sync failed: they look written and are not, until they are written again.
    lost: Mutex<LostPages>,
}

struct Machine {
    state: DiskState,
    operations: u64,
    off_after: u64,
}

impl PowerLossDisk {
    /// An empty disk. Its root is a real, empty directory.
    pub fn new() -> io::Result<Self> {
        Self::holding(DiskState::empty())
    }

    fn holding(state: DiskState) -> io::Result<Self> {
        let machine = Machine { state, operations: 0, off_after: u64::MAX };
        let (documents, lost) = (Mutex::new(None), Mutex::default());
        Ok(Self(Arc::new(Shared { root: TempDir::new()?, machine: Mutex::new(machine), documents, lost })))
    }

    /// Where to open a store.
    pub fn root(&self) -> &Path {
        self.0.root.path()
    }

    /// Writes, syncs and changes of names so far.
    pub fn operations(&self) -> u64 {
        self.0.machine.lock().operations
    }

    /// Cuts the power after this many operations: the next one and all later ones fail.
    pub fn cut_power_after(&self, operations: u64) {
        self.0.machine.lock().off_after = operations;
    }

    pub fn is_off(&self) -> bool {
        self.0.machine.lock().is_off()
    }

    /// Cuts the power if it is still on and returns the disk as it may be found afterwards, with a new root, so that
    /// nothing still running on the dead machine can touch it.
    pub fn power_loss(&self, survival: Survival) -> io::Result<Self> {
        let seed = match survival {
            Survival::Random(seed) => seed,
            Survival::Strict | Survival::Everything => 0,
        };
        let mut random = Random::seeded(seed);
        let state = {
            let mut machine = self.0.machine.lock();
            machine.off_after = machine.off_after.min(machine.operations);
            machine.state.after_power_loss(survival, &mut random)
        };
        let found = Self::holding(state)?;
        let live_survives = match survival {
            Survival::Strict => false,
            Survival::Everything => true,
            Survival::Random(_) => random.one_in(2),
        };
        let aside = if live_survives {
            Some(Arc::new(Aside::take(self.root(), Path::new(""))?))
        } else {
            self.0.documents.lock().clone()
        };
        if let Some(aside) = &aside {
            aside.put_back(found.root())?;
        }
        *found.0.documents.lock() = aside;
        Ok(found)
    }

    fn relative<'a>(&self, path: &'a Path) -> io::Result<&'a Path> {
        path.strip_prefix(self.root()).map_err(|_| io::Error::other(format!("{} is not on this disk", path.display())))
    }
}

impl Machine {
    fn is_off(&self) -> bool {
        self.operations >= self.off_after
    }

    fn look(&mut self) -> io::Result<&mut DiskState> {
        if self.is_off() { Err(io::Error::other("the power is off")) } else { Ok(&mut self.state) }
    }

    fn change(&mut self) -> io::Result<&mut DiskState> {
        self.look()?;
        self.operations += 1;
        Ok(&mut self.state)
    }
}

impl Disk for PowerLossDisk {
    fn open(&self, path: &Path, create: Create) -> io::Result<Arc<dyn DiskFile>> {
        let path = self.relative(path)?;
        let mut machine = self.0.machine.lock();
        let file = match machine.look()?.file(path)? {
            Some(file) => file,
            None if create == Create::IfMissing => machine.change()?.make_file(path)?,
            None => return Err(io::ErrorKind::NotFound.into()),
        };
        let disk = self.clone();
        Ok(Arc::new(OpenFile { disk, file }))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let path = self.relative(path)?;
        self.0.machine.lock().change()?.remove(path)
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        let path = self.relative(path)?;
        self.0.machine.lock().change()?.make_directories(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let dir = self.relative(dir)?;
        let mut machine = self.0.machine.lock();
        let names = machine.look()?.directory(dir);
        Ok(names.map(|names| names.live().keys().cloned().collect()).unwrap_or_default())
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let dir = self.relative(dir)?;
        let mut machine = self.0.machine.lock();
        let names = machine.change()?.directory(dir).ok_or(io::ErrorKind::NotFound)?;
        names.sync();
        Ok(())
    }

    fn whole(&self, _dir: &Path) -> Option<Box<dyn WholeDisk>> {
        Some(Box::new(self.clone()))
    }

    fn sync_documents(&self, dir: &Path, sync: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()> {
        let place = self.relative(dir)?;
        self.0.machine.lock().look()?;
        let synced = sync();
        let mut documents = self.0.documents.lock();
        // Without a copy the database would come back older than promised, and a correct store would fail its test:
        // better to leave the power off.
        let now = Aside::take(self.root(), place).inspect_err(|_| self.cut_power_after(0))?;
        let mut lost = self.0.lost.lock();
        if synced.is_err() {
            lost.extend(now.changed_since(documents.as_deref())?);
        } else {
            now.lose(&lost)?;
            *documents = Some(Arc::new(now));
        }
        synced
    }

    fn renew_documents(&self, dir: &Path) -> io::Result<()> {
        RealDisk.renew_documents(dir)?;
        self.0.lost.lock().clear();
        Ok(())
    }
}

impl WholeDisk for PowerLossDisk {
    fn sync(&self) -> io::Result<()> {
        self.0.machine.lock().change()?.sync();
        Ok(())
    }
}

struct OpenFile {
    disk: PowerLossDisk,
    file: u64,
}

impl DiskFile for OpenFile {
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        let position = in_memory(position)?;
        let mut machine = self.disk.0.machine.lock();
        Ok(machine.look()?.contents(self.file)?.read(buffer, position))
    }

    fn write_at(&self, bytes: &[u8], position: u64) -> io::Result<()> {
        let position = in_memory(position)?;
        let mut machine = self.disk.0.machine.lock();
        machine.change()?.contents(self.file)?.write(bytes, position);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut machine = self.disk.0.machine.lock();
        machine.change()?.contents(self.file)?.sync();
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        let length = in_memory(length)?;
        let mut machine = self.disk.0.machine.lock();
        machine.change()?.contents(self.file)?.set_len(length);
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        let mut machine = self.disk.0.machine.lock();
        Ok(machine.look()?.contents(self.file)?.len() as u64)
    }
}

fn in_memory(position: u64) -> io::Result<usize> {
    usize::try_from(position).map_err(|_| io::ErrorKind::FileTooLarge.into())
}
