//! The schemas of a project: its folder, files that `[[topic]]` names, steps that `[[upcast]]` adds. Each version is compiled,
//! so that payloads can be judged, and compared with those before it, as a registry would.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use prom_schema::compat::{self, Violation, check_mode};
use prom_schema::{Compat, FolderTopic, SchemaDocument, SchemaSettings, SettingsChange, Upcaster, Validator, bundle};
use prom_types::TopicName;
use serde_json::Value;

use crate::record::Span;
use crate::settings::LintSettings;

/// One version of a topic's schema.
#[derive(Debug)]
pub struct ProjectVersion {
    pub path: PathBuf,
    pub text: String,
    pub document: SchemaDocument,
    pub validator: Option<Validator>,
    /// The schema with all it refers to inside, if it can be used.
    bundled: Option<Value>,
}

#[derive(Debug, Default)]
pub struct ProjectTopic {
    /// The topic's folder; `None` if its schema is a file of its own.
    pub folder: Option<PathBuf>,
    pub settings: SettingsChange,
    pub versions: BTreeMap<u32, ProjectVersion>,
    /// Programs with their files, by the version they begin at.
    pub upcasters: BTreeMap<u32, (Option<PathBuf>, String)>,
}

/// Something in the folder that cannot be used.
#[derive(Debug)]
pub struct SchemaProblem {
    pub path: PathBuf,
    pub span: Span,
    pub message: String,
}

#[derive(Debug, Default)]
pub struct ProjectSchemas {
    /// Where the folder is, if there is one.
    pub folder: Option<PathBuf>,
    pub defaults: SchemaSettings,
    pub topics: BTreeMap<String, ProjectTopic>,
    pub problems: Vec<SchemaProblem>,
}

impl ProjectSchemas {
    pub fn read(settings: &LintSettings) -> Self {
        let mut schemas = Self { defaults: settings.schemas, ..Self::default() };
        let usual = settings.root.join("schemas");
        let folder = match &settings.schema_folder {
            Some(folder) => Some(settings.root.join(folder)),
            None => Some(usual).filter(|usual| looks_like_schemas(usual)),
        };
        if let Some(folder) = folder {
            schemas.read_folder(&folder);
            schemas.folder = Some(folder);
        }
        for declared in &settings.declared {
            if let Some(file) = &declared.schema {
                schemas.read_file(&declared.name, settings.root.join(file));
            }
        }
        for step in &settings.steps {
            if let Some(topic) = schemas.topics.get_mut(&step.topic) {
                topic.upcasters.entry(step.from).or_insert_with(|| (settings.config_file.clone(), step.jq.clone()));
            }
        }
        schemas.compile();
        schemas
    }

    /// There is something to compare code with.
    pub fn is_in_use(&self) -> bool {
        self.topics.values().any(|topic| !topic.versions.is_empty())
    }

    pub fn topic(&self, name: &str) -> Option<&ProjectTopic> {
        self.topics.get(name).filter(|topic| !topic.versions.is_empty())
    }

    fn problem(&mut self, path: impl Into<PathBuf>, message: impl Into<String>) {
        self.problems.push(SchemaProblem { path: path.into(), span: Span::default(), message: message.into() });
    }

    fn read_folder(&mut self, folder: &Path) {
        let entries = match std::fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => return self.problem(folder, format!("the folder of schemas cannot be read: {error}")),
        };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
            if is_hidden || !path.is_dir() {
                continue;
            }
            match prom_schema::read_topic_folder(&path) {
                Ok(topic) => self.add(&path, topic),
                Err(error) => {
                    let at = error.path().to_path_buf();
                    let message = error.to_string();
                    let message = message.strip_prefix(&format!("{}: ", at.display())).unwrap_or(&message).to_owned();
                    self.problem(at, message);
                }
            }
        }
    }

    fn add(&mut self, folder: &Path, read: FolderTopic) {
        let mut topic =
            ProjectTopic { folder: Some(folder.to_path_buf()), settings: read.settings, ..ProjectTopic::default() };
        for (version, document) in read.versions {
            let path = folder.join(format!("v{version}.json"));
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            topic.versions.insert(version, ProjectVersion { path, text, document, validator: None, bundled: None });
        }
        for (from, program) in read.upcasters {
            let path = folder.join(format!("v{from}-to-v{}.jq", from + 1));
            topic.upcasters.insert(from, (Some(path), program));
        }
        self.topics.insert(read.topic.to_string(), topic);
    }

    /// The one file of `[[topic]] schema`. A topic that also has a folder is described by that.
    fn read_file(&mut self, name: &str, path: PathBuf) {
        if self.topics.contains_key(name) {
            return;
        }
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) => return self.problem(path, format!("the schema of {name} cannot be read: {error}")),
        };
        match SchemaDocument::parse(&text, Vec::new()) {
            Ok(document) => {
                let version = ProjectVersion { path, text, document, validator: None, bundled: None };
                let topic = ProjectTopic { versions: BTreeMap::from([(1, version)]), ..ProjectTopic::default() };
                self.topics.insert(name.to_owned(), topic);
            }
            Err(error) => self.problem(path, error.to_string()),
        }
    }

    /// Compiles every version, those first that others refer to.
    fn compile(&mut self) {
        let mut bundled: BTreeMap<(TopicName, u32), Value> = BTreeMap::new();
        let mut open: Vec<(String, u32)> =
            self.topics.iter().flat_map(|(name, topic)| topic.versions.keys().map(|v| (name.clone(), *v))).collect();
        loop {
            let before = open.len();
            let mut waiting = Vec::new();
            for (name, number) in open {
                let Some(topic) = self.topics.get_mut(&name) else { continue };
                let formats = self.defaults.with(&topic.settings).formats;
                let Some(version) = topic.versions.get_mut(&number) else { continue };
                let referenced: Option<Vec<(String, Value)>> = version
                    .document
                    .references
                    .iter()
                    .map(|other| {
                        let schema = bundled.get(&(other.subject.clone(), other.version))?;
                        Some((other.name.clone(), schema.clone()))
                    })
                    .collect();
                let Some(referenced) = referenced else {
                    waiting.push((name, number));
                    continue;
                };
                match Validator::compile(&version.document, &referenced, formats) {
                    Ok(validator) => {
                        let whole = bundle(&version.document, &referenced);
                        if let Ok(topic) = TopicName::parse(&name) {
                            bundled.insert((topic, number), whole.clone());
                        }
                        version.bundled = Some(whole);
                        version.validator = Some(validator);
                    }
                    Err(error) => {
                        let path = version.path.clone();
                        self.problem(path, error.to_string());
                    }
                }
            }
            open = waiting;
            if open.is_empty() || open.len() == before {
                break;
            }
        }
        for (name, number) in open {
            let path = self.topics.get(&name).and_then(|topic| topic.versions.get(&number)).map(|v| v.path.clone());
            self.problem(path.unwrap_or_default(), "it refers to a schema that is not in this folder");
        }
    }
}

impl ProjectTopic {
    /// What `number` is held to: an upcaster from the version before stands for compatibility.
    pub fn compat(&self, defaults: SchemaSettings, number: u32) -> Compat {
        let compat = defaults.with(&self.settings).compat;
        let has_step = number > 1 && self.upcasters.contains_key(&(number - 1));
        match compat {
            Compat::Backward | Compat::BackwardTransitive if has_step => Compat::Upcast,
            other => other,
        }
    }

    /// What stands against a version, given those before it.
    pub fn violations(&self, defaults: SchemaSettings, number: u32) -> Result<Vec<Violation>, String> {
        let settings = defaults.with(&self.settings);
        let schema = |version: &ProjectVersion| version.bundled.clone();
        let Some(new) = self.versions.get(&number).and_then(schema) else {
            return Ok(Vec::new());
        };
        let earlier: Vec<(u64, Value)> = self
            .versions
            .range(..number)
            .filter_map(|(earlier, version)| Some((u64::from(*earlier), schema(version)?)))
            .collect();
        let earlier: Vec<(u64, &Value)> = earlier.iter().map(|(version, schema)| (*version, schema)).collect();
        let rules = rules(settings);
        check_mode(self.compat(defaults, number), &earlier, &new, &rules).map_err(|error| error.to_string())
    }

    /// Whether readers of `from + 1` understand what was written under `from` without a step.
    pub fn is_backward(&self, defaults: SchemaSettings, from: u32) -> bool {
        let bundled = |number: u32| self.versions.get(&number)?.bundled.as_ref();
        let (Some(old), Some(new)) = (bundled(from), bundled(from + 1)) else {
            return true;
        };
        let rules = rules(defaults.with(&self.settings));
        let alone = [(u64::from(from), old)];
        check_mode(Compat::Backward, &alone, new, &rules).is_ok_and(|violations| violations.is_empty())
    }

    /// Steps whose program is not one, with the reason.
    pub fn broken_steps(&self) -> Vec<(u32, String)> {
        let broken = |(from, (_, program)): (&u32, &(Option<PathBuf>, String))| {
            Upcaster::jq(program).err().map(|error| (*from, error.to_string()))
        };
        self.upcasters.iter().filter_map(broken).collect()
    }
}

fn rules(settings: SchemaSettings) -> compat::Settings {
    compat::Settings {
        policy: settings.policy,
        formats: settings.formats,
        undecided: settings.undecided,
        ..compat::Settings::default()
    }
}

/// A folder called `schemas` may be something else; ours has a topic with a first version.
fn looks_like_schemas(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| path.join("v1.json").is_file())
}
