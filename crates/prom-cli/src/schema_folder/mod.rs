//! A folder of schemas beside the code: what it holds, in the order in which it can be registered.
//!
//! A version comes after the version before it and after what it refers to. A version with an upcaster from the one before
//! is held to `upcast` where its topic is held to `backward`: that is what the upcaster is there for.

mod judge;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use prom_schema::{Compat, FolderTopic, SchemaDocument, SchemaSettings, read_folder};
use prom_types::TopicName;

pub use self::judge::JudgedVersion;
use crate::exit::Failure;

/// What was read.
pub struct SchemaFolder {
    path: PathBuf,
    topics: Vec<FolderTopic>,
}

/// What a version with an upcaster from the one before is held to, if not to what its topic is held to.
pub fn with_upcaster(held_to: Compat) -> Option<Compat> {
    matches!(held_to, Compat::Backward | Compat::BackwardTransitive).then_some(Compat::Upcast)
}

/// A version was changed after it was registered.
pub fn edited(path: &Path, topic: &TopicName, version: u32, next: u32) -> Failure {
    Failure::no(format!("{}: version {version} of {topic} is registered with another schema", path.display())).fix(
        format!(
            "a version never changes: put the change into v{next}.json, or look at `prom schema show {topic} {version}`"
        ),
    )
}

/// One version on its way into a registry.
#[derive(Debug, Clone)]
pub struct FolderStep {
    pub topic: TopicName,
    pub version: u32,
    pub document: SchemaDocument,
    /// What it is held to, if not to what the topic says.
    pub compat: Option<Compat>,
    /// From the version before.
    pub upcast: Option<String>,
    /// Its file.
    pub path: PathBuf,
}

impl SchemaFolder {
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let read = read_folder(path).map_err(|error| {
            Failure::usage(format!("the schemas cannot be read: {error}"))
                .fix("a folder has one folder per topic, with v1.json, v2.json and so on")
        });
        Ok(Self { path: path.to_owned(), topics: read? })
    }

    /// The same, and refuses a folder without a single version: its path is probably not the one that was meant.
    pub fn read_filled(path: &Path) -> Result<Self, Failure> {
        let folder = Self::read(path)?;
        if folder.topics.iter().any(|topic| !topic.versions.is_empty()) {
            return Ok(folder);
        }
        let what = format!("{} has no schema of any topic", path.display());
        let looks_like = "a schema is in a folder with the name of its topic: schemas/orders.placed/v1.json";
        let is_topic = path.join("v1.json").is_file();
        Err(Failure::usage(what).fix(match is_topic {
            true => format!("{looks_like}; give the folder above {}", path.display()),
            false => format!("{looks_like}; give the folder that holds those of the topics, here `schemas`"),
        }))
    }

    pub fn topics(&self) -> &[FolderTopic] {
        &self.topics
    }

    /// Adds a step from the configuration; the folder's own wins. False if it has no such version.
    pub fn add_upcaster(&mut self, topic: &TopicName, from: u32, jq: &str) -> bool {
        let topic = self.topics.iter_mut().find(|read| read.topic == *topic);
        let Some(topic) = topic.filter(|topic| topic.versions.contains_key(&from.saturating_add(1))) else {
            return false;
        };
        topic.upcasters.entry(from).or_insert_with(|| jq.to_owned());
        true
    }

    /// All versions, each after what it needs. References out of the folder are the registry's to find.
    pub fn steps(&self) -> Result<Vec<FolderStep>, Failure> {
        let mut open: Vec<FolderStep> = self.topics.iter().flat_map(|topic| self.steps_of(topic)).collect();
        let mut left: BTreeSet<(TopicName, u32)> = open.iter().map(|step| (step.topic.clone(), step.version)).collect();
        let mut ordered = Vec::with_capacity(open.len());
        while !open.is_empty() {
            let is_ready = |step: &FolderStep| {
                let waits_for = |topic: &TopicName, version: u32| left.contains(&(topic.clone(), version));
                let references = &step.document.references;
                !waits_for(&step.topic, step.version - 1)
                    && !references.iter().any(|other| waits_for(&other.subject, other.version))
            };
            let Some(at) = open.iter().position(is_ready) else {
                let stuck = open.iter().map(|step| step.path.display().to_string()).collect::<Vec<_>>().join(", ");
                return Err(Failure::usage(format!("these schemas refer to each other in a circle: {stuck}"))
                    .fix("move the shared part into a separate schema that refers to none of them"));
            };
            let step = open.remove(at);
            left.remove(&(step.topic.clone(), step.version));
            ordered.push(step);
        }
        Ok(ordered)
    }

    fn steps_of<'f>(&'f self, topic: &'f FolderTopic) -> impl Iterator<Item = FolderStep> + 'f {
        let held_to = SchemaSettings::default().with(&topic.settings).compat;
        topic.versions.iter().map(move |(version, document)| {
            let upcast = topic.upcasters.get(&(version - 1)).cloned();
            FolderStep {
                topic: topic.topic.clone(),
                version: *version,
                document: document.clone(),
                compat: upcast.as_ref().and_then(|_| with_upcaster(held_to)),
                upcast,
                path: self.path.join(topic.topic.as_str()).join(format!("v{version}.json")),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> (tempfile::TempDir, SchemaFolder) {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let read = SchemaFolder::read(folder.path()).unwrap();
        (folder, read)
    }

    #[test]
    fn what_a_schema_refers_to_comes_before_it() {
        let (_kept, folder) = folder(&[
            ("a/v1.json", r#"{"$ref":"b.json"}"#),
            ("a/v2.json", r#"{"$ref":"b.json","title":"2"}"#),
            (
                "a/settings.toml",
                "[[references.v1]]\nname = \"b.json\"\nsubject = \"b\"\nversion = 1\n[[references.v2]]\nname = \"b.json\"\nsubject = \"b\"\nversion = 2\n",
            ),
            ("b/v1.json", "{}"),
            ("b/v2.json", "true"),
            ("b/v1-to-v2.jq", "."),
        ]);
        let steps = folder.steps().unwrap();
        let order: Vec<String> = steps.iter().map(|step| format!("{}{}", step.topic, step.version)).collect();
        assert_eq!(order, ["b1", "a1", "b2", "a2"]);
        let compat: Vec<Option<Compat>> = steps.iter().map(|step| step.compat).collect();
        assert_eq!(compat, [None, None, Some(Compat::Upcast), None]);
    }

    #[test]
    fn a_circle_is_told_and_does_not_go_round() {
        let refers = |to: &str| format!("[[references.v1]]\nname = \"x\"\nsubject = \"{to}\"\nversion = 1\n");
        let (_kept, folder) = folder(&[
            ("a/v1.json", "{}"),
            ("a/settings.toml", &refers("b")),
            ("b/v1.json", "{}"),
            ("b/settings.toml", &refers("a")),
        ]);
        let told = folder.steps().unwrap_err().text().unwrap();
        assert!(told.contains("a/v1.json") && told.contains("b/v1.json"), "{told}");
    }
}
