//! Schemas in a folder: one folder per topic, one file per version, beside the code that uses them.
//!
//! ```text
//!   schemas/heartbeat.received/v1.json
//!                             /v2.json
//!                             /v1-to-v2.jq      the step from version 1 to 2
//!                             /settings.toml    compat, policy, … of this topic
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use prom_types::TopicName;

use crate::document::{Reference, SchemaDocument};
use crate::error::SchemaError;
use crate::settings::SettingsChange;

/// What a folder says about a topic.
#[derive(Debug, Clone)]
pub struct FolderTopic {
    /// The topic, which is the name of its folder.
    pub topic: TopicName,
    /// From `settings.toml`.
    pub settings: SettingsChange,
    /// By version, 1, 2, 3… without a hole.
    pub versions: BTreeMap<u32, SchemaDocument>,
    /// jq programs, by the version they begin at.
    pub upcasters: BTreeMap<u32, String>,
}

/// Why a folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages name variants and fields")]
pub enum FolderError {
    #[error("{}: {source}", .path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{}: {source}", .path.display())]
    Schema { path: PathBuf, source: SchemaError },
    #[error("{}: {reason}", .path.display())]
    Layout { path: PathBuf, reason: String },
}

/// `settings.toml`, with what a version refers to.
#[derive(Default, serde::Deserialize)]
struct SettingsFile {
    #[serde(flatten)]
    settings: BTreeMap<String, toml::Value>,
    /// By version: `[[references.v2]] name, subject, version`.
    #[serde(default)]
    references: BTreeMap<String, Vec<Reference>>,
}

/// Reads all topics of a folder, by name. The errors name the file.
pub fn read_folder(folder: &Path) -> Result<Vec<FolderTopic>, FolderError> {
    let mut topics = Vec::new();
    for path in entries(folder)? {
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if path.is_dir() && !hidden {
            topics.push(read_topic_folder(&path)?);
        }
    }
    Ok(topics)
}

impl FolderError {
    /// The file or folder that is wrong.
    pub fn path(&self) -> &Path {
        match self {
            Self::Read { path, .. } | Self::Schema { path, .. } | Self::Layout { path, .. } => path,
        }
    }
}

/// Reads the folder of one topic.
pub fn read_topic_folder(folder: &Path) -> Result<FolderTopic, FolderError> {
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let wrong = |path: &Path, reason: String| FolderError::Layout { path: path.to_owned(), reason };
    let topic = TopicName::parse(&name)
        .map_err(|error| wrong(folder, format!("the folder's name is to be a topic: {error}")))?;
    let settings_path = folder.join("settings.toml");
    let file = if settings_path.exists() { read_settings(&settings_path)? } else { SettingsFile::default() };
    let settings = toml::Value::Table(file.settings.into_iter().collect())
        .try_into()
        .map_err(|error: toml::de::Error| wrong(&settings_path, error.message().to_owned()))?;
    let mut read = FolderTopic { topic, settings, versions: BTreeMap::new(), upcasters: BTreeMap::new() };
    for path in entries(folder)? {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if let Some(version) = name.strip_suffix(".json").and_then(version_of) {
            let references = file.references.get(&format!("v{version}")).cloned().unwrap_or_default();
            let document = SchemaDocument::parse(&text(&path)?, references)
                .map_err(|source| FolderError::Schema { path: path.clone(), source })?;
            read.versions.insert(version, document);
        } else if let Some(step) = name.strip_suffix(".jq") {
            let step = step.split_once("-to-").and_then(|(from, to)| Some((version_of(from)?, version_of(to)?)));
            let Some((from, _)) = step.filter(|(from, to)| *to == from + 1) else {
                return Err(wrong(&path, "an upcaster goes from one version to the next: v1-to-v2.jq".to_owned()));
            };
            read.upcasters.insert(from, text(&path)?);
        } else if name.ends_with(".json") {
            return Err(wrong(&path, "a version's file is v1.json, v2.json and so on".to_owned()));
        }
    }
    let hole = (1..).zip(read.versions.keys()).find(|(expected, version)| expected != *version);
    match hole {
        Some((expected, _)) => Err(wrong(folder, format!("v{expected}.json is missing: versions have no holes"))),
        None => Ok(read),
    }
}

fn read_settings(path: &Path) -> Result<SettingsFile, FolderError> {
    let reason = |error: toml::de::Error| FolderError::Layout { path: path.to_owned(), reason: error.to_string() };
    toml::from_str(&text(path)?).map_err(reason)
}

fn version_of(name: &str) -> Option<u32> {
    let digits = name.strip_prefix('v')?;
    if digits.starts_with('0') { None } else { digits.parse().ok() }
}

fn text(path: &Path) -> Result<String, FolderError> {
    std::fs::read_to_string(path).map_err(|source| FolderError::Read { path: path.to_owned(), source })
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, FolderError> {
    let failed = |source| FolderError::Read { path: folder.to_owned(), source };
    let read = std::fs::read_dir(folder).map_err(failed)?;
    let mut paths = read.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>().map_err(failed)?;
    paths.sort();
    Ok(paths)
}
