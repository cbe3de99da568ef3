//! `GET /subjects`, `POST /subjects/{subject}` and `DELETE /subjects/{subject}`.

use std::sync::Arc;

use axum::extract::{Path, State};
use prom_auth::Action;
use prom_engine::Deletion;
use prom_protocol::http::confluent::{ConfluentSchema, ConfluentVersion};

use super::subject::SubjectScope;
use super::{Answered, ConfluentAnswer, ConfluentQuery, ConfluentRefusal, Subject, document};
use crate::http::api::Api;
use crate::http::caller::Caller;
use crate::http::extract::JsonBody;
use crate::http::problem::Problem;
use crate::http::schema::{may_read, may_read_some};

/// Those that the caller may see.
pub async fn list(
    State(api): State<Arc<Api>>,
    caller: Result<Caller, Problem>,
    query: ConfluentQuery,
) -> Answered<Vec<String>> {
    let caller = caller?;
    may_read_some(&caller)?;
    // `:*:` is every context, and there is only one.
    let prefix = query.subject_prefix.as_deref().filter(|prefix| *prefix != ":*:").unwrap_or_default();
    let seen = api.hub.bus.schemas_where(|entry| may_read(&caller, &entry.topic).is_ok()).await?;
    let wanted = seen.iter().filter(|entry| !entry.versions.is_empty() && query.wants(entry.latest().is_none()));
    let names = wanted.map(|entry| entry.topic.to_string()).filter(|name| name.starts_with(prefix));
    Ok(ConfluentAnswer(query.page(names)))
}

/// SubjectScope version has this schema.
pub async fn look_up(
    State(api): State<Arc<Api>>,
    caller: Result<Caller, Problem>,
    Path(subject): Path<String>,
    query: ConfluentQuery,
    body: JsonBody<ConfluentSchema>,
) -> Answered<ConfluentVersion> {
    let caller = caller?;
    let subject = Subject::to_read(&subject)?;
    may_read(&caller, &subject.topic)?;
    let (body, _held) = body.read_held(&api).await?;
    let document = document(&caller, body)?;
    let bus = &api.hub.bus;
    let which = if query.deleted { SubjectScope::All } else { SubjectScope::Live };
    subject.entry(bus, which).await?;
    let found = bus.schema_lookup(&subject.topic, &document).await?;
    match found.filter(|found| query.deleted || !found.deleted) {
        Some(found) => Ok(ConfluentAnswer(subject.version(bus, found.version).await?)),
        None => Err(ConfluentRefusal::schema_not_found()),
    }
}

/// All versions that are not deleted, or with `permanent=true` all that are.
pub async fn delete(
    State(api): State<Arc<Api>>,
    caller: Result<Caller, Problem>,
    Path(subject): Path<String>,
    query: ConfluentQuery,
) -> Answered<Vec<u32>> {
    let caller = caller?;
    let subject = Subject::to_read(&subject)?;
    caller.may(Action::Admin, &subject.topic)?;
    let bus = caller.bus(&api.hub);
    let entry = subject.entry(&bus, SubjectScope::All).await?;
    let deletion = match (entry.latest(), query.permanent) {
        (Some(_), true) => return Err(ConfluentRefusal::subject_not_soft_deleted(&subject.name)),
        (None, false) => return Err(ConfluentRefusal::subject_soft_deleted(&subject.name)),
        (Some(_), false) => Deletion::Soft,
        (None, true) => Deletion::Hard,
    };
    Ok(ConfluentAnswer(bus.delete_schemas(&subject.topic, deletion).await?))
}
