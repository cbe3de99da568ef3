//! The registry in memory: a slot per topic, settings of the whole, and functions that the application gave.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use parking_lot::{Mutex, RwLock};
use prom_schema::{SchemaSettings, SettingsChange, TopicSchemas, UpcastFn};
use prom_types::TopicName;

use super::cache::SchemaCache;
use super::compiled::CompiledTopic;
use super::defer::DeferredBytes;
use super::slot::SchemaSlot;
use crate::limits::COMPILED_SCHEMAS_BYTES;

/// Slots from which on those that nobody uses are looked for before the map grows.
const SWEEP_FROM: usize = 1000;

/// Schemas of all topics.
pub(crate) struct SchemaRegistry {
    slots: RwLock<HashMap<TopicName, Arc<SchemaSlot>, RandomState>>,
    /// As configured.
    base: SchemaSettings,
    /// As changed since, durably.
    change: RwLock<SettingsChange>,
    functions: HashMap<TopicName, BTreeMap<u32, UpcastFn>>,
    pub(super) deferred: DeferredBytes,
    cache: Mutex<SchemaCache>,
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
            cache: Mutex::default(),
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
        let mut slots = self.slots.write();
        if slots.len() >= SWEEP_FROM && slots.len() == slots.capacity() {
            // It would grow. Names of topics that are gone, or never came to be, are given up first: nobody else has
            // their slot, and nobody can get it while this is locked.
            slots.retain(|_, slot| slot.registered().is_some() || Arc::strong_count(slot) > 1);
        }
        slots.entry_ref(topic).or_default().clone()
    }

    /// Where a topic has anything registered.
    pub fn known_slot(&self, topic: &str) -> Option<Arc<SchemaSlot>> {
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

    /// The schemas of a topic were compiled: where all take too much, those of others are put away.
    pub(super) fn charge(&self, compiled: &CompiledTopic) {
        let put_away = |topic: &TopicName| self.known_slot(topic).is_none_or(|slot| slot.put_away_unused());
        let topic = &compiled.registered.entry.topic;
        self.cache.lock().charge(topic, compiled.memory_bytes(), COMPILED_SCHEMAS_BYTES, put_away);
    }

    pub(super) fn all_slots(&self) -> Vec<(TopicName, Arc<SchemaSlot>)> {
        self.slots.read().iter().map(|(topic, slot)| (topic.clone(), slot.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_nobody_uses_do_not_pile_up() {
        let registry = SchemaRegistry::new(SchemaSettings::default(), &[]);
        let name = |number: usize| TopicName::parse(&format!("t{number}")).unwrap();
        let used = registry.slot(&name(0));
        for number in 1..20 * SWEEP_FROM {
            drop(registry.slot(&name(number)));
        }
        assert!(registry.slots.read().len() < 4 * SWEEP_FROM);
        assert!(Arc::ptr_eq(&used, &registry.slot(&name(0))));
    }
}
