//! `/subjects/{subject}/versions` and what is below it.

use std::sync::Arc;

use axum::extract::{Path, State};
use prom_auth::Action;
use prom_engine::{Deletion, SchemaCandidate};
use prom_protocol::http::confluent::{ConfluentId, ConfluentSchema, ConfluentVersion};
use serde_json::Value;

use super::subject::{SubjectScope, VersionName, find};
use super::{Answered, ConfluentAnswer, ConfluentQuery, ConfluentRefusal, Subject, document};
use crate::http::api::Api;
use crate::http::caller::Caller;
use crate::http::extract::JsonBody;
use crate::http::problem::Problem;
use crate::http::schema::may_read;

/// The numbers of the versions.
pub async fn list(
    State(api): State<Arc<Api>>,
    caller: Result<Caller, Problem>,
    Path(subject): Path<String>,
    query: ConfluentQuery,
) -> Answered<Vec<u32>> {
    let caller = caller?;
    let subject = Subject::to_read(&subject)?;
    may_read(&caller, &subject.topic)?;
    let which = if query.deleted || query.deleted_only { SubjectScope::All } else { SubjectScope::Live };
    let entry = subject.entry(&api.hub.bus, which).await?;
    let versions = entry.versions.iter().filter(|version| query.wants(version.deleted)).map(|version| version.version);
    Ok(ConfluentAnswer(query.page(versions)))
}

/// Registers a version. The same schema again gives the same id.
pub async fn register(
    State(api): State<Arc<Api>>,
    caller: Result<Caller, Problem>,
    Path(subject): Path<String>,
    body: JsonBody<ConfluentSchema>,
) -> Answered<ConfluentId> {
    let caller = caller?;
    let subject = Subject::to_change(&subject)?;
    caller.may(Action::Admin, &subject.topic)?;
    let (body, _held) = body.read_held(&api).await?;
    let document = document(&caller, body)?;
    let registered = caller.bus(&api.hub).register_schema(&subject.topic, SchemaCandidate::new(document)).await;
    let registered = registered.map_err(ConfluentRefusal::of_candidate)?;
    Ok(ConfluentAnswer(ConfluentId { id: registered.id }))
}

pub async fn get(
    State(api): State<Arc<Api>>,
    caller: Result<Caller, Problem>,
    Path((subject, version)): Path<(String, String)>,
    query: ConfluentQuery,
) -> Answered<ConfluentVersion> {
    version_of(&api, &caller?, &subject, &version, &query).await.map(ConfluentAnswer)
}

/// The schema alone.
pub async fn schema(
    State(api): State<Arc<Api>>,
    caller: Result<Caller, Problem>,
    Path((subject, version)): Path<(String, String)>,
    query: ConfluentQuery,
) -> Answered<Value> {
    let found = version_of(&api, &caller?, &subject, &version, &query).await?;
    Ok(ConfluentAnswer(serde_json::from_str(&found.schema).unwrap_or_default()))
}

async fn version_of(
    api: &Api,
    caller: &Caller,
    subject: &str,
    version: &str,
    query: &ConfluentQuery,
) -> Result<ConfluentVersion, ConfluentRefusal> {
    let subject = Subject::to_read(subject)?;
    may_read(caller, &subject.topic)?;
    let name = VersionName::parse(version)?;
    let which = if query.deleted { SubjectScope::All } else { SubjectScope::Live };
    let entry = subject.entry(&api.hub.bus, which).await?;
    subject.version(&api.hub.bus, find(&entry, name, which)?.version).await
}

/// Deletes a version, or with `permanent=true` removes a deleted one.
pub async fn delete(
    State(api): State<Arc<Api>>,
    caller: Result<Caller, Problem>,
    Path((subject, version)): Path<(String, String)>,
    query: ConfluentQuery,
) -> Answered<u32> {
    let caller = caller?;
    let subject = Subject::to_read(&subject)?;
    caller.may(Action::Admin, &subject.topic)?;
    let name = VersionName::parse(&version)?;
    let bus = caller.bus(&api.hub);
    let entry = subject.entry(&bus, SubjectScope::All).await?;
    let found = find(&entry, name, SubjectScope::All)?;
    let number = found.version;
    let deletion = match (found.deleted, query.permanent) {
        (false, true) => return Err(ConfluentRefusal::version_not_soft_deleted(&subject.name, number)),
        (true, false) => return Err(ConfluentRefusal::version_soft_deleted(&subject.name, number)),
        (false, false) => Deletion::Soft,
        (true, true) => Deletion::Hard,
    };
    bus.delete_schema_version(&subject.topic, number, deletion).await?;
    Ok(ConfluentAnswer(number))
}

/// The ids of schemas that refer to a version, as far as the caller may see them.
pub async fn referenced_by(
    State(api): State<Arc<Api>>,
    caller: Result<Caller, Problem>,
    Path((subject, version)): Path<(String, String)>,
    query: ConfluentQuery,
) -> Answered<Vec<u32>> {
    let caller = caller?;
    let subject = Subject::to_read(&subject)?;
    may_read(&caller, &subject.topic)?;
    let name = VersionName::parse(&version)?;
    let bus = &api.hub.bus;
    let entry = subject.entry(bus, SubjectScope::Live).await?;
    let number = find(&entry, name, SubjectScope::Live)?.version;
    let referring = bus.schema_referrers(&subject.topic, number)?;
    let seen = referring.into_iter().filter(|other| may_read(&caller, &other.topic).is_ok());
    let mut ids: Vec<u32> = seen.map(|other| other.id).collect();
    ids.sort_unstable();
    ids.dedup();
    Ok(ConfluentAnswer(query.page(ids.into_iter())))
}
