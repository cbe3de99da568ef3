//! The schema registry over HTTP: `/registry` and everything below `/topics/{topic}/schema`, one file per verb.
//!
//! Promises: rights are looked at before anything is read. Reading needs the right to publish to, subscribe to or operate
//! the topic, changes need the right to administer it; those without are told nothing, not even whether there is a schema.
//! Schemas are read and compared on threads that serve nobody else; that is the bus's work.

mod view;

pub(super) mod check;
pub(super) mod delete;
pub(super) mod diff;
pub(super) mod list;
pub(super) mod prove;
pub(super) mod register;
pub(super) mod settings;
pub(super) mod show;
pub(super) mod upcasters;
pub(super) mod version;

use std::sync::Arc;

use axum::extract::{FromRequestParts, Path};
use http::request::Parts;
use prom_auth::Action;
use prom_engine::{SchemaCandidate, SchemaChoice};
use prom_protocol::http::schema::{RegisterSchema, SchemaReference};
use prom_schema::{Reference, SchemaDocument};
use prom_types::TopicName;

pub use self::view::violation as violation_view;
use super::api::Api;
use super::caller::Caller;
use super::extract::topic_name;
use super::problem::Problem;

/// Any of these is enough to read a topic's schemas.
pub(super) const READERS: [Action; 3] = [Action::Subscribe, Action::Publish, Action::Ops];

/// The topic and the version that a path names.
pub(super) struct VersionInPath {
    pub topic: TopicName,
    pub choice: SchemaChoice,
}

impl FromRequestParts<Arc<Api>> for VersionInPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Arc<Api>) -> Result<Self, Problem> {
        let Path((topic, version)) = Path::<(String, String)>::from_request_parts(parts, api).await?;
        let choice = match (version.as_str(), version.parse()) {
            ("latest", _) => SchemaChoice::Latest,
            (_, Ok(version)) => SchemaChoice::Version(version),
            (_, Err(_)) => return Err(Problem::field("version", "a version is 1, 2, 3 and so on, or latest")),
        };
        Ok(Self { topic: topic_name(&topic)?, choice })
    }
}

impl VersionInPath {
    /// For routes where `latest` would be too easy a slip.
    pub fn number(&self) -> Result<u32, Problem> {
        match self.choice {
            SchemaChoice::Version(version) => Ok(version),
            SchemaChoice::Latest => Err(Problem::field("version", "name the number of the version")),
        }
    }
}

/// A caller that may read the schemas of a topic.
pub(super) fn may_read(caller: &Caller, topic: &TopicName) -> Result<(), Problem> {
    let refused = caller.may(READERS[0], topic).err();
    match refused {
        Some(refused) if !READERS.iter().any(|action| caller.may(*action, topic).is_ok()) => Err(refused),
        _ => Ok(()),
    }
}

/// A caller that may read the schemas of some topic.
pub(super) fn may_read_some(caller: &Caller) -> Result<(), Problem> {
    let refused = caller.may_somewhere(READERS[0]).err();
    match refused {
        Some(refused) if !READERS.iter().any(|action| caller.may_somewhere(*action).is_ok()) => Err(refused),
        _ => Ok(()),
    }
}

/// What the body of a registration or a check says. Referring to a schema needs the right to read it.
fn candidate(caller: &Caller, body: RegisterSchema) -> Result<SchemaCandidate, Problem> {
    let RegisterSchema { schema, references, compat, version, upcast } = body;
    let mut found = Vec::with_capacity(references.len());
    for SchemaReference { name, subject, version } in references {
        may_read(caller, &subject)?;
        found.push(Reference { name, subject, version });
    }
    let document = SchemaDocument::new(schema, found).map_err(|error| Problem::field("schema", error))?;
    Ok(SchemaCandidate { document, compat: view::word("compat", compat)?, version, upcast })
}
