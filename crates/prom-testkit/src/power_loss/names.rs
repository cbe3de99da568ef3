//! One directory: its live names and its synced names.

use std::collections::{BTreeMap, BTreeSet};

use super::Survival;
use crate::Random;

/// What a name refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DirectoryEntry {
    File(u64),
    Directory,
}

#[derive(Debug, Clone, Default)]
pub(super) struct DirectoryNames {
    live: BTreeMap<String, DirectoryEntry>,
    synced: BTreeMap<String, DirectoryEntry>,
}

impl DirectoryNames {
    pub(super) fn settled(names: BTreeMap<String, DirectoryEntry>) -> Self {
        Self { live: names.clone(), synced: names }
    }

    pub(super) fn live(&self) -> &BTreeMap<String, DirectoryEntry> {
        &self.live
    }

    pub(super) fn add(&mut self, name: String, child: DirectoryEntry) {
        self.live.insert(name, child);
    }

    pub(super) fn remove(&mut self, name: &str) -> Option<DirectoryEntry> {
        self.live.remove(name)
    }

    pub(super) fn sync(&mut self) {
        self.synced.clone_from(&self.live);
    }

    pub(super) fn after_power_loss(&self, survival: Survival, random: &mut Random) -> BTreeMap<String, DirectoryEntry> {
        match survival {
            Survival::Strict => self.synced.clone(),
            Survival::Everything => self.live.clone(),
            Survival::Random(_) => {
                let names: BTreeSet<_> = self.live.keys().chain(self.synced.keys()).collect();
                let surviving = |name: &String| Some((name.clone(), self.surviving(name, random)?));
                names.into_iter().filter_map(surviving).collect()
            }
        }
    }

    fn surviving(&self, name: &str, random: &mut Random) -> Option<DirectoryEntry> {
        let (synced, live) = (self.synced.get(name).copied(), self.live.get(name).copied());
        match (synced, live) {
            (Some(old), Some(new)) if old == new => Some(old),
            // Removed and created again: either of them, or the moment between.
            (Some(_), Some(_)) => [synced, None, live][random.index(3)],
            _ => [synced, live][random.index(2)],
        }
    }
}
