//! The configuration of a hub: `prom.toml`, the environment, flags. One file per section.
//!
//! Promises: what is written is used or refused, never ignored; an error names file, line, column, key and a remedy;
//! all errors are told at once.

mod default;
mod environment;
mod file;
mod load;
mod problem;
mod section;
mod source;
mod value;

mod auth;
mod cors;
mod limits;
mod log;
mod mongo;
mod server;
mod store;
mod telemetry;
mod topic;
mod topics;

#[cfg(test)]
mod promises;

pub use auth::Auth;
pub use cors::Cors;
pub use default::default_text;
pub use limits::{Limits, RateLimit};
pub use load::{Loaded, Overrides, USUAL_FILE, load, read_file};
pub use log::{Log, LogFormat, parse_level};
pub use mongo::{Mongo, parse_hub_ttl, parse_url as parse_mongo_url};
pub use problem::Problems;
pub use server::Server;
pub use store::{Durability, Store, StoreKind};
pub use telemetry::Telemetry;
pub use topic::{Compaction, Topic};
pub use topics::{Retention, Topics};
pub use value::{parse_address, parse_web_address};

/// Everything that can be set, with its default where nothing was.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Config {
    pub server: Server,
    pub store: Store,
    pub mongo: Mongo,
    pub auth: Auth,
    pub limits: Limits,
    pub topics: Topics,
    /// Of `[[topic]]`.
    pub declared: Vec<Topic>,
    pub cors: Cors,
    pub telemetry: Telemetry,
    pub log: Log,
}
