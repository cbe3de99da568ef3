//! All files and directories of one disk, by path below its root.

use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::Survival;
use super::contents::Contents;
use super::names::{DirectoryEntry, DirectoryNames};
use crate::Random;

#[derive(Debug)]
pub(super) struct DiskState {
    /// Paths are relative to the root, which is the empty path and always exists.
    directories: BTreeMap<PathBuf, DirectoryNames>,
    files: BTreeMap<u64, Contents>,
    next_file: u64,
}

impl DiskState {
    pub(super) fn empty() -> Self {
        Self {
            directories: BTreeMap::from([(PathBuf::new(), DirectoryNames::default())]),
            files: BTreeMap::new(),
            next_file: 0,
        }
    }

    pub(super) fn file(&self, path: &Path) -> io::Result<Option<u64>> {
        let (directory, name) = split(path)?;
        let names = self.directories.get(directory).ok_or_else(not_found)?;
        match names.live().get(name) {
            Some(DirectoryEntry::File(file)) => Ok(Some(*file)),
            Some(DirectoryEntry::Directory) => Err(io::ErrorKind::IsADirectory.into()),
            None => Ok(None),
        }
    }

    pub(super) fn make_file(&mut self, path: &Path) -> io::Result<u64> {
        let (directory, name) = split(path)?;
        let names = self.directories.get_mut(directory).ok_or_else(not_found)?;
        let file = self.next_file;
        self.next_file += 1;
        names.add(name.to_owned(), DirectoryEntry::File(file));
        self.files.insert(file, Contents::default());
        Ok(file)
    }

    /// The file itself stays: open handles, and a name that comes back, still refer to it.
    pub(super) fn remove(&mut self, path: &Path) -> io::Result<()> {
        self.file(path)?.ok_or_else(not_found)?;
        let (directory, name) = split(path)?;
        let names = self.directories.get_mut(directory).ok_or_else(not_found)?;
        names.remove(name).map(|_| ()).ok_or_else(not_found)
    }

    pub(super) fn make_directories(&mut self, path: &Path) -> io::Result<()> {
        let mut parent = PathBuf::new();
        for component in path.components() {
            let Component::Normal(name) = component else {
                return Err(io::ErrorKind::InvalidInput.into());
            };
            let name = name.to_string_lossy().into_owned();
            let names = self.directories.get_mut(&parent).ok_or_else(not_found)?;
            match names.live().get(&name) {
                Some(DirectoryEntry::File(_)) => return Err(io::ErrorKind::NotADirectory.into()),
                Some(DirectoryEntry::Directory) => {}
                None => names.add(name.clone(), DirectoryEntry::Directory),
            }
            parent.push(name);
            self.directories.entry(parent.clone()).or_default();
        }
        Ok(())
    }

    pub(super) fn directory(&mut self, path: &Path) -> Option<&mut DirectoryNames> {
        self.directories.get_mut(path)
    }

    pub(super) fn contents(&mut self, file: u64) -> io::Result<&mut Contents> {
        self.files.get_mut(&file).ok_or_else(not_found)
    }

    /// Everything in its current state.
    pub(super) fn sync(&mut self) {
        self.directories.values_mut().for_each(DirectoryNames::sync);
        self.files.values_mut().for_each(Contents::sync);
    }

    /// The disk as it could be found; everything on it counts as synced.
    pub(super) fn after_power_loss(&self, survival: Survival, random: &mut Random) -> Self {
        let mut found = Self { next_file: self.next_file, ..Self::empty() };
        let mut reachable = vec![PathBuf::new()];
        while let Some(path) = reachable.pop() {
            let Some(names) = self.directories.get(&path) else {
                continue;
            };
            let surviving = names.after_power_loss(survival, random);
            for (name, child) in &surviving {
                match child {
                    DirectoryEntry::Directory => reachable.push(path.join(name)),
                    DirectoryEntry::File(file) => {
                        let contents = self.files.get(file).map(|it| it.after_power_loss(survival, random));
                        found.files.insert(*file, Contents::settled(contents.unwrap_or_default()));
                    }
                }
            }
            found.directories.insert(path, DirectoryNames::settled(surviving));
        }
        found
    }
}

fn split(path: &Path) -> io::Result<(&Path, &str)> {
    let name = path.file_name().and_then(|name| name.to_str());
    match (path.parent(), name) {
        (Some(directory), Some(name)) => Ok((directory, name)),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

fn not_found() -> io::Error {
    io::ErrorKind::NotFound.into()
}
