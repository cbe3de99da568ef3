//! What the linter is told: severities, allow-lists, names of clients and wrappers.

use std::collections::BTreeMap;
use std::path::PathBuf;

use prom_schema::SchemaSettings;
use serde::Serialize;

use crate::front::CallNames;
use crate::rules::RuleId;

/// How a finding counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The rule is not asked.
    Off,
    /// Shown; the outcome stays good.
    Warn,
    /// Shown; the outcome is bad.
    Error,
}

impl Severity {
    pub const WORDS: [(&'static str, Self); 3] = [("off", Self::Off), ("warn", Self::Warn), ("error", Self::Error)];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

/// What a call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CallAction {
    Publish,
    Subscribe,
}

/// A package, or a file of the project, whose classes are clients of a hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientModule {
    /// `@promethean/client`, `prom_client`, `src/bus.ts`.
    pub module: String,
    /// The names of the classes.
    pub names: Vec<String>,
}

/// A function of the project that publishes or subscribes. Arguments are counted from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrapper {
    /// `emit`, or `events.emit` for a method of what is called `events`.
    pub name: String,
    /// The module it must come from, as a package or a file of the project; any, if unset.
    pub module: Option<String>,
    pub action: CallAction,
    pub topic: usize,
    pub payload: Option<usize>,
    pub headers: Option<usize>,
    pub group: Option<usize>,
}

/// A topic that the configuration declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredTopicFacts {
    pub name: String,
    /// The file of its schema.
    pub schema: Option<PathBuf>,
}

/// A step between versions that the configuration declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredStep {
    pub topic: String,
    pub from: u32,
    pub jq: String,
}

/// Everything that a run is told.
#[derive(Debug, Clone)]
pub struct LintSettings {
    /// The project: paths are shown from here, and configured paths begin here.
    pub root: PathBuf,
    /// `prom.toml`, where there is one.
    pub config_file: Option<PathBuf>,
    pub severities: BTreeMap<RuleId, Severity>,
    /// Topic patterns, or names of headers and groups, that a rule leaves alone.
    pub allow: BTreeMap<RuleId, Vec<String>>,
    pub wrappers: Vec<Wrapper>,
    /// Besides our own.
    pub clients: Vec<ClientModule>,
    /// Patterns as in `.gitignore`.
    pub exclude: Vec<String>,
    pub schema_folder: Option<PathBuf>,
    pub schemas: SchemaSettings,
    pub declared: Vec<DeclaredTopicFacts>,
    pub steps: Vec<DeclaredStep>,
}

impl LintSettings {
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            config_file: None,
            severities: BTreeMap::new(),
            allow: BTreeMap::new(),
            wrappers: Vec::new(),
            clients: Vec::new(),
            exclude: Vec::new(),
            schema_folder: None,
            schemas: SchemaSettings::default(),
            declared: Vec::new(),
            steps: Vec::new(),
        }
    }

    pub fn severity(&self, rule: RuleId) -> Severity {
        self.severities.get(&rule).copied().unwrap_or(rule.text().severity)
    }

    /// Our own clients and those of the configuration.
    pub fn client_modules(&self) -> Vec<ClientModule> {
        let own = [
            ("@promethean/client", &["PromClient", "BaseClient"][..]),
            ("prom_client", &["Client", "NewEvent"]),
            ("promethean", &["Bus", "Client", "PromClient", "NewEvent"]),
        ];
        let own = own.into_iter().map(|(module, names)| ClientModule {
            module: module.to_owned(),
            names: names.iter().map(|name| (*name).to_owned()).collect(),
        });
        own.chain(self.clients.iter().cloned()).collect()
    }

    /// Names of the calls that are looked at.
    pub fn call_names(&self) -> CallNames {
        let own = crate::sites::VERBS.iter().map(|verb| (*verb).to_owned());
        let wrappers = self.wrappers.iter().map(|wrapper| wrapper.last_name().to_owned());
        CallNames(own.chain(wrappers).collect())
    }
}

impl Wrapper {
    /// `emit` of `events.emit`.
    pub fn last_name(&self) -> &str {
        self.name.rsplit('.').next().unwrap_or(&self.name)
    }

    /// `events` of `events.emit`.
    pub fn receiver(&self) -> Option<&str> {
        self.name.rsplit_once('.').map(|(receiver, _)| receiver)
    }
}
