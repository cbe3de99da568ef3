//! `[topics]`: settings of topics that are not declared.

use std::time::Duration;

use prom_types::{Retention, limits};

use super::section::ConfigSection;
use super::value;
use crate::units;

pub const TEXT: &str = r#"[topics]
# Whether the first publish creates a topic. Otherwise topics come from [[topic]] below and from `prom topics set`.
#auto_create = true
# Partitions of such a topic.
#partitions = 1
# How long events of such a topic are retained, by age, by size per partition, or both. Unset: forever.
#retention = { age = "30d", size = "100GB" }
# How long dead letters are retained, in dead-letter topics created from now on; { } keeps them forever.
#dead_letter_retention = { age = "30d" }
"#;

#[derive(Debug, Clone, PartialEq)]
pub struct TopicsConfig {
    pub auto_create: bool,
    pub partitions: u32,
    pub retention: Retention,
    pub dead_letter_retention: Retention,
}

impl Default for TopicsConfig {
    fn default() -> Self {
        Self {
            auto_create: true,
            partitions: 1,
            retention: Retention::default(),
            dead_letter_retention: prom_engine::limits::LETTER_RETENTION,
        }
    }
}

impl TopicsConfig {
    pub fn read(&mut self, section: &mut ConfigSection<'_>) {
        section.set("auto_create", &mut self.auto_create, value::flag);
        section.set("partitions", &mut self.partitions, value::number(1..=limits::PARTITIONS));
        section.table("retention", "[topics] retention", |section| self.retention = read_retention(section));
        section.table("dead_letter_retention", "[topics] dead_letter_retention", |section| {
            self.dead_letter_retention = read_retention(section);
        });
    }
}

/// Age and size, as the file writes them.
pub fn read_retention(section: &mut ConfigSection<'_>) -> Retention {
    let (mut age, mut size_bytes) = (None, None);
    section.set_some("age", &mut age, value::duration);
    section.set_some("size", &mut size_bytes, value::size);
    if age == Some(Duration::ZERO) {
        section.complain_at("age", "`age`: it is zero; nothing would ever be delivered");
    }
    Retention { age_ms: age.map(units::millis), size_bytes }
}
