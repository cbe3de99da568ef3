//! Changes since the last checkpoint, in memory, ordered. Bounded by what the journal may hold.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use bytes::Bytes;

/// Changes by key; `None` is a deletion.
pub(crate) type Writes = Arc<BTreeMap<Vec<u8>, Option<Bytes>>>;

#[derive(Default)]
pub(super) struct Overlay {
    current: BTreeMap<Vec<u8>, Option<Bytes>>,
    /// What a checkpoint is writing right now.
    flushing: Writes,
}

impl Overlay {
    pub(super) fn get(&self, key: &[u8]) -> Option<Option<Bytes>> {
        self.current.get(key).or_else(|| self.flushing.get(key)).cloned()
    }

    pub(super) fn put(&mut self, key: Vec<u8>, value: Option<Bytes>) {
        self.current.insert(key, value);
    }

    pub(super) fn range(&self, prefix: &[u8], from: Bound<Vec<u8>>) -> BTreeMap<Vec<u8>, Option<Bytes>> {
        let within = |(key, value): (&Vec<u8>, &Option<Bytes>)| (key.clone(), value.clone());
        let of_prefix = |(key, _): &(&Vec<u8>, &Option<Bytes>)| key.starts_with(prefix);
        let range = (from, Bound::Unbounded);
        let mut merged: BTreeMap<_, _> = self.flushing.range(range.clone()).take_while(of_prefix).map(within).collect();
        merged.extend(self.current.range(range).take_while(of_prefix).map(within));
        merged
    }

    /// After a checkpoint that failed, what it was to write is still here and goes into the next.
    pub(super) fn begin_flush(&mut self) -> Writes {
        let newer = std::mem::take(&mut self.current);
        match Arc::get_mut(&mut self.flushing) {
            Some(unwritten) => unwritten.extend(newer),
            None => {
                self.flushing =
                    Arc::new(self.flushing.iter().map(|(k, v)| (k.clone(), v.clone())).chain(newer).collect())
            }
        }
        self.flushing.clone()
    }

    pub(super) fn end_flush(&mut self) {
        self.flushing = Arc::default();
    }
}
