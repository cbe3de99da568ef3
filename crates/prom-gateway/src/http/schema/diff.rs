//! `GET /topics/{topic}/schema/diff`: where two versions differ, and whether documents of one are valid under the other.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use prom_engine::{Difference, DifferenceKind, SchemaChoice};
use prom_protocol::http::schema::{ChangeKind, SchemaChange, SchemaDiff, SchemaDiffQuery};

use super::{may_read, view};
use crate::http::api::Api;
use crate::http::caller::Caller;
use crate::http::extract::{Params, TopicInPath};
use crate::http::problem::{Problem, Problems};

#[utoipa::path(
    get,
    path = "/topics/{topic}/schema/diff",
    operation_id = "diffSchemas",
    tag = "schemas",
    summary = "Compare two versions of a topic's schema",
    params(("topic" = String, Path), SchemaDiffQuery),
    responses((status = 200, description = "The differences, and the verdict both ways", body = SchemaDiff), Problems),
)]
pub(in crate::http) async fn get(
    State(api): State<Arc<Api>>,
    caller: Caller,
    TopicInPath(topic): TopicInPath,
    Params(query): Params<SchemaDiffQuery>,
) -> Result<Json<SchemaDiff>, Problem> {
    may_read(&caller, &topic)?;
    let bus = &api.hub.bus;
    let [from, to] = [query.from, query.to].map(SchemaChoice::Version);
    let (_, _, differences) = bus.schema_diff(&topic, from, to).await?;
    let compared = bus.compare_schema_versions(&topic, query.from, query.to).await?;
    Ok(Json(SchemaDiff {
        topic,
        from: query.from,
        to: query.to,
        changes: differences.into_iter().map(change).collect(),
        backward: view::violations(compared.backward),
        forward: view::violations(compared.forward),
    }))
}

fn change(difference: Difference) -> SchemaChange {
    let change = match difference.kind {
        DifferenceKind::Added => ChangeKind::Added,
        DifferenceKind::Removed => ChangeKind::Removed,
        DifferenceKind::Changed => ChangeKind::Changed,
    };
    SchemaChange { pointer: difference.pointer, change, before: difference.before, after: difference.after }
}
