//! One directory: its live names beside those that were synced.

use std::collections::{BTreeMap, BTreeSet};

use super::Survival;
use crate::Random;

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Child {
    File(u64),
    Directory,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    live: BTreeMap<String, Child>,
    synced: BTreeMap<String, Child>,
}

impl Names {
    pub(super) fn settled(names: BTreeMap<String, Child>) -> Self {
        Self { live: names.clone(), synced: names }
    }

    pub(super) fn live(&self) -> &BTreeMap<String, Child> {
        &self.live
    }

    pub(super) fn add(&mut self, name: String, child: Child) {
        self.live.insert(name, child);
    }

    pub(super) fn remove(&mut self, name: &str) -> Option<Child> {
        self.live.remove(name)
    }

    pub(super) fn sync(&mut self) {
        self.synced.clone_from(&self.live);
    }

    pub(super) fn after_power_loss(&self, survival: Survival, random: &mut Random) -> BTreeMap<String, Child> {
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

    fn surviving(&self, name: &str, random: &mut Random) -> Option<Child> {
        let (synced, live) = (self.synced.get(name).copied(), self.live.get(name).copied());
        match (synced, live) {
            (Some(old), Some(new)) if old == new => Some(old),
            // Removed and made again: either, or the moment between.
            (Some(_), Some(_)) => [synced, None, live][random.index(3)],
            _ => [synced, live][random.index(2)],
        }
    }
}
