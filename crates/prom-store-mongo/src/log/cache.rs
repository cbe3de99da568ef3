//! Batches in memory: recently written, seen or read. The oldest are dropped first.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use hashbrown::HashMap;
use parking_lot::Mutex;
use prom_store::{LogName, Record};
use prom_types::Offset;

use crate::limits::CACHED_BATCH_BYTES;

/// A batch in the form that readers need.
#[derive(Debug)]
pub struct CachedBatch {
    pub base: Offset,
    pub next: Offset,
    pub records: Vec<Record>,
}

pub struct BatchCache {
    most_bytes: usize,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    logs: HashMap<LogName, BTreeMap<Offset, Arc<CachedBatch>>>,
    order: VecDeque<(LogName, Offset)>,
    bytes: usize,
}

impl BatchCache {
    pub fn new(most_bytes: usize) -> Self {
        Self { most_bytes, inner: Mutex::default() }
    }

    pub fn put(&self, log: &LogName, batch: CachedBatch) {
        let size = size(&batch);
        let base = batch.base;
        let mut inner = self.inner.lock();
        let of_log = inner.logs.entry_ref(log).or_default();
        let replaced = of_log.insert(base, Arc::new(batch));
        inner.bytes += size;
        match replaced {
            Some(replaced) => inner.bytes -= self::size(&replaced),
            None => inner.order.push_back((log.clone(), base)),
        }
        while inner.bytes > self.most_bytes {
            let Some((log, base)) = inner.order.pop_front() else { break };
            inner.remove(&log, base);
        }
    }

    /// The batch whose range covers `offset`, even if the event itself is gone.
    pub fn get(&self, log: &LogName, offset: Offset) -> Option<Arc<CachedBatch>> {
        let inner = self.inner.lock();
        let (_, batch) = inner.logs.get(log)?.range(..=offset).next_back()?;
        (offset < batch.next).then(|| batch.clone())
    }

    /// Forgets the batches of a log that was changed in the database.
    pub fn forget(&self, log: &LogName) {
        let mut inner = self.inner.lock();
        if let Some(batches) = inner.logs.remove(log) {
            inner.bytes -= batches.values().map(|batch| size(batch)).sum::<usize>();
            inner.order.retain(|(of, _)| of != log);
        }
    }
}

impl Inner {
    fn remove(&mut self, log: &LogName, base: Offset) {
        let Some(batches) = self.logs.get_mut(log) else { return };
        if let Some(batch) = batches.remove(&base) {
            self.bytes -= size(&batch);
        }
        if batches.is_empty() {
            self.logs.remove(log);
        }
    }
}

fn size(batch: &CachedBatch) -> usize {
    batch.records.iter().map(Record::len).sum::<usize>() + CACHED_BATCH_BYTES
}
