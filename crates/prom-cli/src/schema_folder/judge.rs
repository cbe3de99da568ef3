//! A folder by itself: every version compared with those before it, as a registry would.

use std::collections::BTreeMap;
use std::path::PathBuf;

use prom_protocol::http::schema::ViolationView;
use prom_schema::compat::{self, check_mode};
use prom_schema::{Compat, FolderTopic, SchemaSettings, Upcaster, Validator};
use prom_types::TopicName;
use serde_json::Value;

use super::{FolderStep, SchemaFolder};
use crate::exit::Failure;

/// What comparing a version brought.
#[derive(Debug)]
pub struct JudgedVersion {
    pub topic: TopicName,
    pub version: u32,
    pub path: PathBuf,
    /// What it was held to.
    pub compat: Compat,
    /// Empty if it is that.
    pub violations: Vec<ViolationView>,
}

/// Schemas with all they refer to, by topic and version.
type Bundled = BTreeMap<(TopicName, u32), Value>;

impl SchemaFolder {
    /// Judges all versions. `defaults` is what holds where a topic's `settings.toml` says nothing.
    pub fn judge(&self, defaults: SchemaSettings) -> Result<Vec<JudgedVersion>, Failure> {
        let mut bundled = Bundled::new();
        let mut judged = Vec::new();
        for step in self.steps()? {
            let topic = self.topics.iter().find(|topic| topic.topic == step.topic);
            let settings = topic.map_or(defaults, |topic| defaults.with(&topic.settings));
            let new = compile(&step, &bundled, settings)?;
            let violations = compare(&step, topic, &bundled, &new, settings)?;
            bundled.insert((step.topic.clone(), step.version), new);
            judged.push(JudgedVersion {
                compat: step.compat.unwrap_or(settings.compat),
                topic: step.topic,
                version: step.version,
                path: step.path,
                violations,
            });
        }
        Ok(judged)
    }
}

/// The schema with all it refers to, which is known to be usable then.
fn compile(step: &FolderStep, bundled: &Bundled, settings: SchemaSettings) -> Result<Value, Failure> {
    let wrong = |reason: String| Failure::usage(format!("{}: {reason}", step.path.display()));
    let mut referenced = Vec::new();
    for reference in &step.document.references {
        let Some(other) = bundled.get(&(reference.subject.clone(), reference.version)) else {
            let what = format!("{} version {} is not in this folder", reference.subject, reference.version);
            return Err(wrong(what).fix("check it against a hub: `prom schema check TOPIC FILE`"));
        };
        referenced.push((reference.name.clone(), other.clone()));
    }
    Validator::compile(&step.document, &referenced, settings.formats).map_err(|error| wrong(error.to_string()))?;
    Ok(prom_schema::bundle(&step.document, &referenced))
}

fn compare(
    step: &FolderStep,
    topic: Option<&FolderTopic>,
    bundled: &Bundled,
    new: &Value,
    settings: SchemaSettings,
) -> Result<Vec<ViolationView>, Failure> {
    let wrong = |reason: String| Failure::usage(format!("{}: {reason}", step.path.display()));
    if let Some(program) = &step.upcast {
        Upcaster::jq(program).map_err(|error| wrong(format!("its upcaster is not valid jq: {error}")))?;
    }
    let compat = step.compat.unwrap_or(settings.compat);
    let earlier = bundled.range((step.topic.clone(), 1)..(step.topic.clone(), step.version));
    let earlier: Vec<(u64, &Value)> = earlier.map(|((_, version), schema)| (u64::from(*version), schema)).collect();
    let rules = compat::Settings {
        policy: settings.policy,
        formats: settings.formats,
        undecided: settings.undecided,
        ..compat::Settings::default()
    };
    if compat == Compat::Upcast {
        let versions = earlier.iter().map(|(_, schema)| *schema).chain([new]).collect::<Vec<_>>();
        let has_step = |from: u32| topic.is_some_and(|topic| topic.upcasters.contains_key(&from));
        for (from, pair) in (1..).zip(versions.windows(2)).filter(|(from, _)| !has_step(*from)) {
            let alone = [(u64::from(from), pair[0])];
            let kept =
                check_mode(Compat::Backward, &alone, pair[1], &rules).map_err(|error| wrong(error.to_string()))?;
            if !kept.is_empty() {
                let missing = format!("there is no upcaster from version {from} to {}", from + 1);
                return Err(wrong(missing).fix(format!("write v{from}-to-v{}.jq", from + 1)));
            }
        }
        return Ok(Vec::new());
    }
    let violations = check_mode(compat, &earlier, new, &rules).map_err(|error| wrong(error.to_string()))?;
    Ok(violations.into_iter().map(prom_gateway::http::violation_view).collect())
}
