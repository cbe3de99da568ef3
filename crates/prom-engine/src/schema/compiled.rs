//! A topic's schemas: what is registered, and what is compiled from it for admission and readers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use prom_schema::{SchemaSettings, TopicSchemas, UpcastFn, Upcaster, Upcasters, Validator};
use prom_types::Headers;

use super::version::named_version;

/// What is registered for a topic. Never changed: a change makes another one.
#[derive(Debug, PartialEq)]
pub(crate) struct RegisteredTopic {
    pub entry: TopicSchemas,
    pub settings: SchemaSettings,
}

/// The same, ready for use.
#[derive(Debug)]
pub(crate) struct CompiledTopic {
    pub registered: Arc<RegisteredTopic>,
    /// Those that are not deleted, oldest first. Nothing is judged by a deleted one.
    pub live: Vec<CompiledVersion>,
    pub upcasters: Upcasters,
    /// A payload of at most this many bytes is judged on the publisher's own thread.
    pub quick_bytes: usize,
    is_used: AtomicBool,
}

/// One version.
#[derive(Debug, Clone)]
pub(crate) struct CompiledVersion {
    pub version: u32,
    /// Or why it cannot be used: it accepts nothing then.
    pub validator: Result<Arc<Validator>, Arc<str>>,
}

impl RegisteredTopic {
    /// The version that headers name, if it is one that events are published under.
    pub fn live_version_of(&self, headers: &Headers) -> Option<u32> {
        let named = named_version(headers).ok().flatten()?;
        self.entry.live().any(|live| live.version == named).then_some(named)
    }
}

impl CompiledTopic {
    /// Compiles the upcasters: not for a thread that serves others. Functions of the application win over programs.
    pub fn new(
        registered: Arc<RegisteredTopic>,
        live: Vec<CompiledVersion>,
        functions: &BTreeMap<u32, UpcastFn>,
    ) -> Self {
        let mut upcasters = Upcasters::default();
        for (&from, program) in &registered.entry.upcasters {
            let step = Upcaster::jq(program).unwrap_or_else(|error| {
                let (topic, reason) = (&registered.entry.topic, error.to_string());
                tracing::error!(%topic, from, reason, "an upcaster cannot be used; events that need it are not upcast");
                Upcaster::Unusable(format!("it is not valid jq: {reason}"))
            });
            upcasters.insert(from, step);
        }
        for (&from, function) in functions {
            upcasters.insert(from, Upcaster::Function(function.clone()));
        }
        let quick_bytes = quick_bytes(live.iter().filter_map(|live| live.validator.as_deref().ok()));
        Self { registered, live, upcasters, quick_bytes, is_used: AtomicBool::new(true) }
    }

    pub fn latest(&self) -> Option<&CompiledVersion> {
        self.live.last()
    }

    pub fn live(&self, version: u32) -> Option<&CompiledVersion> {
        self.live.iter().find(|live| live.version == version)
    }

    /// What all of it takes in memory, roughly.
    pub fn memory_bytes(&self) -> usize {
        self.live.iter().filter_map(|live| live.validator.as_ref().ok()).map(|validator| validator.memory_bytes()).sum()
    }

    /// Somebody uses it. Usually that is known, and then nothing is written.
    pub(super) fn note_use(&self) {
        if !self.is_used.load(Ordering::Relaxed) {
            self.is_used.store(true, Ordering::Relaxed);
        }
    }

    /// Whether it was used since this was last asked.
    pub(super) fn take_use(&self) -> bool {
        self.is_used.swap(false, Ordering::Relaxed)
    }
}

/// Each of them may be tried.
fn quick_bytes<'v>(validators: impl Iterator<Item = &'v Validator>) -> usize {
    let width: usize = validators.map(Validator::width).sum();
    prom_schema::limits::INLINE_COST / width.max(1)
}
