//! A hub inside the test's own runtime, reached through memory.
//!
//! Promises: no socket and no thread. On a current-thread runtime with paused time, and over a store without threads,
//! the hub and its clients run in one thread by the test's clock: hours pass in milliseconds, and the same seed gives
//! the same run.

use std::io;
use std::sync::Arc;

use parking_lot::Mutex;
use prom_auth::{AuthOptions, Authenticator};
use prom_client::{BoxedStream, ClientOptions, Connecting, Connector};
use prom_engine::{Bus, BusOptions};
use prom_gateway::{GatewayOptions, Listener, Listeners, MemoryConnector, MemoryListener, Server};
use prom_store::{Clock, Store};
use tokio::task::AbortHandle;

/// Bytes under way in each direction of a cable.
const BUFFER_BYTES: usize = 64 * 1024;

/// A running hub. Dropping it stops accepting; [`HubInMemory::shut_down`] ends it in order.
pub struct HubInMemory {
    server: Server,
    connector: MemoryConnector,
    clock: Arc<dyn Clock>,
}

/// One client's way to the hub, which the test can cut. Clones are the same cable.
#[derive(Clone)]
pub struct Cable(Arc<CableEnds>);

struct CableEnds {
    connector: MemoryConnector,
    /// The connections under way, or none while the cable is cut.
    connections: Mutex<Option<Vec<AbortHandle>>>,
}

impl HubInMemory {
    /// What clients connect to. A name of this machine, as a hub without auth demands.
    pub const URL: &str = "http://localhost";

    /// Serves the store. The clock should be the store's.
    pub async fn start(store: Arc<dyn Store>, clock: Arc<dyn Clock>, auth: AuthOptions) -> io::Result<Self> {
        let auth = Authenticator::with_clock(auth, clock.clone()).map_err(io::Error::other)?;
        let options = BusOptions { clock: clock.clone(), ..BusOptions::default() };
        let bus = Bus::start(store, options).await.map_err(io::Error::other)?;
        let hub = prom_gateway::Hub::new(bus, auth, clock.clone(), GatewayOptions::default());
        let (listener, connector) = MemoryListener::new();
        let server = Server::start(hub, Listeners::new(Listener::Memory(listener))).map_err(io::Error::other)?;
        Ok(Self { server, connector, clock })
    }

    /// A new way to this hub.
    pub fn cable(&self) -> Cable {
        let connections = Mutex::new(Some(Vec::new()));
        Cable(Arc::new(CableEnds { connector: self.connector.clone(), connections }))
    }

    /// For a client at the end of this cable, on the hub's clock.
    pub fn client_options(&self, cable: &Cable, seed: u64) -> ClientOptions {
        ClientOptions::default().connector(cable.clone()).clock(self.clock.clone()).seed(seed)
    }

    /// Lets the bus drain, tells every client, and closes the store.
    pub async fn shut_down(self) -> io::Result<()> {
        self.server.shut_down().await.map_err(io::Error::other)
    }
}

impl Cable {
    /// Breaks every connection, and refuses new ones until [`Cable::mend`].
    pub fn cut(&self) {
        let connections = self.0.connections.lock().take();
        connections.into_iter().flatten().for_each(|connection| connection.abort());
    }

    /// Lets new connections through again.
    pub fn mend(&self) {
        self.0.connections.lock().get_or_insert_default();
    }
}

impl Connector for Cable {
    fn connect<'a>(&'a self, host: &'a str, port: u16) -> Connecting<'a> {
        Box::pin(async move {
            let mut hub_side = self.0.connector.connect(host, port).await?;
            let mut connections = self.0.connections.lock();
            let Some(connections) = connections.as_mut() else {
                return Err(io::ErrorKind::ConnectionRefused.into());
            };
            let (client_side, mut inside) = tokio::io::duplex(BUFFER_BYTES);
            let carrying = tokio::spawn(async move {
                // However it ends, both sides see the end.
                drop(tokio::io::copy_bidirectional(&mut inside, &mut hub_side).await);
            });
            connections.push(carrying.abort_handle());
            Ok(Box::new(client_side) as BoxedStream)
        })
    }
}
