//! `prom serve`: the hub itself.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::config::{self, Overrides, StoreKind, load};
use crate::exit::CommandResult;
use crate::serve;

/// Start a hub
#[derive(Debug, Args)]
#[command(after_help = "\
Flags override environment variables (WS_PORT, OPS_PORT, JWT_SECRET, JWT_JWKS_URL, JWT_AUD, JWT_ISS, MONGO_URL), \
which override the file, which overrides the defaults. Without --config, ./prom.toml is read if it exists.
SIGTERM and SIGINT let handlers finish and end the hub; a second signal ends it at once.

Examples:
  prom serve
  prom serve --listen 127.0.0.1:9000 --data /var/lib/prom
  JWT_SECRET=secret prom serve --listen 0.0.0.0:8090
  prom serve --store mongo --mongo mongodb://127.0.0.1:27017/?replicaSet=rs0
  prom serve --store memory")]
pub struct Serve {
    /// Configuration file; `prom config default` prints one
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Directory of the embedded store
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Address and port to listen on; other machines are served only if auth is configured
    #[arg(long, value_name = "ADDR", value_parser = config::parse_address)]
    listen: Option<SocketAddr>,
    /// Where events are stored
    #[arg(long, value_name = "KIND")]
    store: Option<StoreKind>,
    /// The MongoDB replica set, for --store mongo
    #[arg(long, value_name = "URL", value_parser = config::parse_mongo_url)]
    mongo: Option<String>,
    /// Address at which the other hubs on that replica set reach this one [default: --listen]
    #[arg(long, value_name = "URL", value_parser = config::parse_web_address)]
    hub_url: Option<String>,
    /// How long this hub may be silent before others take over its groups [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = config::parse_hub_ttl)]
    hub_ttl: Option<Duration>,
    /// Log level on standard error: error, warn, info, debug, trace
    #[arg(long, value_name = "LEVEL", value_parser = config::parse_level)]
    log: Option<String>,
}

impl Serve {
    pub async fn run(self) -> CommandResult {
        let overrides = Overrides {
            listen: self.listen,
            data: self.data,
            store: self.store,
            mongo_url: self.mongo,
            hub_url: self.hub_url,
            hub_ttl: self.hub_ttl,
            log_level: self.log,
        };
        let loaded = load(self.config.as_deref(), |name| std::env::var(name).ok(), overrides)?;
        serve::run(loaded).await
    }
}
