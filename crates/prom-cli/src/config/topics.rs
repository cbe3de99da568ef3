//! `[topics]`: what holds for topics that nobody declared.

use std::time::Duration;

use prom_types::limits;

use super::section::Section;
use super::value;

pub const TEXT: &str = r#"[topics]
# Whether the first publish makes a topic. Otherwise topics come from [[topic]] below and from `prom topics set`.
#auto_create = true
# Partitions of a topic that is made so.
#partitions = 1
# How long events of such a topic stay, by age, by size per partition, or both. Unset: for ever.
#retention = { age = "30d", size = "100GB" }
"#;

#[derive(Debug, Clone, PartialEq)]
pub struct Topics {
    pub auto_create: bool,
    pub partitions: u32,
    pub retention: Retention,
}

/// Without either, for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Retention {
    pub age: Option<Duration>,
    pub size_bytes: Option<u64>,
}

impl Default for Topics {
    fn default() -> Self {
        Self { auto_create: true, partitions: 1, retention: Retention::default() }
    }
}

impl Topics {
    pub fn read(&mut self, section: &mut Section<'_>) {
        section.set("auto_create", &mut self.auto_create, value::flag);
        section.set("partitions", &mut self.partitions, value::number(1..=limits::PARTITIONS));
        section.table("retention", "[topics] retention", |section| self.retention.read(section));
    }
}

impl Retention {
    pub fn read(&mut self, section: &mut Section<'_>) {
        section.set_some("age", &mut self.age, value::duration);
        section.set_some("size", &mut self.size_bytes, value::size);
        if self.age == Some(Duration::ZERO) {
            section.complain_at("age", "`age`: it is zero; nothing would ever be delivered");
        }
    }
}
