//! The configuration of a hub: `prom.toml`, the environment, flags. One file per section.
//!
//! Promises: what is written is used or refused, never ignored; an error names file, line, column, key and a remedy;
//! all errors are reported together.

mod default;
mod environment;
mod file;
mod load;
mod problem;
mod section;
mod source;
mod value;

mod auth;
mod changefeed;
mod cors;
mod limits;
mod lint;
mod log;
mod mongo;
mod outbox;
mod projector;
mod schemas;
mod search;
mod server;
mod store;
mod telemetry;
mod topic;
mod topics;
mod upcast;

#[cfg(test)]
mod promises;

use prom_protocol::http::search::SavedSearch;

pub use auth::AuthConfig;
pub use changefeed::DeclaredFeed;
pub use cors::CorsConfig;
pub use default::default_text;
pub use limits::{LimitsConfig, RateLimit};
pub use lint::LintConfig;
pub use load::{Loaded, Overrides, USUAL_FILE, load, load_text};
pub use log::{LogConfig, LogFormat, parse_level};
pub use mongo::{MongoConfig, parse_hub_ttl, parse_url as parse_mongo_url};
pub use outbox::{DeclaredOutbox, OutboxSourceKind};
pub use problem::{ConfigProblem, ConfigProblems, suggestion};
pub use projector::{DeclaredCollection, DeclaredProjector, DocumentPlace, ProjectorMakes, ProjectorPrograms};
pub use schemas::SchemasConfig;
pub use server::ServerConfig;
pub use store::{StoreConfig, StoreDurability, StoreKind};
pub use telemetry::TelemetryConfig;
pub use topic::DeclaredTopic;
pub use topics::TopicsConfig;
pub use upcast::DeclaredUpcaster;
pub use value::{parse_address, parse_one_of, parse_web_address};

/// Everything that can be set, with its default where nothing was.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Config {
    pub server: ServerConfig,
    pub store: StoreConfig,
    pub mongo: MongoConfig,
    pub auth: AuthConfig,
    pub limits: LimitsConfig,
    pub topics: TopicsConfig,
    /// Of `[[topic]]`.
    pub declared: Vec<DeclaredTopic>,
    pub schemas: SchemasConfig,
    /// Of `[[upcast]]`.
    pub upcasters: Vec<DeclaredUpcaster>,
    /// Of `[[outbox]]`.
    pub outboxes: Vec<DeclaredOutbox>,
    /// Of `[[search]]`.
    pub searches: Vec<SavedSearch>,
    /// Of `[[projector]]`.
    pub projectors: Vec<DeclaredProjector>,
    /// Of `[[changefeed]]`.
    pub feeds: Vec<DeclaredFeed>,
    pub cors: CorsConfig,
    pub telemetry: TelemetryConfig,
    pub log: LogConfig,
    pub lint: LintConfig,
}
