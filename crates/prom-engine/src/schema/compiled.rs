//! A topic's schemas, compiled: what admission and readers use.

use std::collections::BTreeMap;
use std::sync::Arc;

use prom_schema::{SchemaDocument, SchemaSettings, TopicSchemas, UpcastFn, Upcaster, Upcasters, Validator};
use prom_types::Headers;

use super::version::named_version;

/// Everything that is registered for a topic, ready for use. Never changed: a change makes another one.
#[derive(Debug)]
pub(crate) struct CompiledTopic {
    pub entry: TopicSchemas,
    pub settings: SchemaSettings,
    /// By version, deleted ones included: what is stored under them can still be read.
    pub versions: Vec<CompiledVersion>,
    pub upcasters: Upcasters,
    /// A payload of at most this many bytes is judged on the publisher's own thread.
    pub quick_bytes: usize,
    /// Of the document that this was made from.
    pub revision: u64,
}

/// One version.
#[derive(Debug, Clone)]
pub(crate) struct CompiledVersion {
    pub version: u32,
    pub deleted: bool,
    /// Needs no upcaster from the version before.
    pub backward: bool,
    pub document: Arc<SchemaDocument>,
    pub validator: Arc<Validator>,
}

/// A program in the registry that cannot be compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BadUpcaster {
    pub from: u32,
    pub reason: String,
}

impl CompiledTopic {
    /// Compiles the upcasters: not for a thread that serves others. Functions of the application win over programs.
    pub fn new(
        entry: TopicSchemas,
        settings: SchemaSettings,
        versions: Vec<CompiledVersion>,
        functions: &BTreeMap<u32, UpcastFn>,
        revision: u64,
    ) -> Result<Self, BadUpcaster> {
        let mut upcasters = Upcasters::default();
        for (&from, program) in &entry.upcasters {
            let step = Upcaster::jq(program).map_err(|error| BadUpcaster { from, reason: error.to_string() })?;
            upcasters.insert(from, step);
        }
        for (&from, function) in functions {
            upcasters.insert(from, Upcaster::Function(function.clone()));
        }
        let live = versions.iter().filter(|version| !version.deleted);
        let quick_bytes = quick_bytes(live.map(|version| version.validator.as_ref()));
        Ok(Self { entry, settings, versions, upcasters, quick_bytes, revision })
    }

    pub fn live(&self) -> impl DoubleEndedIterator<Item = &CompiledVersion> {
        self.versions.iter().filter(|version| !version.deleted)
    }

    pub fn latest(&self) -> Option<&CompiledVersion> {
        self.live().next_back()
    }

    /// The version that headers name, if it is one that events are published under.
    pub fn live_version_of(&self, headers: &Headers) -> Option<u32> {
        let named = named_version(headers).ok().flatten()?;
        self.live().any(|live| live.version == named).then_some(named)
    }

    pub fn version(&self, version: u32) -> Option<&CompiledVersion> {
        self.versions.iter().find(|compiled| compiled.version == version)
    }
}

/// Each of them may be tried.
fn quick_bytes<'v>(validators: impl Iterator<Item = &'v Validator>) -> usize {
    let width: usize = validators.map(Validator::width).sum();
    prom_schema::limits::INLINE_COST / width.max(1)
}
