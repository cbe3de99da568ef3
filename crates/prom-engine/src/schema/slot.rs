//! Where a topic finds its schemas: one look at a flag where it has none.
//!
//! ```text
//!   Unset ──registered──▶ PutAway ──first use──▶ Ready
//!                            ▲                     │ room is needed, or something else is registered
//!                            └─────────────────────┘
//! ```
//!
//! What is registered stays in memory and is small. What is compiled from it is made when it is first used, and put away when
//! other topics need the room ([`super::cache`]). An event of a topic whose schemas are put away is judged elsewhere, in line.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::{Mutex, RwLock};
use tokio::sync::oneshot;

use super::compiled::{CompiledTopic, RegisteredTopic};

/// The schemas of one topic as they are now, and the events that wait to be judged by them.
#[derive(Debug, Default)]
pub(crate) struct SchemaSlot {
    is_set: AtomicBool,
    current: RwLock<SlotContent>,
    /// Held while they are compiled: others wait for the same work.
    pub(super) compiling: tokio::sync::Mutex<()>,
    /// Ends when the last in line was handed to the store.
    line: Mutex<Option<oneshot::Receiver<()>>>,
    waiting: AtomicUsize,
}

#[derive(Debug, Default)]
struct SlotContent {
    registered: Option<Arc<RegisteredTopic>>,
    /// Of the topic's document.
    revision: u64,
    compiled: Option<Arc<CompiledTopic>>,
}

/// What a topic has.
#[derive(Debug)]
pub(crate) enum SlotSchemas {
    /// Nothing is registered.
    Unset,
    /// What is registered is not compiled; a part of it may be, from before it changed.
    PutAway(Arc<RegisteredTopic>, Option<Arc<CompiledTopic>>),
    Ready(Arc<CompiledTopic>),
}

/// A place in the line of a topic. Dropping it lets the next one go on.
#[derive(Debug)]
pub(super) struct LineTurn {
    slot: Arc<SchemaSlot>,
    before: Option<oneshot::Receiver<()>>,
    _done: oneshot::Sender<()>,
}

impl SlotContent {
    fn ready(&self) -> Option<&Arc<CompiledTopic>> {
        let (compiled, registered) = (self.compiled.as_ref()?, self.registered.as_ref()?);
        Arc::ptr_eq(&compiled.registered, registered).then_some(compiled)
    }
}

impl SchemaSlot {
    pub fn load(&self) -> SlotSchemas {
        if !self.is_set.load(Ordering::Acquire) {
            return SlotSchemas::Unset;
        }
        let current = self.current.read();
        match (current.ready(), &current.registered) {
            (Some(ready), _) => {
                ready.note_use();
                SlotSchemas::Ready(ready.clone())
            }
            (None, Some(registered)) => SlotSchemas::PutAway(registered.clone(), current.compiled.clone()),
            (None, None) => SlotSchemas::Unset,
        }
    }

    /// What is registered, whether or not it is compiled.
    pub fn registered(&self) -> Option<Arc<RegisteredTopic>> {
        if !self.is_set.load(Ordering::Acquire) {
            return None;
        }
        self.current.read().registered.clone()
    }

    /// Nothing is registered any more.
    pub(super) fn clear(&self) {
        let mut current = self.current.write();
        self.is_set.store(false, Ordering::Release);
        *current = SlotContent::default();
    }

    /// Takes this over unless something newer is known. What says the same changes nothing.
    pub(super) fn set_newer(&self, registered: RegisteredTopic, revision: u64) {
        let mut current = self.current.write();
        if current.registered.is_some() && current.revision > revision {
            return;
        }
        current.revision = revision;
        if current.registered.as_deref() != Some(&registered) {
            current.registered = Some(Arc::new(registered));
        }
        self.is_set.store(true, Ordering::Release);
    }

    /// Takes over what was compiled. False if something else is registered by now.
    pub(super) fn set_compiled(&self, compiled: &Arc<CompiledTopic>) -> bool {
        let mut current = self.current.write();
        let is_current = current.registered.as_ref().is_some_and(|now| Arc::ptr_eq(now, &compiled.registered));
        if is_current {
            current.compiled = Some(compiled.clone());
        }
        is_current
    }

    /// Gives up what is compiled, unless it was used since it was last asked.
    pub(super) fn put_away_unused(&self) -> bool {
        let mut current = self.current.write();
        let is_unused = current.compiled.as_ref().is_none_or(|compiled| !compiled.take_use());
        if is_unused {
            current.compiled = None;
        }
        is_unused
    }

    /// Whether a payload of this length is judged elsewhere: it takes long, or others wait and it must not pass them.
    pub fn must_wait(&self, payload_bytes: usize) -> bool {
        if !self.is_set.load(Ordering::Acquire) {
            return false;
        }
        self.waiting.load(Ordering::Acquire) > 0
            || self.current.read().ready().is_none_or(|ready| payload_bytes > ready.quick_bytes)
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
