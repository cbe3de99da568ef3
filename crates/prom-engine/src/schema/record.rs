//! The registry in memory: a slot per topic, settings of the whole, and functions that the application gave.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use parking_lot::RwLock;
use prom_schema::{SchemaSettings, SettingsChange, TopicSchemas, UpcastFn};
use prom_types::TopicName;

use super::defer::DeferredBytes;
use super::slot::SchemaSlot;

/// Schemas of all topics.
pub(crate) struct SchemaRegistry {
    slots: RwLock<HashMap<TopicName, Arc<SchemaSlot>, RandomState>>,
    /// As configured.
    base: SchemaSettings,
    /// As changed since, durably.
    change: RwLock<SettingsChange>,
    functions: HashMap<TopicName, BTreeMap<u32, UpcastFn>>,
    pub(super) deferred: DeferredBytes,
    /// Something was registered since the start, or before it.
    is_used: AtomicBool,
}

impl SchemaRegistry {
    pub fn new(base: SchemaSettings, upcasters: &[(TopicName, u32, UpcastFn)]) -> Self {
        let mut functions: HashMap<TopicName, BTreeMap<u32, UpcastFn>> = HashMap::new();
        for (topic, from, function) in upcasters {
            functions.entry(topic.clone()).or_default().insert(*from, function.clone());
        }
        Self {
            slots: RwLock::default(),
            base,
            change: RwLock::default(),
            functions,
            deferred: DeferredBytes::default(),
            is_used: AtomicBool::new(false),
        }
    }

    /// No topic has a schema: nothing has to be looked up.
    pub fn is_empty(&self) -> bool {
        !self.is_used.load(Ordering::Acquire)
    }

    /// Some topic has a schema from now on.
    pub(super) fn set_used(&self) {
        self.is_used.store(true, Ordering::Release);
    }

    /// Stays the same for a topic, whatever is registered.
    pub fn slot(&self, topic: &TopicName) -> Arc<SchemaSlot> {
        if let Some(slot) = self.slots.read().get(topic) {
            return slot.clone();
        }
        self.slots.write().entry_ref(topic).or_default().clone()
    }

    /// Where a topic has anything registered.
    pub(super) fn known_slot(&self, topic: &str) -> Option<Arc<SchemaSlot>> {
        self.slots.read().get(topic).cloned()
    }

    /// What holds for every topic that says nothing else.
    pub(super) fn defaults(&self) -> SchemaSettings {
        self.base.with(&self.change.read())
    }

    pub(super) fn settings_of(&self, entry: &TopicSchemas) -> SchemaSettings {
        self.defaults().with(&entry.settings)
    }

    pub(super) fn change(&self) -> SettingsChange {
        *self.change.read()
    }

    pub(super) fn set_change(&self, change: SettingsChange) {
        *self.change.write() = change;
    }

    pub(super) fn functions_of(&self, topic: &TopicName) -> BTreeMap<u32, UpcastFn> {
        self.functions.get(topic).cloned().unwrap_or_default()
    }

    pub(super) fn all_slots(&self) -> Vec<(TopicName, Arc<SchemaSlot>)> {
        self.slots.read().iter().map(|(topic, slot)| (topic.clone(), slot.clone())).collect()
    }
}
