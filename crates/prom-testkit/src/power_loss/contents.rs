//! One file: its live bytes, and the earlier versions of every page written since the last sync.

use std::collections::BTreeMap;

use super::Survival;
use crate::Random;

pub(super) const PAGE_BYTES: usize = 4096;
const SECTOR_BYTES: usize = 512;
/// Versions of one page that may have reached the disk. A page is rarely written more often between two syncs, and more
/// versions would add little.
const VERSIONS_KEPT: usize = 4;

type Page = Box<[u8]>;

#[derive(Debug, Clone, Default)]
pub(super) struct Contents {
    live: Vec<u8>,
    synced_len: usize,
    /// By page number, oldest first: the synced version, then those between it and the live one.
    unsynced: BTreeMap<usize, Vec<Page>>,
}

impl Contents {
    pub(super) fn settled(bytes: Vec<u8>) -> Self {
        Self { synced_len: bytes.len(), live: bytes, unsynced: BTreeMap::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.live.len()
    }

    pub(super) fn read(&self, buffer: &mut [u8], position: usize) -> usize {
        let available = self.live.get(position..).unwrap_or_default();
        let length = buffer.len().min(available.len());
        buffer[..length].copy_from_slice(&available[..length]);
        length
    }

    pub(super) fn write(&mut self, bytes: &[u8], position: usize) {
        let end = position + bytes.len();
        self.remember(position, end);
        if end > self.live.len() {
            self.live.resize(end, 0);
        }
        self.live[position..end].copy_from_slice(bytes);
    }

    pub(super) fn set_len(&mut self, length: usize) {
        self.remember(length, self.live.len());
        self.live.resize(length, 0);
    }

    pub(super) fn sync(&mut self) {
        self.synced_len = self.live.len();
        self.unsynced.clear();
    }

    /// Keeps the pages of a range as they are now.
    fn remember(&mut self, from: usize, to: usize) {
        if from >= to {
            return;
        }
        for number in from / PAGE_BYTES..=(to - 1) / PAGE_BYTES {
            let page = page_of(&self.live, number);
            let versions = self.unsynced.entry(number).or_default();
            if versions.len() < VERSIONS_KEPT {
                versions.push(page);
            }
        }
    }

    /// What the file may hold after the power loss.
    pub(super) fn after_power_loss(&self, survival: Survival, random: &mut Random) -> Vec<u8> {
        let length = match survival {
            Survival::Everything => return self.live.clone(),
            Survival::Strict => self.synced_len,
            Survival::Random(_) => self.surviving_length(random),
        };
        let mut bytes = self.live.clone();
        bytes.resize(length.max(self.live.len()), 0);
        for (&number, versions) in &self.unsynced {
            let page = match survival {
                Survival::Strict => versions[0].clone(),
                _ => self.surviving_page(number, versions, random),
            };
            let start = (number * PAGE_BYTES).min(bytes.len());
            let end = (start + PAGE_BYTES).min(bytes.len());
            bytes[start..end].copy_from_slice(&page[..end - start]);
        }
        bytes.truncate(length);
        bytes
    }

    fn surviving_length(&self, random: &mut Random) -> usize {
        let (synced, live) = (self.synced_len, self.live.len());
        let between = synced.min(live) + random.index(synced.abs_diff(live) + 1);
        [synced, live, between][random.index(3)]
    }

    fn surviving_page(&self, number: usize, versions: &[Page], random: &mut Random) -> Page {
        let mut candidates = versions.to_vec();
        // A truncated page is there either as it was or not at all, never as zeros.
        if number * PAGE_BYTES < self.live.len() {
            candidates.push(page_of(&self.live, number));
        }
        let newest = candidates.len() - 1;
        match random.index(3) {
            0 => candidates[0].clone(),
            1 => candidates[newest].clone(),
            _ => {
                let mut torn = candidates[random.index(candidates.len())].clone();
                for sector in (0..PAGE_BYTES).step_by(SECTOR_BYTES) {
                    let from = &candidates[random.index(candidates.len())];
                    torn[sector..sector + SECTOR_BYTES].copy_from_slice(&from[sector..sector + SECTOR_BYTES]);
                }
                torn
            }
        }
    }
}

/// A page, padded with zeros beyond the end.
fn page_of(bytes: &[u8], number: usize) -> Page {
    let start = (number * PAGE_BYTES).min(bytes.len());
    let end = (start + PAGE_BYTES).min(bytes.len());
    let mut page = vec![0; PAGE_BYTES].into_boxed_slice();
    page[..end - start].copy_from_slice(&bytes[start..end]);
    page
}
