//! A bounded number of open files, however many logs there are.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::disk::{Create, Disk, DiskFile};

/// Hands out open files and closes the ones unused for longest. A file in use stays open through its `Arc`.
pub(crate) struct OpenFiles {
    disk: Arc<dyn Disk>,
    most: usize,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    files: HashMap<PathBuf, (Arc<dyn DiskFile>, u64)>,
    clock: u64,
}

impl OpenFiles {
    pub(crate) fn new(disk: Arc<dyn Disk>, most: usize) -> Self {
        Self { disk, most: most.max(1), open: Mutex::default() }
    }

    pub(crate) fn get(&self, path: &Path, create: Create) -> io::Result<Arc<dyn DiskFile>> {
        let mut open = self.open.lock();
        open.clock += 1;
        let now = open.clock;
        if let Some((file, used)) = open.files.get_mut(path) {
            *used = now;
            return Ok(file.clone());
        }
        let file = self.disk.open(path, create)?;
        if open.files.len() >= self.most {
            // A sweep frees an eighth at once, so that cycling over many files stays cheap.
            let mut ages: Vec<u64> = open.files.values().map(|(_, used)| *used).collect();
            ages.sort_unstable();
            let cut = ages[ages.len() / 8];
            open.files.retain(|_, (_, used)| *used > cut);
        }
        open.files.insert(path.to_path_buf(), (file.clone(), now));
        Ok(file)
    }

    pub(crate) fn forget(&self, path: &Path) {
        self.open.lock().files.remove(path);
    }

    pub(crate) fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }
}
