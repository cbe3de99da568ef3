//! `/schemas/ids/{id}` and `/schemas/types`.
//!
//! A caller that may read no topic with the schema is told the same as about an id that does not exist.

use std::sync::Arc;

use axum::extract::{Path, State};
use prom_engine::SchemaById;
use prom_protocol::http::confluent::{ConfluentSchema, ConfluentSubjectVersion, SCHEMA_TYPE};
use prom_types::TopicName;
use serde_json::Value;

use super::subject::references;
use super::{Answered, ConfluentAnswer, ConfluentQuery, ConfluentRefusal};
use crate::http::api::Api;
use crate::http::caller::Caller;
use crate::http::problem::Problem;
use crate::http::schema::{may_read, may_read_some};

pub async fn types(caller: Result<Caller, Problem>) -> Answered<[&'static str; 1]> {
    may_read_some(&caller?)?;
    Ok(ConfluentAnswer([SCHEMA_TYPE]))
}

pub async fn get(
    State(api): State<Arc<Api>>,
    caller: Result<Caller, Problem>,
    Path(id): Path<String>,
) -> Answered<ConfluentSchema> {
    let found = find(&api, &caller?, &id).await?;
    Ok(ConfluentAnswer(ConfluentSchema {
        schema: found.document.text(),
        schema_type: Some(SCHEMA_TYPE.to_owned()),
        references: references(&found.document.references),
    }))
}

/// The schema alone.
pub async fn schema(
    State(api): State<Arc<Api>>,
    caller: Result<Caller, Problem>,
    Path(id): Path<String>,
) -> Answered<Value> {
    Ok(ConfluentAnswer(find(&api, &caller?, &id).await?.document.schema))
}

pub async fn subjects(
    State(api): State<Arc<Api>>,
    caller: Result<Caller, Problem>,
    Path(id): Path<String>,
    query: ConfluentQuery,
) -> Answered<Vec<String>> {
    let mut names: Vec<String> =
        find(&api, &caller?, &id).await?.uses.into_iter().map(|(topic, _)| topic.to_string()).collect();
    names.dedup();
    Ok(ConfluentAnswer(query.page(names.into_iter())))
}

pub async fn versions(
    State(api): State<Arc<Api>>,
    caller: Result<Caller, Problem>,
    Path(id): Path<String>,
    query: ConfluentQuery,
) -> Answered<Vec<ConfluentSubjectVersion>> {
    let uses = find(&api, &caller?, &id).await?.uses.into_iter();
    let uses = uses.map(|(topic, version)| ConfluentSubjectVersion { subject: topic.to_string(), version });
    Ok(ConfluentAnswer(query.page(uses)))
}

/// The schema, with those uses that the caller may see.
async fn find(api: &Api, caller: &Caller, id: &str) -> Result<SchemaById, ConfluentRefusal> {
    may_read_some(caller)?;
    let id: u32 = id.parse().map_err(|_| ConfluentRefusal::schema_not_found())?;
    let mut found = api.hub.bus.schema_by_id(id).await?;
    found.uses.retain(|(topic, _)| may_read(caller, topic).is_ok());
    // Events under a deleted version are still read, and their readers still need its schema.
    if found.uses.is_empty() && !deleted_uses(api, id).await?.iter().any(|topic| may_read(caller, topic).is_ok()) {
        return Err(ConfluentRefusal::schema_not_found());
    }
    Ok(found)
}

async fn deleted_uses(api: &Api, id: u32) -> Result<Vec<TopicName>, ConfluentRefusal> {
    let of_it = api.hub.bus.schemas_where(|entry| entry.versions.iter().any(|version| version.id == id)).await?;
    Ok(of_it.into_iter().map(|entry| entry.topic).collect())
}
