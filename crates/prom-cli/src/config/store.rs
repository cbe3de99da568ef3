//! `[store]`: what keeps the events.

use prom_engine::limits::COMPACTION_BYTES_PER_S;

use super::section::ConfigSection;
use super::value;

pub const TEXT: &str = r#"[store]
# "embedded" keeps everything in `data` of [server]; "mongo" in the replica set of [mongo], which several hubs share;
# "memory" keeps it until the hub ends.
#kind = "embedded"
# When a publish is answered: "fsync" after the disk has the event, "os" after the operating system has it (faster, but
# a power loss can lose events with a receipt).
#durability = "fsync"
# The most bytes that compaction reads per second, so that it does not slow down publishing; "0B" for no limit.
#compaction_rate = "64MB"
"#;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreConfig {
    pub kind: StoreKind,
    pub durability: StoreDurability,
    /// Bytes each second; 0 for no limit.
    pub compaction_rate: u64,
}

impl Default for StoreConfig {
    fn default() -> Self {
        let (kind, durability) = Default::default();
        Self { kind, durability, compaction_rate: COMPACTION_BYTES_PER_S }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum StoreKind {
    Memory,
    #[default]
    Embedded,
    Mongo,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StoreDurability {
    #[default]
    Fsync,
    Os,
}

impl StoreConfig {
    pub fn read(&mut self, section: &mut ConfigSection<'_>) {
        let kinds = [("memory", StoreKind::Memory), ("embedded", StoreKind::Embedded), ("mongo", StoreKind::Mongo)];
        section.set("kind", &mut self.kind, value::one_of(&kinds));
        let durabilities = [("fsync", StoreDurability::Fsync), ("os", StoreDurability::Os)];
        section.set("durability", &mut self.durability, value::one_of(&durabilities));
        section.set("compaction_rate", &mut self.compaction_rate, value::size);
    }
}
