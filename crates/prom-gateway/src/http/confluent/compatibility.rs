//! `POST /compatibility/subjects/{subject}/versions/…`: whether a schema could be registered. Stores nothing.

use std::sync::Arc;

use axum::extract::{Path, State};
use prom_engine::{RegistrationVerdict, SchemaCandidate};
use prom_protocol::http::confluent::{ConfluentSchema, ConfluentVerdict};

use super::error::in_words;
use super::subject::{SubjectScope, VersionName, find};
use super::{Answered, ConfluentAnswer, ConfluentQuery, ConfluentRefusal, Subject, document};
use crate::http::api::Api;
use crate::http::caller::Caller;
use crate::http::extract::JsonBody;
use crate::http::problem::Problem;
use crate::http::schema::may_read;

/// With those versions that the subject's compatibility asks for.
pub async fn with_all(
    State(api): State<Arc<Api>>,
    caller: Result<Caller, Problem>,
    Path(subject): Path<String>,
    query: ConfluentQuery,
    body: JsonBody<ConfluentSchema>,
) -> Answered<ConfluentVerdict> {
    let caller = caller?;
    let subject = Subject::to_change(&subject)?;
    may_read(&caller, &subject.topic)?;
    let (body, _held) = body.read_held(&api).await?;
    let document = document(&caller, body)?;
    let verdict = api
        .hub
        .bus
        .check_schema(&subject.topic, &SchemaCandidate::new(document))
        .await
        .map_err(ConfluentRefusal::of_candidate)?;
    Ok(told(&verdict, &query))
}

/// With one version.
pub async fn with_one(
    State(api): State<Arc<Api>>,
    caller: Result<Caller, Problem>,
    Path((subject, version)): Path<(String, String)>,
    query: ConfluentQuery,
    body: JsonBody<ConfluentSchema>,
) -> Answered<ConfluentVerdict> {
    let caller = caller?;
    let subject = Subject::to_change(&subject)?;
    may_read(&caller, &subject.topic)?;
    let name = VersionName::parse(&version)?;
    let (body, _held) = body.read_held(&api).await?;
    let document = document(&caller, body)?;
    let bus = &api.hub.bus;
    let candidate = SchemaCandidate::new(document);
    let verdict = match subject.entry(bus, SubjectScope::Live).await {
        Ok(entry) => {
            let number = find(&entry, name, SubjectScope::Live)?.version;
            bus.check_schema_against(&subject.topic, number, &candidate).await
        }
        // The first version is compatible with whatever is before it.
        Err(_) if name == VersionName::Latest => bus.check_schema(&subject.topic, &candidate).await,
        Err(refused) => return Err(refused),
    };
    Ok(told(&verdict.map_err(ConfluentRefusal::of_candidate)?, &query))
}

fn told(verdict: &RegistrationVerdict, query: &ConfluentQuery) -> ConfluentAnswer<ConfluentVerdict> {
    let messages = query.verbose.then(|| verdict.violations.iter().map(in_words).collect());
    ConfluentAnswer(ConfluentVerdict { is_compatible: verdict.violations.is_empty(), messages })
}
