//! The memory store.

/// placeholder
pub struct MemoryStore;
