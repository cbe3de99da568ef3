//! What a projector is told: its topic, what it makes of the events, where the documents go.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use prom_engine::Program;
use prom_types::TopicName;

use super::change::VersionRule;
use super::program::Projection;
use crate::patience::patiently;

/// A projector as it is configured.
#[derive(Clone)]
pub struct ProjectorSettings {
    /// Unique among the projectors of a hub: the name of its collection, unless said otherwise.
    pub name: String,
    /// Where its events come from.
    pub topic: TopicName,
    /// What it makes of them.
    pub projection: Projection,
    /// Which event of a key is newer, for a changelog.
    pub version: VersionRule,
    /// Its collections. A changelog projector has one.
    pub collections: Vec<ProjectedCollection>,
    /// Where they are.
    pub target: ProjectorTarget,
    /// The snapshots of its topic, from which it begins, and begins anew.
    pub warm_from: Option<TopicName>,
}

/// A collection that is filled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectedCollection {
    /// Its name.
    pub name: String,
    /// Each of one or several fields. In the hub's own store each field is found by itself.
    pub indexes: Vec<Vec<String>>,
}

/// Where documents go.
#[derive(Clone)]
pub enum ProjectorTarget {
    /// The hub's own store; read over HTTP.
    Store,
    /// A MongoDB of the user's.
    Mongo {
        /// Its connection string. It may hold a password, and is never shown.
        url: String,
        /// `None`: the one that the connection string names, else `prom`.
        database: Option<String>,
    },
    /// Another topic.
    Topic {
        /// Its name.
        into: TopicName,
        /// What becomes of what no event tells of any more.
        silence: Option<Silence>,
    },
}

/// When a thing that reports itself counts as silent, and what is published then.
#[derive(Clone)]
pub struct Silence {
    /// Since its last event was stored.
    pub after: Duration,
    /// From the text of its last state to that of the one that is published.
    pub last_state: LastState,
}

/// Makes the state of a silent thing of its last one.
pub type LastState = Arc<dyn Fn(&[u8]) -> Result<Vec<u8>, String> + Send + Sync>;

impl Silence {
    /// The last state is made by a program over the state before.
    pub fn by_program(after: Duration, program: Program) -> Self {
        let run = move |state: &[u8]| match patiently(|| program.first(state)) {
            Ok(Some(state)) => Ok(state),
            Ok(None) => Err("the program `silent` gives nothing".to_owned()),
            Err(error) => Err(format!("the program `silent`: {error}")),
        };
        Self { after, last_state: Arc::new(run) }
    }
}

impl fmt::Debug for ProjectorTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store => f.write_str("Store"),
            Self::Topic { into, .. } => write!(f, "Topic({into})"),
            Self::Mongo { database, .. } => write!(f, "Mongo({})", database.as_deref().unwrap_or("…")),
        }
    }
}

impl ProjectorSettings {
    /// The group under which it reads.
    pub fn group(&self) -> String {
        match self.projection {
            Projection::Changelog(_) => format!("changelog:{}", self.name),
            Projection::Transactional(_) | Projection::States(_) => format!("projector:{}", self.name),
        }
    }

    /// Refuses what could never work, and says what to do.
    pub fn check(&self) -> Result<(), String> {
        let is_changelog = matches!(self.projection, Projection::Changelog(_));
        match (&self.projection, &self.target) {
            (Projection::States(_), ProjectorTarget::Topic { into, .. }) => return self.check_states(into),
            (Projection::States(_), _) | (_, ProjectorTarget::Topic { .. }) => {
                return Err("states go to a topic, and only states do".to_owned());
            }
            _ => {}
        }
        match self.collections.len() {
            0 => return Err("a projector names the collections that it fills".to_owned()),
            1 => {}
            _ if is_changelog => {
                return Err("a changelog fills one collection; give a transactional projector `edits`".to_owned());
            }
            _ => {}
        }
        if !is_changelog && self.warm_from.is_some() {
            return Err(
                "a snapshot has only the newest event of each key, and edits count all of them: leave `warm_from` out"
                    .to_owned(),
            );
        }
        match &self.warm_from {
            Some(place) if prom_jobs::snapshot_topic(&self.topic).ok().as_ref() != Some(place) => {
                Err(format!("`warm_from` is {}.snapshot, the snapshots of its own topic", self.topic))
            }
            _ => Ok(()),
        }
    }

    fn check_states(&self, into: &TopicName) -> Result<(), String> {
        if *into == self.topic {
            return Err("a projector does not publish to the topic that it reads".to_owned());
        }
        if into.is_reserved() {
            return Err(format!("{into} is the hub's own topic"));
        }
        if self.warm_from.is_some() || !self.collections.is_empty() {
            return Err("a projector into a topic has neither collections nor `warm_from`".to_owned());
        }
        Ok(())
    }
}
