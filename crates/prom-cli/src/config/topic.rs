//! `[[topic]]`: topics that exist from the start, with their settings.

use std::path::PathBuf;
use std::time::Duration;

use prom_protocol::http::topics::CompactionChoice;
use prom_transform::{Program, ProgramLimits};
use prom_types::{Compaction, EpochMs, Retention, TopicName, limits};

use super::section::ConfigSection;
use super::topics::read_retention;
use super::value;
use crate::{moment, units};

pub const TEXT: &str = r#"# A topic to create at the start; repeat the section for each topic. Missing keys have their default. Unset: none.
#[[topic]]
#name = "heartbeat.received"
# Events of one key stay in one partition and in order. Can be raised later (keys then move), not lowered. Default: 1.
#partitions = 4
# A jq program over the event that computes the key if the publisher gives none. Default: no key.
#key = ".payload.processId"
# How long events are retained, by age, by size per partition, or both. Default: forever.
#retention = { age = "3d", size = "10GB" }
# Whether to keep only the latest event of each key: true, false, or { tombstone_grace = "24h", min_age = "1h" }.
# tombstone_grace is how long a deletion stays visible; min_age keeps every event for that long, so that `prom at` can
# look that far back. Every event then needs a key. Default: false; true means a grace of 24h and no minimum age.
#compaction = false
# Whether to keep the newest offset of each key, for conditional publishing: true or false. Compaction keeps it too.
# Default: false.
#versions = false
# How often to write the state, one event per live key, to <name>.snapshot, if anything is new. Default: never.
#snapshot = "30s"
# Failed attempts before an event goes to the dead letters, for groups that do not set it. Default: 5.
#max_attempts = 5
# A file with the topic's JSON Schema. At the start it is registered as the next version, unless the topic already has
# it; for several versions use a folder, see [schemas]. Default: none.
#schema = "orders.placed.json"
# Whether events also go to the topic of their schema's version, such as heartbeat.received.v2: true, false, or
# { until = "2030-01-31T12:00:00Z" }. Default: false.
#dual_write = false
# JSON pointers into the payload that only administrators of the topic see; * is every member or element. Default: [].
#mask = ["/card/number", "/items/*/price"]
# jq expressions over the event to index, so that searches need no scan. Default: [].
#index = [".payload.customer"]
"#;

#[derive(Debug, Clone, PartialEq)]
pub struct DeclaredTopic {
    pub name: TopicName,
    pub partitions: u32,
    pub key: Option<String>,
    pub retention: Retention,
    pub compaction: CompactionChoice,
    pub versions: bool,
    pub max_attempts: Option<u32>,
    /// A file with its schema.
    pub schema: Option<PathBuf>,
    /// Written twice; until a time, or for good.
    pub dual_write: Option<Option<EpochMs>>,
    pub mask: Vec<String>,
    pub index: Vec<String>,
    /// Between two snapshots.
    pub snapshot: Option<Duration>,
}

impl DeclaredTopic {
    /// `None` where there is no name to make a topic of; the section knows why.
    pub fn read(section: &mut ConfigSection<'_>) -> Option<Self> {
        let mut name = None;
        section.set_some("name", &mut name, |value| {
            TopicName::parse(&value::text(value)?).map_err(|error| error.to_string())
        });
        if !section.has("name") {
            section.complain("a [[topic]] needs a `name`");
        }
        let (mut partitions, mut max_attempts, mut key) = (1, None, None);
        let mut retention = Retention::default();
        section.set("partitions", &mut partitions, value::number(1..=limits::PARTITIONS));
        section.set_some("key", &mut key, |value| {
            let program = value::text(value)?;
            match Program::compile(&program, ProgramLimits::default()) {
                Ok(_) => Ok(program),
                Err(error) => Err(format!("not a valid jq program: {error}")),
            }
        });
        section.table("retention", "[[topic]] retention", |section| retention = read_retention(section));
        let compaction = read_compaction(section);
        let mut versions = false;
        section.set("versions", &mut versions, value::flag);
        section.set_some("max_attempts", &mut max_attempts, value::number(1..=u32::MAX));
        let mut schema = None;
        section.set_some("schema", &mut schema, value::path);
        let dual_write = read_dual_write(section);
        let mut mask = Vec::new();
        section.set("mask", &mut mask, value::texts);
        let mut index = Vec::new();
        section.set("index", &mut index, value::texts);
        let mut snapshot = None;
        section.set_some("snapshot", &mut snapshot, value::duration);
        section.not_yet("dlq");
        Some(Self {
            name: name?,
            partitions,
            key,
            retention,
            compaction,
            versions,
            max_attempts,
            schema,
            dual_write,
            mask,
            index,
            snapshot,
        })
    }
}

fn read_dual_write(section: &mut ConfigSection<'_>) -> Option<Option<EpochMs>> {
    if section.is_table("dual_write") {
        let mut until = None;
        section.table("dual_write", "[[topic]] dual_write", |section| {
            section.set_some("until", &mut until, |value| moment::parse(&value::text(value)?));
        });
        return Some(until);
    }
    let mut is_on = false;
    section.set("dual_write", &mut is_on, value::flag);
    is_on.then_some(None)
}

fn read_compaction(section: &mut ConfigSection<'_>) -> CompactionChoice {
    let mut compaction = CompactionChoice::Simply(false);
    if section.is_table("compaction") {
        let (mut tombstone_grace, mut min_age) = (prom_engine::limits::TOMBSTONE_GRACE, Duration::ZERO);
        section.table("compaction", "[[topic]] compaction", |section| {
            section.set("tombstone_grace", &mut tombstone_grace, value::duration);
            section.set("min_age", &mut min_age, value::duration);
        });
        return CompactionChoice::With(Compaction {
            tombstone_grace_ms: units::millis(tombstone_grace),
            min_age_ms: units::millis(min_age),
        });
    }
    section.set("compaction", &mut compaction, |value| value::flag(value).map(CompactionChoice::Simply));
    compaction
}
