//! The schema registry under Confluent's addresses, for clients that are made for theirs. JSON Schema only.
//!
//! | path | file |
//! | --- | --- |
//! | `/subjects`, `/subjects/{subject}` | `subjects` |
//! | `/subjects/{subject}/versions/…` | `versions` |
//! | `/compatibility/subjects/{subject}/versions/…` | `compatibility` |
//! | `/config`, `/mode`, `/contexts` | `config` |
//! | `/schemas/ids/{id}`, `/schemas/types` | `schemas` |
//!
//! A subject is a topic, or a topic and `-value`. Rights are the same as everywhere: those without are told that they may
//! not, or, where a list or an id was asked for, nothing. Refusals have Confluent's shape and codes, so these routes are
//! described by Confluent's documents and not by `/openapi.json`.

mod answer;
mod error;
mod query;
mod subject;

mod compatibility;
mod config;
mod schemas;
mod subjects;
mod versions;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};

use self::answer::ConfluentAnswer;
use self::error::ConfluentRefusal;
use self::query::ConfluentQuery;
use self::subject::{Subject, document};
use super::api::Api;

pub(super) fn router() -> Router<Arc<Api>> {
    Router::new()
        .route("/subjects", get(subjects::list))
        .route("/subjects/{subject}", post(subjects::look_up).delete(subjects::delete))
        .route("/subjects/{subject}/versions", get(versions::list).post(versions::register))
        .route("/subjects/{subject}/versions/{version}", get(versions::get).delete(versions::delete))
        .route("/subjects/{subject}/versions/{version}/schema", get(versions::schema))
        .route("/subjects/{subject}/versions/{version}/referencedby", get(versions::referenced_by))
        .route("/compatibility/subjects/{subject}/versions", post(compatibility::with_all))
        .route("/compatibility/subjects/{subject}/versions/{version}", post(compatibility::with_one))
        .route("/config", get(config::get_for_all).put(config::put_for_all).delete(config::delete_for_all))
        .route("/config/{subject}", get(config::get).put(config::put).delete(config::delete))
        .route("/mode", get(config::mode))
        .route("/mode/{subject}", get(config::mode_of_subject))
        .route("/contexts", get(config::contexts))
        .route("/schemas/types", get(schemas::types))
        .route("/schemas/ids/{id}", get(schemas::get))
        .route("/schemas/ids/{id}/schema", get(schemas::schema))
        .route("/schemas/ids/{id}/subjects", get(schemas::subjects))
        .route("/schemas/ids/{id}/versions", get(schemas::versions))
}

type Answered<T> = Result<ConfluentAnswer<T>, ConfluentRefusal>;
