//! `[schemas]`: a folder of schemas that are registered at the start, and how schemas are judged.

use std::path::PathBuf;

use prom_schema::{Admit, Compat, CompatPolicy, Formats, SchemaSettings, Undecided};
use toml::de::DeValue;

use super::section::ConfigSection;
use super::value;

pub const TEXT: &str = r#"[schemas]
# A folder with one folder per topic: v1.json, v2.json, v1-to-v2.jq, settings.toml. Missing versions are registered at
# the start, in order; if the folder is incompatible with the store, the hub does not start. Unset: none.
#folder = "schemas"
# How a new version must be compatible with earlier ones: none, backward, forward, full, the last three with
# _transitive, or upcast. This and the following keys are defaults; a topic and `prom schema set` override them.
#compat = "backward"
# Which documents count: lenient treats properties that an open schema never declared as absent, strict counts all.
#policy = "lenient"
# Whether `format` is documentation only (annotate) or checked (assert).
#formats = "annotate"
# Whether a new version is refused (refuse) or accepted (allow) if the comparison cannot decide.
#undecided = "refuse"
# Which versions a publisher that names none may write: "newest" that accepts the payload, or only the "latest".
#admit = "newest"
# The version assumed for stored events without one.
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
