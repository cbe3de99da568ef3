//! What hub and clients say to each other over HTTP: one file per resource, used by both sides.
//!
//! The hub builds these shapes from what the engine knows, and the command line, the tests and the generated TypeScript
//! types read them. With the feature `openapi` they describe themselves for `protocol/openapi.json`.
//!
//! Fields are written in `snake_case`. The fields of `/cursors`, `/lag` and `/replay` that clients already read are the
//! exception, and stay in `camelCase`; so are those of `/dlq`, whose requests were fixed so.

mod flag;

pub mod asyncapi;
pub mod at;
pub mod confluent;
pub mod connections;
pub mod cursors;
pub mod cutover;
pub mod dlq;
pub mod export;
pub mod flows;
pub mod groups;
pub mod health;
pub mod import;
pub mod kick;
pub mod lag;
pub mod latest_by_key;
pub mod listing;
pub mod parked;
pub mod partitions;
pub mod problem;
pub mod prove;
pub mod publish;
pub mod registry;
pub mod release;
pub mod replay;
pub mod replay_into;
pub mod schema;
pub mod search;
pub mod skip;
pub mod snapshot;
pub mod state;
pub mod stats;
pub mod topics;
pub mod trace;
pub mod whoami;
pub mod why;

use prom_types::{GroupName, TopicName};
use serde::{Deserialize, Serialize};

/// The query of `/why` and `/partitions`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct GroupInTopic {
    pub topic: TopicName,
    pub group: GroupName,
}
