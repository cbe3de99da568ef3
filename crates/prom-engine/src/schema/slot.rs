//! Where a topic finds its schemas: one look at a flag where it has none.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::{Mutex, RwLock};
use tokio::sync::oneshot;

use super::compiled::CompiledTopic;

/// The schemas of one topic as they are now, and the events that wait to be judged by them.
#[derive(Debug, Default)]
pub(crate) struct SchemaSlot {
    is_set: AtomicBool,
    current: RwLock<Option<Arc<CompiledTopic>>>,
    /// Ends when the last in line was handed to the store.
    line: Mutex<Option<oneshot::Receiver<()>>>,
    waiting: AtomicUsize,
}

/// A place in the line of a topic. Dropping it lets the next one go on.
#[derive(Debug)]
pub(super) struct LineTurn {
    slot: Arc<SchemaSlot>,
    before: Option<oneshot::Receiver<()>>,
    _done: oneshot::Sender<()>,
}

impl SchemaSlot {
    pub fn load(&self) -> Option<Arc<CompiledTopic>> {
        if !self.is_set.load(Ordering::Acquire) {
            return None;
        }
        self.current.read().clone()
    }

    pub(super) fn set(&self, compiled: Option<Arc<CompiledTopic>>) {
        let mut current = self.current.write();
        self.is_set.store(compiled.is_some(), Ordering::Release);
        *current = compiled;
    }

    /// Takes this over unless something newer is known.
    pub(super) fn set_newer(&self, compiled: CompiledTopic) {
        let mut current = self.current.write();
        if current.as_ref().is_none_or(|current| current.revision <= compiled.revision) {
            self.is_set.store(true, Ordering::Release);
            *current = Some(Arc::new(compiled));
        }
    }

    /// Whether a payload of this length is judged elsewhere: it takes long, or others wait and it must not pass them.
    pub fn must_wait(&self, payload_bytes: usize) -> bool {
        if !self.is_set.load(Ordering::Acquire) {
            return false;
        }
        self.waiting.load(Ordering::Acquire) > 0
            || self.current.read().as_ref().is_some_and(|current| payload_bytes > current.quick_bytes)
    }

    /// Joins the line at its end.
    pub(super) fn join(self: &Arc<Self>) -> LineTurn {
        let (done, ended) = oneshot::channel();
        self.waiting.fetch_add(1, Ordering::AcqRel);
        let before = self.line.lock().replace(ended);
        LineTurn { slot: self.clone(), before, _done: done }
    }
}

impl LineTurn {
    /// All that joined before were handed to the store, or given up.
    pub async fn comes(&mut self) {
        if let Some(before) = self.before.take() {
            let _handed_over_or_dropped = before.await;
        }
    }
}

impl Drop for LineTurn {
    fn drop(&mut self) {
        if self.slot.waiting.fetch_sub(1, Ordering::AcqRel) == 1 {
            // Nobody waits: the next one finds an empty line.
            let mut line = self.slot.line.lock();
            if self.slot.waiting.load(Ordering::Acquire) == 0 {
                *line = None;
            }
        }
    }
}
