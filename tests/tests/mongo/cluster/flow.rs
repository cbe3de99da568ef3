//! The flow of events: how recent the newest delivery of each partition is, for each group.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use super::PromisedGroup;

pub struct Flow(HashMap<(&'static str, u32), AtomicU64>);

impl Flow {
    pub fn new(groups: &[PromisedGroup], partitions: u32) -> Self {
        let places = groups.iter().flat_map(|group| (0..partitions).map(move |partition| (group.name, partition)));
        Self(places.map(|place| (place, AtomicU64::new(0))).collect())
    }

    /// An event published at this time was handled.
    pub fn note(&self, group: &'static str, partition: u32, published_us: u64) {
        if let Some(newest) = self.0.get(&(group, partition)) {
            newest.fetch_max(published_us, Ordering::Relaxed);
        }
    }

    /// Whether every partition of every group has handled an event published after this time.
    pub fn is_past(&self, time_us: u64) -> bool {
        self.0.values().all(|newest| newest.load(Ordering::Relaxed) > time_us)
    }

    /// The partitions that have not.
    pub fn dry(&self, time_us: u64) -> Vec<(&'static str, u32)> {
        let dry = self.0.iter().filter(|(_, newest)| newest.load(Ordering::Relaxed) <= time_us);
        dry.map(|(place, _)| *place).collect()
    }
}
