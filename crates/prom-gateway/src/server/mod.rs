//! Accepting: connections of any listener, TLS, HTTP/1 and the upgrade to WebSocket.
//!
//! ```text
//!   listener ─▶ accept ─▶ below the limit? ─▶ TLS? ─▶ HTTP/1 ─┬─▶ upgrade on / and /ws ─▶ ws
//!                                                             └─▶ router
//! ```
//!
//! Promises: a hub without auth serves loopback only, and then only requests that name a loopback
//! host and come from no foreign page; a client that takes nothing of an answer is cut off; there are never more connections than the limit; a shutdown lets
//! the bus drain first, then tells every connection.

mod accept;
mod error;
mod guard;
mod listener;
mod memory;
mod stream;
mod tls;
mod upgrade;
mod write_deadline;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use prom_engine::TaskName;
use tokio::sync::Semaphore;

use self::accept::Acceptor;
use crate::Hub;

pub(crate) use accept::{CONNECTION, OpenSocket};
pub use error::ServeError;
pub use listener::{Listener, Listeners};
pub use memory::{MemoryConnector, MemoryListener};
pub(crate) use stream::{HubStream, ReadHalf, WriteHalf};

/// How long connections may take to end after the bus has.
const GOODBYE: Duration = Duration::from_secs(5);

/// Which TCP addresses to bind; see [`Listeners::bind`].
#[derive(Debug, Clone)]
pub struct ServerOptions {
    pub listen: SocketAddr,
    /// HTTP on an address of its own; then `listen` serves WebSockets only.
    pub ops_listen: Option<SocketAddr>,
    pub tls: Option<Tls>,
}

/// PEM files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    pub cert: PathBuf,
    pub key: PathBuf,
}

impl Tls {
    /// Whether the files are a certificate and its key.
    pub fn check(&self) -> Result<(), ServeError> {
        tls::acceptor(self).map(drop)
    }
}

/// What a listener serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Serves {
    Everything,
    WebSocket,
    Http,
}

/// A hub that listens and serves. Dropping it stops accepting; [`Server::shut_down`] ends in order.
pub struct Server {
    hub: Arc<Hub>,
    addresses: Vec<(SocketAddr, Serves)>,
    accepting: Vec<tokio::task::JoinHandle<()>>,
    permits: Arc<Semaphore>,
}

impl Server {
    /// Serves what the listeners accept. Refuses listeners beyond loopback on a hub without auth.
    pub fn start(hub: Arc<Hub>, listeners: Listeners) -> Result<Self, ServeError> {
        let Listeners { main, ops, tls } = listeners;
        let main_serves = if ops.is_some() { Serves::WebSocket } else { Serves::Everything };
        let listeners: Vec<_> = [(main, main_serves)].into_iter().chain(ops.map(|ops| (ops, Serves::Http))).collect();
        let mut addresses = Vec::new();
        for (listener, serves) in &listeners {
            let address = listener.local_address()?;
            if hub.auth.is_open() && !address.ip().is_loopback() {
                return Err(ServeError::Unprotected { address });
            }
            addresses.push((address, *serves));
        }
        let permits = Arc::new(Semaphore::new(hub.options.connections));
        let router = crate::http::router(hub.clone());
        let mut accepting = Vec::new();
        let main_port = addresses[0].0.port();
        for (listener, serves) in listeners {
            let (hub, router, tls, permits) = (hub.clone(), router.clone(), tls.clone(), permits.clone());
            let failures = hub.failures().clone();
            let websocket_port = (serves == Serves::Http).then_some(main_port);
            let acceptor = Acceptor { hub, router, tls, permits, serves, websocket_port };
            let mut listener = listener;
            let work = async move || acceptor.run(&mut listener).await;
            accepting.push(tokio::spawn(failures.keep_running(TaskName::only("listener"), work)));
        }
        Ok(Self { hub, addresses, accepting, permits })
    }

    /// Where WebSockets are served, and HTTP too unless it has an address of its own. If port 0 was
    /// asked for, this has the port that the system chose.
    pub fn address(&self) -> SocketAddr {
        self.addresses[0].0
    }

    /// Where HTTP is served, if not at [`Server::address`].
    pub fn ops_address(&self) -> Option<SocketAddr> {
        self.addresses.iter().find(|(_, serves)| *serves == Serves::Http).map(|(address, _)| *address)
    }

    pub fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    /// Stops accepting, lets handlers finish and the bus close, then ends every connection.
    pub async fn shut_down(self) -> Result<(), ServeError> {
        self.stop_accepting();
        self.hub.keeper.end().await;
        let closed = self.hub.bus.shutdown().await;
        self.hub.stopping.send_replace(true);
        let all = u32::try_from(self.hub.options.connections).unwrap_or(u32::MAX);
        if tokio::time::timeout(GOODBYE, self.permits.acquire_many(all)).await.is_err() {
            tracing::warn!("some connections did not end in time and are cut");
        }
        Ok(closed?)
    }

    fn stop_accepting(&self) {
        self.accepting.iter().for_each(|task| task.abort());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop_accepting();
    }
}
