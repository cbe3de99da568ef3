//! Listening: sockets, TLS, HTTP/1 and the upgrade to WebSocket.
//!
//! ```text
//!   accept ─▶ place free? ─▶ TLS? ─▶ HTTP/1 ─┬─▶ upgrade on / and /ws ─▶ ws
//!                                            └─▶ router
//! ```
//!
//! Promises: without auth only loopback is listened on, and then only to requests that name a loopback
//! host and come from no foreign page; there are never more sockets than the limit; a shutdown lets
//! the bus drain first, then tells every connection.

mod accept;
mod error;
mod guard;
mod stream;
mod tls;
mod upgrade;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use self::accept::Door;
use crate::Hub;

pub use error::ServeError;
pub(crate) use stream::{ReadHalf, Stream, WriteHalf};

/// How long connections may take to end after the bus has.
const GOODBYE: Duration = Duration::from_secs(5);

/// Where to listen.
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
    places: Arc<Semaphore>,
}

impl Server {
    /// Listens, and serves whoever comes.
    pub async fn start(hub: Arc<Hub>, options: ServerOptions) -> Result<Self, ServeError> {
        let wanted = match options.ops_listen {
            Some(ops) => vec![(options.listen, Serves::WebSocket), (ops, Serves::Http)],
            None => vec![(options.listen, Serves::Everything)],
        };
        let tls = options.tls.as_ref().map(tls::acceptor).transpose()?;
        let mut listeners = Vec::new();
        for (address, serves) in wanted {
            if hub.auth.is_open() && !address.ip().is_loopback() {
                return Err(ServeError::Unprotected { address });
            }
            let bound = TcpListener::bind(address).await;
            listeners.push((bound.map_err(|source| ServeError::Bind { address, source })?, serves));
        }
        let places = Arc::new(Semaphore::new(hub.options.connections));
        let router = crate::http::router(hub.clone());
        let (mut addresses, mut accepting) = (Vec::new(), Vec::new());
        for (listener, serves) in listeners {
            addresses.push((listener.local_addr()?, serves));
            let (hub, router, tls, places) = (hub.clone(), router.clone(), tls.clone(), places.clone());
            accepting.push(tokio::spawn(Door { hub, router, tls, places, serves }.accept(listener)));
        }
        Ok(Self { hub, addresses, accepting, places })
    }

    /// Where WebSockets are served, and HTTP too unless it has an address of its own. With port 0 asked
    /// for, the one that was given.
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

    /// Accepts nobody any more, lets handlers finish and the bus close, then ends every connection.
    pub async fn shut_down(self) -> Result<(), ServeError> {
        self.stop_accepting();
        let closed = self.hub.bus.shutdown().await;
        self.hub.stopping.send_replace(true);
        let all = u32::try_from(self.hub.options.connections).unwrap_or(u32::MAX);
        if tokio::time::timeout(GOODBYE, self.places.acquire_many(all)).await.is_err() {
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
