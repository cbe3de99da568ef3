//! Where a hub is put together: the only file that knows every crate.
//!
//! ```text
//!   config ─▶ store ─▶ bus ─▶ hub ─▶ server
//! ```

use std::net::SocketAddr;
use std::sync::Arc;

use prom_auth::{AuthError, Authenticator};
use prom_engine::{Bus, BusOptions, HubOptions};
use prom_flows::outbox::OutboxFlow;
use prom_gateway::trace::Traces;
use prom_gateway::{Collaborators, Dialer, Hub, Listeners, Peers, ServeError, Server, ServerOptions, Tls};
use prom_jobs::{FlowBoard, Keeper};
use prom_store::{Clock, MemoryStore, Store, StoreError, SystemClock};
use prom_store_embedded::{EmbeddedOptions, EmbeddedStore, Sync};
use prom_store_mongo::{MongoOptions, MongoStore};

use super::greeting::Addresses;
use super::telemetry::Telemetry;
use super::{feeds, outbox, projectors, schemas, settings};
use crate::config::{Config, StoreDurability, StoreKind, TelemetryConfig};
use crate::exit::{CommandResult, Failure};

/// A hub that serves.
pub struct Running {
    server: Server,
    telemetry: Option<Arc<Telemetry>>,
    outboxes: Vec<Arc<OutboxFlow>>,
    pub at: Addresses,
}

/// Checks what can be checked before anything is opened, then opens everything.
pub async fn start(config: &Config) -> Result<Running, Failure> {
    check(config)?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let auth = Authenticator::with_clock(settings::auth(&config.auth), clock.clone()).map_err(explain_auth)?;
    let telemetry = start_telemetry(&config.telemetry).await?;
    let store = open_store(config, clock.clone()).await?;
    let bus = start_bus(config, store, clock.clone()).await?;
    let peers = match hub_url(config) {
        Some(url) => Some(join_others(config, &bus, &url, clock.clone()).await?),
        None => None,
    };
    let traces = telemetry.clone().map(|telemetry| telemetry as Arc<dyn Traces>);
    let keeper = start_background(&bus);
    // Each kind of flow puts its own on the board.
    let flows = FlowBoard::default();
    let started = feeds::start(config, &bus, &keeper, &flows);
    let started = match started {
        Ok(()) => projectors::start(config, &bus, &keeper, &flows).await,
        refused => refused,
    };
    if let Err(refused) = started {
        keeper.end().await;
        drop(bus.shutdown().await);
        return Err(refused);
    }
    let collaborators = Collaborators { traces, peers, keeper: Some(keeper.clone()), flows: flows.clone() };
    let hub = Hub::with(bus.clone(), auth, clock, settings::gateway(config), collaborators);
    hub.keep_indexes();
    if let Some(every) = config.telemetry.metrics_every {
        hub.report_metrics(every);
    }
    let listeners = Listeners::bind(&server_options(config)).await;
    let server = match listeners.and_then(|listeners| Server::start(hub, listeners)) {
        Ok(server) => server,
        Err(error) => {
            // The reason why the hub cannot serve matters more than how its store closes.
            keeper.end().await;
            drop(bus.shutdown().await);
            return Err(explain_serve(&error));
        }
    };
    let outboxes = match outbox::start(config, &bus, &flows) {
        Ok(outboxes) => outboxes,
        Err(refused) => {
            keeper.end().await;
            drop(server.shut_down().await);
            return Err(refused);
        }
    };
    let at = Addresses { listen: server.address(), ops: server.ops_address() };
    Ok(Running { server, telemetry, outboxes, at })
}

impl Running {
    /// Lets handlers finish, makes their acks durable, closes the store.
    pub async fn shut_down(self) -> CommandResult {
        for outbox in &self.outboxes {
            outbox.end().await;
        }
        let ended = self.server.shut_down().await;
        if let Some(telemetry) = self.telemetry
            && tokio::task::spawn_blocking(move || telemetry.shut_down()).await.is_err()
        {
            tracing::warn!("sending the last traces failed");
        }
        ended.map_err(|error| Failure::no(format!("the hub did not shut down cleanly: {error}")))
    }
}

/// On a thread where it may block: the exporter has a client of that kind.
async fn start_telemetry(config: &TelemetryConfig) -> Result<Option<Arc<Telemetry>>, Failure> {
    let Some(endpoint) = config.otlp_endpoint.clone() else {
        return Ok(None);
    };
    let service_name = config.service_name.clone();
    let started = tokio::task::spawn_blocking(move || Telemetry::start(&endpoint, &service_name)).await;
    let reason = match started {
        Ok(Ok(telemetry)) => return Ok(Some(Arc::new(telemetry))),
        Ok(Err(reason)) => reason,
        Err(error) => error.to_string(),
    };
    Err(Failure::usage(format!("cannot send traces: {reason}")).fix("check otlp_endpoint in [telemetry]"))
}

/// Refuses what would be refused at the start, as far as it can be told without opening anything.
pub fn check(config: &Config) -> CommandResult {
    let listen = config.server.listen;
    if config.store.kind == StoreKind::Mongo && config.mongo.url.is_none() {
        return Err(Failure::usage("--store mongo needs the address of MongoDB")
            .fix("add --mongo mongodb://HOST:27017/?replicaSet=NAME, or set MONGO_URL, or url in [mongo]"));
    }
    let is_anywhere = listen.ip().is_unspecified() || listen.port() == 0;
    if config.store.kind == StoreKind::Mongo && config.mongo.hub_url.is_none() && is_anywhere {
        return Err(Failure::usage(format!("other hubs on the same database cannot reach this one at {listen}"))
            .fix("give an address that they can reach: --hub-url http://THIS-HOST:8090, or hub_url in [mongo]"));
    }
    if !listen.ip().is_loopback() && config.auth.is_open() {
        return Err(Failure::usage(format!("{listen} can be reached from other machines, and no auth is configured"))
            .fix("set jwt_secret, jwks_url or static_token in [auth] (or JWT_SECRET), or listen on 127.0.0.1"));
    }
    Authenticator::new(settings::auth(&config.auth)).map_err(explain_auth)?;
    if let Some(tls) = server_options(config).tls {
        tls.check().map_err(|error| explain_serve(&error))?;
    }
    if let Some(ca) = config.mongo.hub_ca.as_deref().filter(|_| config.store.kind == StoreKind::Mongo) {
        Dialer::new(Some(ca)).map_err(|error| Failure::usage(format!("hub_ca in [mongo]: {error}")))?;
    }
    for declared in &config.declared {
        settings::topic(declared).map_err(|error| Failure::usage(format!("[[topic]] {}: {error}", declared.name)))?;
    }
    feeds::check(config)?;
    outbox::check(config)?;
    projectors::check(config)?;
    schemas::check(config)
}

/// Where other hubs reach this one; `None` where there are no others.
fn hub_url(config: &Config) -> Option<String> {
    let scheme = if config.server.tls.is_some() { "https" } else { "http" };
    let listens_at = || format!("{scheme}://{}", config.server.listen);
    match config.store.kind {
        StoreKind::Mongo => Some(config.mongo.hub_url.clone().unwrap_or_else(listens_at)),
        StoreKind::Memory | StoreKind::Embedded => None,
    }
}

async fn join_others(config: &Config, bus: &Bus, url: &str, clock: Arc<dyn Clock>) -> Result<Peers, Failure> {
    let joined = match Dialer::new(config.mongo.hub_ca.as_deref()) {
        Ok(dialer) => Peers::join(bus, clock, url, dialer).await,
        Err(error) => Err(error.into()),
    };
    match joined {
        Ok(peers) => Ok(peers),
        Err(error) => {
            drop(bus.shutdown().await);
            Err(Failure::no(format!("cannot join the other hubs: {error}")))
        }
    }
}

async fn open_store(config: &Config, clock: Arc<dyn Clock>) -> Result<Arc<dyn Store>, Failure> {
    match config.store.kind {
        StoreKind::Memory => Ok(Arc::new(MemoryStore::new(clock))),
        StoreKind::Embedded => open_embedded(config, clock).await,
        StoreKind::Mongo => {
            let options = MongoOptions { clock, prefix: config.mongo.prefix.clone(), ..MongoOptions::default() };
            let url = config.mongo.url.as_deref().unwrap_or_default();
            Ok(MongoStore::open(url, options).await.map_err(explain_mongo)?)
        }
    }
}

async fn open_embedded(config: &Config, clock: Arc<dyn Clock>) -> Result<Arc<dyn Store>, Failure> {
    let sync = match config.store.durability {
        StoreDurability::Fsync => Sync::Fsync,
        StoreDurability::Os => Sync::Os,
    };
    let options = EmbeddedOptions { clock, sync, ..EmbeddedOptions::default() };
    let store = EmbeddedStore::open_with(&config.server.data, options).await.map_err(explain_store)?;
    Ok(store)
}

async fn start_bus(config: &Config, store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Result<Bus, Failure> {
    let options = BusOptions {
        clock,
        new_topics: settings::new_topics(&config.topics),
        caps: settings::caps(&config.limits),
        letter_retention: config.topics.dead_letter_retention,
        drain_timeout: config.server.drain,
        compaction_bytes_per_s: Some(config.store.compaction_rate).filter(|rate| *rate > 0),
        schemas: config.schemas.settings,
        hub: hub_url(config).map(|url| HubOptions { url, ttl: config.mongo.hub_ttl }),
        ..BusOptions::default()
    };
    let failed = |error: prom_engine::Error| Failure::no(format!("cannot start the bus: {error}"));
    let bus = Bus::start(store, options).await.map_err(failed)?;
    for declared in &config.declared {
        let refused = |error: prom_engine::Error| {
            Failure::no(format!("[[topic]] {}: {error}", declared.name))
                .fix("change the file to match the topic, or declare a new topic")
        };
        let created = match settings::topic(declared) {
            Ok(settings) => bus.create_topic(settings).await,
            Err(error) => Err(error),
        };
        if let Err(error) = created {
            drop(bus.shutdown().await);
            return Err(refused(error));
        }
    }
    if let Err(failure) = schemas::register(config, &bus).await {
        drop(bus.shutdown().await);
        return Err(failure);
    }
    Ok(bus)
}

/// The hub's work in the background: ended with its server, told by `/readyz` and `/stats`.
fn start_background(bus: &Bus) -> Keeper {
    let keeper = Keeper::new(bus.clone());
    prom_jobs::keep_snapshots(&keeper);
    keeper
}

fn server_options(config: &Config) -> ServerOptions {
    let server = &config.server;
    ServerOptions {
        listen: server.listen,
        ops_listen: server.ops_port.map(|port| SocketAddr::new(server.listen.ip(), port)),
        tls: server.tls.as_ref().map(|files| Tls { cert: files.cert.clone(), key: files.key.clone() }),
    }
}

fn explain_store(error: StoreError) -> Failure {
    match &error {
        StoreError::InUse { .. } => Failure::no(error.to_string()).fix("choose another directory with --data"),
        StoreError::Io { .. } => {
            Failure::no(format!("the data directory cannot be opened: {error}")).fix("choose another one with --data")
        }
        _ => Failure::no(format!("the data directory cannot be opened: {error}")),
    }
}

fn explain_mongo(error: StoreError) -> Failure {
    match error {
        StoreError::Server { what, reason, fix } => Failure::no(format!("{what}: {reason}")).fix(fix),
        error => Failure::no(format!("the MongoDB store cannot be opened: {error}")),
    }
}

fn explain_auth(error: AuthError) -> Failure {
    Failure::usage(format!("[auth]: {error}"))
}

fn explain_serve(error: &ServeError) -> Failure {
    let failure = Failure::no(error.to_string());
    match error {
        ServeError::Bind { .. } => failure.fix("choose another address with --listen, or port 0 for a free one"),
        ServeError::Tls { .. } => {
            failure.fix("name PEM files in [server]: tls = { cert = \"cert.pem\", key = \"key.pem\" }")
        }
        ServeError::Unprotected { .. } | ServeError::Bus(_) | ServeError::Io(_) => failure,
    }
}
