//! `[schemas]`: a folder of schemas that are registered at the start, and how schemas are judged.

use std::path::PathBuf;

use prom_schema::{Admit, Compat, CompatPolicy, Formats, SchemaSettings, Undecided};
use toml::de::DeValue;

use super::section::ConfigSection;
use super::value;

pub const TEXT: &str = r#"[schemas]
# A folder with one folder per topic: v1.json, v2.json, v1-to-v2.jq, settings.toml. What it has and the store lacks is
# registered at the start, in order; a hub whose folder is incompatible with the store does not start. Unset: none.
#folder = "schemas"
# What a new version must be to those before it: none, backward, forward, full, the last three with _transitive, or upcast.
# This and what follows hold where a topic or `prom schema set` say nothing else.
#compat = "backward"
# Which documents count: lenient takes properties that an open schema never declared as absent, strict counts them all.
#policy = "lenient"
# Whether `format` is a note for people (annotate) or a rule (assert).
#formats = "annotate"
# Whether a pair of schemas that cannot be decided is refused (refuse) or passes (allow).
#undecided = "refuse"
# Which versions a publisher that names none may write: the newest that accepts the payload, or only the latest.
#admit = "newest"
# The version of stored events that name none.
#unversioned_as = 1
"#;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct SchemasConfig {
    pub folder: Option<PathBuf>,
    pub settings: SchemaSettings,
}

impl SchemasConfig {
    pub fn read(&mut self, section: &mut ConfigSection<'_>) {
        let settings = &mut self.settings;
        section.set_some("folder", &mut self.folder, value::path);
        section.set("compat", &mut settings.compat, word(Compat::ALL, Compat::as_str));
        section.set("policy", &mut settings.policy, word(CompatPolicy::ALL, CompatPolicy::as_str));
        section.set("formats", &mut settings.formats, word(Formats::ALL, Formats::as_str));
        section.set("undecided", &mut settings.undecided, word(Undecided::ALL, Undecided::as_str));
        section.set("admit", &mut settings.admit, word(Admit::ALL, Admit::as_str));
        section.set("unversioned_as", &mut settings.unversioned_as, value::number(1..=u32::MAX));
    }
}

/// One of the registry's own words.
fn word<T: Copy>(all: &'static [T], text: fn(T) -> &'static str) -> impl FnOnce(&DeValue<'_>) -> Result<T, String> {
    move |value| {
        let words: Vec<(&str, T)> = all.iter().map(|choice| (text(*choice), *choice)).collect();
        value::one_of(&words)(value)
    }
}
